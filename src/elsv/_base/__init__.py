"""Plumbing that knows nothing of bandits: numbers, files, caches, compilation, progress.

Read `numbers` first (checks and wording), then `jit` (how kernels are compiled and kept).
"""
