"""Releases put together by asking every record of each about every person."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]


def fits(person: Row, record: Row, known: Sequence[str]) -> bool:
    """Whether a record's cells are the person's, or "*", {values} or a range that holds them."""
    return all(_covers(record[name], person[name]) for name in known)


def _covers(cell: Any, value: Any) -> bool:
    if cell == "*":
        return True
    text = str(cell)
    if text.startswith("[") and value is not None:
        low, high = text.strip("[]").split(", ")
        return float(low) <= float(value) <= float(high)
    if text.startswith("{"):
        return str(value) in text.strip("{}").split(", ")
    return text == str(value)


def shown(person: Row, records: Sequence[Row], known: Sequence[str], secret: str) -> Counter[Any]:
    """How often each value is shown by the records that fit."""
    return Counter(
        one[secret] for one in records if fits(person, one, known) and one[secret] is not None
    )


def likeliest(weights: Mapping[Any, float]) -> set[Any]:
    """The values that weigh most."""
    most = max(weights.values(), default=0.0)
    return {v for v, w in weights.items() if w > 0 and math.isclose(w, most, rel_tol=1e-9)}


def common(
    people: Sequence[Row], a: Sequence[Row], b: Sequence[Row], known: Sequence[str], secret: str
) -> float:
    """How much of two classes is the same, as their values tell it; the second is attacked."""
    prior = _shares(Counter(one[secret] for one in b if one[secret] is not None))
    alike, many = 0.0, 0
    for person in people:
        own, other = (shown(person, records, known, secret) for records in (a, b))
        if own and other:
            p, q = _shares(own), _shares(other)
            dot = sum((p.get(v, 0) - w) * (q.get(v, 0) - w) for v, w in prior.items())
            alike += dot * max(own.total(), other.total())
            many += 1
    return min(max(alike / many / (1 - sum(w * w for w in prior.values())), 0.0), 1.0)


def _shares(counts: Counter[Any]) -> dict[Any, float]:
    return {v: many / counts.total() for v, many in counts.items()}


def credits(
    people: Sequence[Row], releases: Sequence[Sequence[Row]], known: Sequence[str], secret: str
) -> list[float]:
    """Of each person the credit of the likeliest value that a release and another one leave, or
    the release alone; the last one is attacked, and is as long as all its values are its own."""
    prior = _shares(Counter(one[secret] for one in releases[-1] if one[secret] is not None))
    rest = common(people, *releases, known, secret) if len(releases) == 2 else 0.0
    found = []
    for person in people:
        counts = [shown(person, records, known, secret) for records in releases]
        left = dict(prior)
        for r, own in enumerate(counts):
            if own and own not in counts[:r]:
                power = 1.0 if not r else 1.0 - rest**2
                left = {v: w * own[v] / own.total() / prior[v] ** power for v, w in left.items()}
        best = likeliest(left) or likeliest(counts[-1]) or likeliest(prior)
        found.append((person[secret] in best) / len(best))
    return found
