"""Where steps run."""

ORDER = ("local", "places")
