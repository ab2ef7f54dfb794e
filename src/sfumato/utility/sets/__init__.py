"""Columns of sets: what is left of them, and conditions on what they hold."""
