"""What a release tells about the values of people, whether or not they are found in it."""

ORDER = ("class_disclosure", "intervals", "near", "beliefs")
