"""Search over future states."""
