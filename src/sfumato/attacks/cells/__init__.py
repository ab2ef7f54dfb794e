"""Hidden cells: what was suppressed or generalized, guessed from all else that is published."""

ORDER = ("reconstruction", "downcoding")
