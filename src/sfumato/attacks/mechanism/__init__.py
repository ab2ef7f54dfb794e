"""Attacks by an intruder who knows how a release was made."""

ORDER = ("map",)
