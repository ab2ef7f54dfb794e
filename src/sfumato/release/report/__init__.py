"""The report of a release, for the public and for the owner."""
