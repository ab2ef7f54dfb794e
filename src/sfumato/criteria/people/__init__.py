"""Criteria that look at people beside the release: the originals, or a population."""

ORDER = ("delta_presence", "k_map", "population_uniqueness", "originals")
