"""What would help a refused plan: every suggestion was run on the data, and says what it gave."""
