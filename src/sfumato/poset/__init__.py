"""Generalization: values, the labels that may be published instead, and the order between them.

A poset is declared in a plan by a source (`Interval`, `ValueSet`, `Hierarchy`, `Prefix`, `Bins`,
`Balanced`, `PartialOrder`, `PowerSet`, `BirthDate`, ...) and bound to the distinct values of one
column. Labels are text, and every poset reads its own labels back exactly: a release can be
assessed without the objects that made it.
"""

ORDER = (
    "interval", "valueset", "trees", "partial_order", "sets", "birth_date", "code_frequency",
    "plain",
)  # fmt: skip
