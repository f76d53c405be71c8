"""Where campaigns are kept: SQLite and PostgreSQL behind one interface, with numbered migrations.

Read `base` first.
"""
