"""Text, JSON and other forms made from the same values."""
