"""Values taken out: of rare combinations, rare themselves, or at random."""

ORDER = ("local", "rare_values", "random", "km")
