"""Arms in an order, exactly: messages along the chain on panels that follow the densities.

Read `belief` first.
"""
