"""The measure `suda`: special uniques, by the smallest sets of columns that single them out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from ...criteria.classes import Grouping
from ...criteria.people.population import Share, sampling_share, weights_of
from ...data.people.repeated import COUNTED, people_hidden, with_people
from ...data.table import Table
from ...errors import MeasureError
from ...kernels.uniques.minimal import COLUMNS, Uniques, minimal_uniques, sets_of
from ...kernels.uniques.scores import FLAT, dis, dis_suda, worth
from ...protocols import Context, Measurement
from ..classes import ClassRisk
from .cells import column_codes, hide_suppressed

_USUAL_SHARE = 0.01
_SETS = 200_000
"""Sets of columns that are looked for at most."""
_BITS = 1 << 34
"""Sets times records that may have to be remembered at once, a bit each."""
_LISTED, _RISKIEST, _SAID = 20, 100, 5
"""Sets that are told, records that the owner is told of, and sentences that say so."""


class Suda(ClassRisk):
    """Share of records that a few columns single out (SUDA2).

    A record is unique on a set of columns if no other record has its values there. The smallest
    such sets are its minimal sample uniques: none of their parts makes it unique. Whoever is unique
    by few columns, and by many sets of them, is a special unique, and likely rare in the population
    too. The figure is the share of records that some set of at most `size` quasi-identifiers makes
    unique. All of them together are no such set: who is unique by nothing less is a unique, but no
    special one. Every set is looked at, and all records.

    Records of one person are no company for one another: where an identifier says who has several,
    a record is unique on a set if nobody else has its values there, and `detail["people"]` says so.

    `detail["sets"]` says by which columns most records are unique (the first twenty sets),
    `by_size` how many minimal uniques have how many columns, and `columns` what share of all scores
    the sets make up that hold a column. The per-record vector is DIS-SUDA, the chance that a match
    with the record is right; it rises with the sampling `share`, which is taken from the sampling
    weights where none is given and is 0.01 without weights. The owner is told the riskiest records,
    each with its smallest set and with what each column adds to its score.

    A missing value is a value like any other. A suppressed cell is none: it makes its own record
    unique on no set, and hides no other, since whoever finds a record that fits does not think of
    one that says nothing. Labels of generalized values are taken as they stand.

    >>> from sfumato.data.pair import Pair
    >>> from sfumato.data.table import table
    >>> t = table({"age": [30, 30, 41, 41], "job": ["cook", "cook", "cook", "diver"],
    ...            "area": ["n", "s", "n", "s"]}, quasi=["age", "job", "area"])
    >>> found = Suda(size=2).measure(Context(Pair.of(t, t), np.random.default_rng(0)))
    >>> found.value, found.detail["by_size"]
    (1.0, {'1': 1, '2': 6})
    >>> found.detail["sets"][0]
    {'columns': ['age', 'area'], 'records': 4}
    """

    name: ClassVar[str] = "suda"
    paper: ClassVar[str] = (
        "Manning, Haglin & Keane (2008), A recursive search algorithm for statistical disclosure "
        "assessment, Data Mining and Knowledge Discovery 16(2); Elliot, Manning, Mayes, Gurd & "
        "Bane (2005), SUDA: a program for detecting special uniques; Skinner & Elliot (2002), A "
        "measure of disclosure risk for microdata, JRSS B 64(4)"
    )

    size: int = Field(3, ge=1, description="most columns of a set that makes a record unique")
    share: Share = None

    def measure(self, context: Context) -> Measurement:
        masked, original = context.pair.masked, context.pair.original
        names = masked.schema.quasi
        grouping = Grouping.published(*with_people(context.pair))
        sizes, key = grouping.people, grouping.people_key
        found = self._found(grouping)
        before = found if original is masked else self._found(Grouping.published(original))
        share, whence = self._share(masked)
        alike = None if key is None else grouping.records_each
        chances = dis_suda(found.score, len(names), sizes, share, alike)
        at_most = self._at_most(len(names))
        detail: dict[str, Any] = {
            "quasi_identifiers": names,
            "records": masked.height,
            "size": at_most,
            "sets_looked_at": sets_of(len(names), at_most),
            "sets_found": len(found.sets),
            "by_size": _by_size(found),
            "sets": _sets(found, names),
            "says": _said(found, names),
            "columns": _columns(found, names, at_most),
            "sampling_share": share,
            "sampling_share_from": whence,
            "baseline": "the same figure before masking",
        }
        if key is not None:
            detail["people"] = COUNTED
        if found.sets:
            most = detail["sets"][0]
            detail["because"] = (
                f"most often by {_listed(most['columns'])}: {most['records']:,} of "
                f"{masked.height:,} records"
            )
            detail["dis"] = dis(sizes, share)
        told = len(names) < FLAT
        riskiest = _riskiest(found, chances if told else None, names)
        if told:
            detail["largest_chance"] = float(chances.max(initial=0.0))
        else:
            detail["no_chances"] = f"DIS-SUDA says nothing for {FLAT} columns or more"
        made = self.result(
            _share_of(found),
            baseline=_share_of(before),
            per_record=chances if told else found.score,
            detail=detail,
            private={
                "riskiest": riskiest,
                "says": [
                    f"record {one['row']:,} is unique by {_listed(one['unique_by'])}"
                    for one in riskiest[:_SAID]
                ],
            },
        )
        # Which records are one person's is not published, and the figure would tell of it.
        return replace(made, depends=None) if people_hidden(context.pair) else made

    def _at_most(self, columns: int) -> int:
        return min(self.size, max(columns - 1, 1))

    def _found(self, grouping: Grouping) -> Uniques:
        table, key = grouping.table, grouping.people_key
        names = table.schema.quasi
        if not names:
            return Uniques.none(0, table.height)
        size = self._at_most(len(names))
        self._affordable(len(names), size, table.height)
        codes = hide_suppressed(table, names, column_codes(table, names))
        person = None if key is None else grouping.column(key).codes.astype(np.int32)
        return minimal_uniques(codes, size, worth(len(names), size), person=person)

    def _affordable(self, columns: int, size: int, records: int) -> None:
        """Refuse what would take days, or more memory than there is."""

        def fits(size: int) -> bool:
            kept = sets_of(columns, size - 1) * records
            return sets_of(columns, size) <= _SETS and kept <= _BITS

        if columns > COLUMNS:
            raise MeasureError(
                f"{self.name} looks at sets of at most {COLUMNS} columns, and {columns} are "
                "quasi-identifiers",
                remedy="give those that nobody knows another role",
            )
        if not fits(size):
            less = max((k for k in range(1, size) if fits(k)), default=1)
            raise MeasureError(
                f"{columns} quasi-identifiers have {sets_of(columns, size):,} sets of at most "
                f"{size}: too many for {records:,} records",
                remedy=f"{self.name} = {{ size = {less} }}, or fewer quasi-identifiers",
            )

    def _share(self, table: Table) -> tuple[float, str]:
        if self.share is None and weights_of(table) is None:
            return _USUAL_SHARE, "nobody says, so that one in a hundred is supposed"
        return sampling_share(table, self.share, self.name)


def _share_of(found: Uniques) -> float:
    return float((found.many > 0).mean())


def _by_size(found: Uniques) -> dict[str, int]:
    sizes = sorted({len(one) for one in found.sets})
    return {f"{k}": sum(many for one, many in found.sets.items() if len(one) == k) for k in sizes}


def _sets(found: Uniques, names: Sequence[str]) -> list[dict[str, Any]]:
    """The sets that make most records unique; of equals the smaller ones."""
    ranked = sorted(found.sets.items(), key=lambda one: (-one[1], len(one[0]), one[0]))
    return [
        {"columns": [names[j] for j in chosen], "records": many}
        for chosen, many in ranked[:_LISTED]
    ]


def _said(found: Uniques, names: Sequence[str]) -> list[str]:
    """The sets that make most records unique, in words."""
    said = []
    for one in _sets(found, names)[:_SAID]:
        who = "1 record is" if one["records"] == 1 else f"{one['records']:,} records are"
        said.append(f"{who} unique by {_listed(one['columns'])}")
    return said


def _columns(found: Uniques, names: Sequence[str], size: int) -> dict[str, float]:
    """The share of all scores that the sets with a column make up."""
    scores = worth(len(names), size)
    worths = {chosen: many * scores[len(chosen) - 1] for chosen, many in found.sets.items()}
    total = sum(worths.values())
    return {
        name: float(sum(w for chosen, w in worths.items() if j in chosen) / total) if total else 0.0
        for j, name in enumerate(names)
    }


def _riskiest(
    found: Uniques, chances: np.ndarray | None, names: Sequence[str]
) -> list[dict[str, Any]]:
    """The records with the highest scores, by their rows in the masked table."""
    order = np.argsort(-found.score, kind="stable")[:_RISKIEST]
    told = []
    for row in order[found.score[order] > 0].tolist():
        chosen = [name for j, name in enumerate(names) if int(found.smallest[row]) >> j & 1]
        one: dict[str, Any] = {
            "row": row + 1,
            "unique_by": chosen,
            "minimal_uniques": int(found.many[row]),
            "score": float(found.score[row]),
        }
        if chances is not None:
            one["chance"] = float(chances[row])
        shares = (found.parts[:, row] / found.score[row]).tolist()
        told.append(one | {"columns": dict(zip(names, shares, strict=True))})
    return told


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
