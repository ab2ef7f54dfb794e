"""Guessing from the release: who fits, which records belong together, what somebody
keeps to themselves."""

ORDER = ("singling_out", "linkability", "inference", "predicate_singling_out")
