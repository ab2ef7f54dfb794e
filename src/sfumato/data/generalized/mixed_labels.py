"""Labels of groups of which only some have a value."""

from __future__ import annotations

from collections.abc import Sequence

from ...poset.values.text import SUPPRESSED, or_missing
from ...protocols import Poset
from ..codec import Coded


def mixed_labels(coded: Coded, labels: Sequence[str]) -> list[str]:
    """What is published of groups with these labels in which some records have no value; "*" where
    that would read as a label of the column itself."""
    mixed = [or_missing(label) for label in labels]
    if coded.column.bound is not None:
        return mixed  # labels that were published before, and may say so already
    # Nodes of a hierarchy have names of their own; other labels are made of values.
    named = coded.structure.node_costs is not None
    return [SUPPRESSED if _knows(coded.poset, label, named=named) else label for label in mixed]


def _knows(poset: Poset, label: str, *, named: bool) -> bool:
    try:
        _ = poset.measure(label) if named else poset.codes([label])
    except ValueError:
        return False
    return True
