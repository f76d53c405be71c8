"""Campaigns behind HTTP: decisions for shops that are not written in Python (extra ``service``).

Read `app` first (what is put together), then `service` (who runs a call, and where) and `api` (what the calls
are). Everything that is decided is decided by `elsv.campaign`; here it is parsed, queued and answered.
"""
