"""How much the groups of a release say about the confidential class of their members.

An intruder who knows in which group somebody is learns the class where all of the group share it,
and learns something wherever the group's classes are distributed otherwise than everybody's. All
four figures are sums over the cells (group, class) of one function of the counts, and so is what
they would be by chance: for groups of the same sizes drawn at random the count of a cell has a
hypergeometric distribution.

Of a confidential column of sets an intruder learns items: groups are then looked at item by item,
and what chance would give has no such formula.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from ...criteria.classes import equivalence_classes
from ...criteria.sets import holds_sets
from ...data.classes import MISSING, class_codes
from ...data.pair import Pair
from ...errors import MeasureError
from ...measurement import Depends
from ...protocols import Context, Measure, Measurement
from .held_items import HeldItems

_PAPER = (
    "Li & Sarkar (2013), Class-restricted clustering and microperturbation for data privacy, "
    "Management Science 59(4)"
)
_CHANCE = "groups of the same sizes drawn at random"
_NOBODY = "{} cannot be taken: no record is in a group"


@dataclass(frozen=True, eq=False)
class _Cells:
    """Groups and classes: only the cells that hold records."""

    rows: np.ndarray
    """The masked rows that are in a group."""
    labels: np.ndarray
    """The group of each of those rows."""
    codes: np.ndarray
    """The class of each of those rows."""
    sizes: np.ndarray
    """Records of each group."""
    totals: np.ndarray
    """Records of each class."""
    group: np.ndarray
    cls: np.ndarray
    count: np.ndarray
    height: int
    facts: dict[str, Any]

    @property
    def records(self) -> int:
        return int(self.rows.size)


class _ClassDisclosure(Measure):
    """What the four figures share."""

    about: ClassVar[Literal["risk", "utility"]] = "risk"
    compares: ClassVar[str | None] = "tables"
    decimals: ClassVar[int | None] = None
    depends: ClassVar[Depends | None] = "release"
    paper: ClassVar[str] = _PAPER

    column: str = Field(
        "", description="the confidential column; all of them as one class unless given"
    )
    quantiles: int = Field(
        4,
        ge=0,
        description="classes into which numbers and dates with more values are cut; 0 for none",
    )

    @abstractmethod
    def cell(
        self, count: np.ndarray, size: np.ndarray, total: np.ndarray, records: int
    ) -> np.ndarray:
        """What a cell adds to its group's figure.

        For a count of 0 it must be linear in `total`, so that empty cells can be added as one.
        """

    def together(self, groups: np.ndarray, sizes: np.ndarray) -> float:
        """The groups' figures as one: their mean, weighted by size."""
        return float((groups * sizes).sum() / sizes.sum())

    def measure(self, context: Context) -> Measurement:
        if name := _set_column(context.pair, self.column, self.name):
            return self._measure_sets(context, name)
        cells = _cells(context, self.column, self.quantiles, self.name)
        groups = self._groups(cells)
        expected = self._expected(cells)
        per_record = np.full(cells.height, np.nan)
        per_record[cells.rows] = self.of_records(groups, cells)
        return self.result(
            self.together(groups, cells.sizes),
            # Sums of chances may end a rounding error above what is possible.
            baseline=min(self.together(expected, cells.sizes), self.bounds[1]),
            per_record=per_record,
            detail={**cells.facts, **self.details(groups), "baseline": _CHANCE},
        )

    def _measure_sets(self, context: Context, name: str) -> Measurement:
        labels, how = _groups(context, self.name)
        if not (labels >= 0).any():
            raise MeasureError(_NOBODY.format(self.name), remedy="publish some records")
        held = HeldItems.of(context.pair.masked, name, labels)
        marked, of_items = self.of_items(held)
        facts = {**held.facts, "groups are": how, **of_items}
        per_record = np.where(held.labels >= 0, marked.astype(np.float64), np.nan)
        return self.result(float(np.nanmean(per_record)), per_record=per_record, detail=facts)

    def of_items(self, held: HeldItems) -> tuple[np.ndarray, dict[str, Any]]:
        """Of a column of sets: which records count, and more for `detail`."""
        raise MeasureError(
            f"{self.name} compares distributions of single values, and {held.name!r} holds sets",
            remedy='count items: "homogeneous-groups", "lone-members", or require "t-closeness"',
        )

    def of_records(self, groups: np.ndarray, cells: _Cells) -> np.ndarray:
        """The figure of each record that is in a group."""
        found: np.ndarray = groups[cells.labels]
        return found

    def details(self, groups: np.ndarray) -> dict[str, Any]:
        """More of the groups, for `detail`."""
        return {"largest": float(groups.max()), "mean over groups": float(groups.mean())}

    def _groups(self, cells: _Cells) -> np.ndarray:
        """The figure of each group."""
        size, total = cells.sizes[cells.group], cells.totals[cells.cls]
        found = self.cell(cells.count, size, total, cells.records)
        present = np.bincount(cells.group, weights=found, minlength=cells.sizes.size)
        seen = np.bincount(cells.group, weights=total, minlength=cells.sizes.size)
        none = np.zeros(cells.sizes.size)
        absent = self.cell(none, cells.sizes, cells.records - seen, cells.records)
        # Rounding may leave a sum of nothing just below zero.
        result: np.ndarray = np.maximum(present + absent, 0.0)
        return result

    def _expected(self, cells: _Cells) -> np.ndarray:
        """The figure that each group would have by chance."""
        sizes, which = np.unique(cells.sizes, return_inverse=True)
        totals, many = np.unique(cells.totals, return_counts=True)
        n = cells.records
        by_size = np.empty(sizes.size)
        for i, size in enumerate(sizes.tolist()):
            low = np.maximum(size + totals - n, 0)
            width = np.minimum(totals, size) - low + 1
            total = np.repeat(totals, width)
            start = np.repeat(np.cumsum(width) - width, width)
            count = np.arange(total.size) - start + np.repeat(low, width)
            chance = _hypergeometric(count, size, total, n)
            value = self.cell(count, np.full(count.size, size), total, n)
            by_size[i] = (np.repeat(many, width) * chance * value).sum()
        return by_size[which.reshape(-1)]


