"""What a state is worth."""
