"""What can be asked, by resource."""
