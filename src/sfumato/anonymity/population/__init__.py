"""k-anonymity in the population: j-anonymity, its audit, and what a sample shows of itself."""
