"""What a state says of the means."""
