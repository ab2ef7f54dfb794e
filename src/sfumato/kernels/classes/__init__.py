"""Searches that move records between classes: annealing, tabu, genetic, greedy."""
