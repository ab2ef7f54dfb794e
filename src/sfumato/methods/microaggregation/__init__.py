"""Microaggregation: groups of at least k similar records, one search to a file."""

ORDER = (
    "blocks", "mdav", "refine", "v_mdav", "ordered", "projected", "hierarchical", "fuzzy",
    "one_pass", "genetic", "delaunay", "matching", "clusterer",
)  # fmt: skip
