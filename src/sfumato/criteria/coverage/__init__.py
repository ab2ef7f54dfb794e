"""Which people each published record fits, and which records fit each person."""
