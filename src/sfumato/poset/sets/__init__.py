"""Sets of traits or items, of which a group shows what all of its sets hold."""

ORDER = ("power_set", "items")
