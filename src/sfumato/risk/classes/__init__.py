"""Risk that follows from how many people share a combination of quasi-identifiers."""
