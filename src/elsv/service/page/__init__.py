"""What people see: pages under ``/``, rendered by the server and brought up to date by htmx.

Read `routes` first, then `browser` (who may see pages and send their forms).
"""
