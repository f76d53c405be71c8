"""Simulation: many instances in lockstep, the same numbers on any number of workers.

Read `compare` first (one call, one result), then `engine`, which runs one chunk of instances, `choosing`,
which asks the policies, and `parallel`, which decides where the chunks run.
"""
