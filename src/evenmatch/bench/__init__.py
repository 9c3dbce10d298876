"""MEASURING. Each file runs one comparison, side by side with its baseline in the same run, and returns numbers."""
