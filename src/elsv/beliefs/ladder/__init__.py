"""Partial orders, grids, peaks and bounds, exactly: the chain's messages on a graph of rankings.

Read `belief` first.
"""
