"""Bayesian bandits with structured priors."""

__version__ = "0.1.0"
