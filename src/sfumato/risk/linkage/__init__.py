"""Record linkage: an intruder matches what is known of people with the release."""

ORDER = (
    "nearest", "second_closest", "dbrl", "one_to_one", "likelihood", "probabilistic",
    "rank_swap",
)  # fmt: skip
