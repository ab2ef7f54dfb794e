"""Criteria that look at people beside the release: the originals, or a population."""

ORDER = ("delta_presence", "population", "originals", "attacker_economics")
