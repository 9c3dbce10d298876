"""The contests, a file for each matcher; `catalogue` has them by name."""
