"""Reports: figures in one house style, and one self-contained HTML page.

Nothing here simulates: it draws and prints what it is given. Read `comparison` first (a comparison as files),
then `figures` (plain arrays to figures) and `page` (blocks to HTML).
"""
