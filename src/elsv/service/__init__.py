"""The decision service: campaigns behind HTTP.

Read `tokens` first: who may do what.
"""
