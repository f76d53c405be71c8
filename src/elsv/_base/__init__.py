"""Plumbing that knows nothing of bandits: numbers, files, caches, compilation, progress."""
