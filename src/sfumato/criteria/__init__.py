"""What a release must satisfy, recounted from the release alone.

Nothing here shares code with the methods and searches whose promises it checks.
"""

ORDER = ("k_anonymity", "values", "people", "sets")
