"""Columns that name people: left out, replaced by pseudonyms, or by the rules of Safe Harbor."""

ORDER = ("pseudonyms", "safe_harbor")
