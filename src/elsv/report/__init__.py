"""Reports: figures in one house style, and one self-contained HTML page."""
