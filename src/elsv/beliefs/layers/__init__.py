"""Weights W and P(best) of all states in a lattice layer at once. Read `weights` first."""
