"""Rules that find sensitive cells."""
