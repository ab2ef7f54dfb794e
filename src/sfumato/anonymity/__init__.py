"""Searches for partitions in which every group holds at least k records."""

ORDER = (
    "lattice", "population", "local_recoding", "clusters", "ambiguators", "improving", "sets",
    "mondrian",
)  # fmt: skip
