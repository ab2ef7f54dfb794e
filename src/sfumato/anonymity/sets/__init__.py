"""Searches for set-valued records: which items can be published of each person (Podgursky 2011)."""
