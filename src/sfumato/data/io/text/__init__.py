"""Text files: what they are written in, whether their first line holds names, and their cells."""
