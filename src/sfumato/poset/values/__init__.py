"""Values: how they are compared, and how they and their ranges are written and read back."""
