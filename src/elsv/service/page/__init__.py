"""What people see: pages under ``/``, rendered by the server and brought up to date by htmx.

Read `routes` first, then `views` (what pages show) and `sessions` (who may see them and send their forms).
"""
