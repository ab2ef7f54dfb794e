"""Values taken out: of rare combinations, rare themselves, or at random."""

ORDER = ("local", "values")
