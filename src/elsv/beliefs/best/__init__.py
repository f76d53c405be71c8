"""P(arm is best) and E[max] of one state: an integral over the largest reward. Read `integral` first."""