class ClassChiSquare(_ClassDisclosure):
    """Chi-square distance of the groups' classes from everybody's, X2.

    The mean over the groups of sum_k (n_gk - n_g N_k / N)^2 / (n_g N_k / N) (Li & Sarkar, eq. 13).
    Groups drawn at random have about C - 1, for C classes. Groups are
    records with the same published quasi-identifiers, and where these were perturbed, the records
    that were perturbed together; `detail["groups are"]` says which.

    >>> import sfumato as sf
    >>> t = sf.table({"q": [1, 1, 2, 2], "ill": list("abab")}, quasi="q", confidential="ill")
    >>> sf.measure("class-chi-square", t, t).value
    0.0
    """

    name: ClassVar[str] = "class-chi-square"

    def cell(
        self, count: np.ndarray, size: np.ndarray, total: np.ndarray, records: int
    ) -> np.ndarray:
        ideal = size * total / records
        return np.where(ideal > 0, (count - ideal) ** 2 / np.where(ideal > 0, ideal, 1.0), 0.0)

    def together(self, groups: np.ndarray, sizes: np.ndarray) -> float:
        return float(groups.mean())

    def details(self, groups: np.ndarray) -> dict[str, Any]:
        return {"largest": float(groups.max())}


class HomogeneousGroups(_ClassDisclosure):
    """Share of records in groups where everybody has the same confidential class.

    Whoever is known to be in such a group has no secret left. The per-record vector marks their
    members with 1. Of a column of sets: groups where some item is held by everybody whose set is
    known, or where nobody holds any.
    """

    name: ClassVar[str] = "homogeneous-groups"
    usual: ClassVar[bool] = True
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    unit: ClassVar[str] = "%"

    def cell(
        self, count: np.ndarray, size: np.ndarray, total: np.ndarray, records: int
    ) -> np.ndarray:
        found: np.ndarray = ((count == size) & (count > 0)).astype(np.float64)
        return found

    def details(self, groups: np.ndarray) -> dict[str, Any]:
        return {"homogeneous groups": int(groups.sum())}

    def of_items(self, held: HeldItems) -> tuple[np.ndarray, dict[str, Any]]:
        same = (held.known > 0) & (held.none == held.known)
        same[held.group[held.count == held.known[held.group]]] = True
        marked = np.append(same, False)[held.labels]
        return marked, {"homogeneous groups": int(same.sum())}


