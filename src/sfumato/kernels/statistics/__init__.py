"""Scores, correlations, densities and tests."""
