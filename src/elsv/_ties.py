"""How near two scores must be to tie."""

TIE_TOLERANCE = 1e-9
"""Relative to the best score or the largest reward, whichever is larger."""
