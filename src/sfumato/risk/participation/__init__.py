"""Whether a release tells more of those who took part than of those who did not."""

ORDER = ("prediction", "non_participation")