class LoneMembers(_ClassDisclosure):
    """Share of records that are alone in their class within their group.

    Somebody who knows the others of a class, or that a rare class occurs once in the group, has a
    target (Li & Sarkar, section 7). The per-record vector marks them with 1. Of a column of sets:
    records that hold an item which nobody else of their group holds.
    """

    name: ClassVar[str] = "lone-members"
    usual: ClassVar[bool] = True
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    unit: ClassVar[str] = "%"

    def cell(
        self, count: np.ndarray, size: np.ndarray, total: np.ndarray, records: int
    ) -> np.ndarray:
        found: np.ndarray = (count == 1).astype(np.float64)
        return found

    def together(self, groups: np.ndarray, sizes: np.ndarray) -> float:
        return float(groups.sum() / sizes.sum())

    def of_records(self, groups: np.ndarray, cells: _Cells) -> np.ndarray:
        width = cells.totals.size
        lone = (cells.group * width + cells.cls)[cells.count == 1]
        return np.isin(cells.labels * width + cells.codes, lone).astype(np.float64)

    def details(self, groups: np.ndarray) -> dict[str, Any]:
        return {"lone members": int(groups.sum()), "groups with one": int((groups > 0).sum())}

    def of_items(self, held: HeldItems) -> tuple[np.ndarray, dict[str, Any]]:
        marked = np.zeros(held.labels.size, dtype=bool)
        marked[held.holder[(held.count == 1)[held.pair]]] = True
        within = np.unique(held.labels[marked]).size
        return marked, {"lone members": int(marked.sum()), "groups with one": within}


class ClassDivergence(_ClassDisclosure):
    """Divergence of the groups' classes from everybody's, in bits.

    The mean over the records of their group's divergence from the distribution of the whole file:
    Jensen-Shannon's (0 alike, 1 at most), which makes this the weighted JSD of Li & Sarkar (eq. 7),
    or Kullback and Leibler's. Logarithms are to the base 2. `detail` has the largest group's and
    the plain mean over the groups.
    """

    name: ClassVar[str] = "class-divergence"
    paper: ClassVar[str] = f"{_PAPER}; Lin (1991), Divergence measures based on the Shannon entropy"
    unit: ClassVar[str] = "bits"

    divergence: Literal["jsd", "kld"] = Field(
        "jsd", description="Jensen and Shannon's, or Kullback and Leibler's"
    )

    def cell(
        self, count: np.ndarray, size: np.ndarray, total: np.ndarray, records: int
    ) -> np.ndarray:
        here, everywhere = count / size, total / records
        if self.divergence == "kld":
            return _plog(here, everywhere)
        middle = (here + everywhere) / 2
        found: np.ndarray = (_plog(here, middle) + _plog(everywhere, middle)) / 2
        return found


