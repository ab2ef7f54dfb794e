"""The ledger of releases: what was published of whom, so that the next release is judged beside
it."""
