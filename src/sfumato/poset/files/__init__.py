"""Files that posets are read from and written to."""
