"""What must be protected, and against whom."""
