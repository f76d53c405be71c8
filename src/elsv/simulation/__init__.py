"""Simulation: many instances in lockstep, the same numbers on any number of workers."""