def _plog(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """p log2(p / q), which is 0 where p is."""
    inside = p > 0
    ratio = np.where(inside, p, 1.0) / np.where(inside, q, 1.0)
    return np.where(inside, p * np.log2(ratio), 0.0)


def _hypergeometric(count: np.ndarray, size: int, total: np.ndarray, n: int) -> np.ndarray:
    """Chance of so many of a class of `total` among `size` drawn from n."""
    from scipy.special import gammaln

    def choose(a: Any, b: Any) -> np.ndarray:
        found: np.ndarray = gammaln(a + 1.0) - gammaln(b + 1.0) - gammaln(a - b + 1.0)
        return found

    logs = choose(total, count) + choose(n - total, size - count) - choose(n, size)
    found: np.ndarray = np.exp(logs)
    return found


def _cells(context: Context, column: str, quantiles: int, asking: str) -> _Cells:
    pair = context.pair
    names = _confidential(pair, column, asking)
    labels, how = _groups(context, asking)
    if quantiles == 1:
        raise MeasureError(
            f"{asking} has nothing to tell apart with one class", remedy="quantiles = 2 or more"
        )
    classes = class_codes(pair.masked, names, quantiles)
    rows = np.flatnonzero(labels >= 0)
    if not rows.size:
        raise MeasureError(_NOBODY.format(asking), remedy="publish some records")
    inside = labels[rows]
    # Classes whose only records were suppressed are not there.
    _, codes = np.unique(classes.codes[rows], return_inverse=True)
    codes = codes.reshape(-1)
    totals = np.bincount(codes)
    key, count = np.unique(inside * totals.size + codes, return_counts=True)
    group, cls = np.divmod(key, totals.size)
    facts: dict[str, Any] = {
        "confidential": names,
        "classes": int(totals.size),
        "groups are": how,
        "groups": int(inside.max()) + 1,
        "records": int(rows.size),
    }
    if classes.cut:
        facts["cut into quantiles"] = classes.cut
    if any(MISSING in label.split(" & ") for label in classes.labels):
        facts["missing"] = "counts as a class of its own"
    if rows.size < labels.size:
        facts["suppressed records left out"] = int(labels.size - rows.size)
    sizes = np.bincount(inside)
    return _Cells(rows, inside, codes, sizes, totals, group, cls, count, labels.size, facts)


def _set_column(pair: Pair, column: str, asking: str) -> str:
    """The confidential column of sets that is meant; "" where values are."""
    names = _confidential(pair, column, asking)
    sets = [name for name in names if holds_sets(pair.masked, name)]
    if not sets:
        return ""
    if len(names) > 1:
        raise MeasureError(
            f"{asking} takes confidential columns together as one class, and {sets[0]!r} holds "
            "sets, whose items are looked at one by one",
            remedy=f"name one column: column = {sets[0]!r}",
        )
    return names[0]


def _groups(context: Context, asking: str) -> tuple[np.ndarray, str]:
    """The group of each masked record (-1: suppressed), and where the groups come from."""
    masked = context.pair.masked
    partition = context.partition
    if partition is None:
        found = equivalence_classes(masked)
        return found.labels, "records with the same published quasi-identifiers"
    if len(partition) != masked.height:
        raise MeasureError(
            f"{asking} was given groups of {len(partition):,} records for {masked.height:,}",
            remedy="give the groups of the masked table, in its order",
        )
    if not partition.groups:
        raise MeasureError(
            f"{asking} looks at groups, and values were perturbed without any",
            remedy="perturb groups of records, as crest and micro-perturbation do",
        )
    return partition.labels, "those that the perturbed values were drawn for"


def _confidential(pair: Pair, column: str, asking: str) -> list[str]:
    names = [column] if column else pair.original.schema.confidential
    if not names:
        raise MeasureError(
            f"{asking} speaks of a confidential column, and the table has none",
            remedy='give a column the role "confidential", or name it in `column`',
        )
    for name in names:
        _ = pair.original.schema[name]  # an unknown name is told with the nearest known one
        if name not in pair.masked.schema:
            raise MeasureError(
                f"{asking} speaks of column {name!r}, which is not in the masked table",
                remedy="name one that is published in `column`",
            )
    return list(names)
