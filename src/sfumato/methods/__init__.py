"""Masking: each file holds one method, or one family of methods, with its declaration."""
