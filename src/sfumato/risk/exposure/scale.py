"""`exposure` of a release that is larger than memory.

What names people and what gives back a masked column is told by a sample of records. People are
looked for among the records of the sample first, and then, by the sets of columns that leave most
of them alone there, among all records, part by part: a person is singled out of whom no part has
another record. So nobody counts as hidden who is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import polars as pl

from ...data.exact import each
from ...data.generalized.label_places import has_labels
from ...data.kinds import is_text
from ...data.pair import Pair
from ...data.schema import MEASURED
from ...data.table import Table
from ...engines.batches import together
from ...engines.relation import Relation
from ...engines.sampled import records_of, sample
from ...errors import MethodError
from ...kernels.draws import Draws
from ...protocols import Context, Measurement, Method, Partitioner
from ...rng import Key
from .agreement import tolerance
from .exposure import Exposure
from .published import DISTINCT, KEY
from .singled import Names, Singled
from .view import MOSTLY, Learnt, Share, View, beyond

SAMPLE = 50_000
"""Records by which columns are known, and among which people are looked for first."""
_PEOPLE = 1000
"""People who are looked for."""
_SETS = 60
"""Sets of each size that are counted on all records."""
_FEW = 32
"""People are first looked for among one in so many records."""
_DOMAIN = 1_000_000
"""Different values of a masked column by which its labels are read."""
UNIQUE = "unique-code"
"""What a column is recognized as in which nearly every record has its own value."""
Mechanism = tuple[Method | Partitioner, ...]


def exposure_at_scale(
    exposure: Exposure,
    original: Relation,
    masked: Relation,
    key: Key,
    rng: np.random.Generator,
    mechanism: Mechanism = (),
    *,
    many: int = SAMPLE,
) -> Measurement:
    """The measurement; its detail says what was looked at. Of no more records than a sample has it
    is that of the tables themselves."""
    before, numbers = sample(original, key, many)
    after, kept = records_of(masked, numbers)
    pair = Pair(before, after, np.searchsorted(numbers, kept))
    view = View(exposure, Context(pair, rng, mechanism=mechanism))
    if original.height <= many:
        return exposure.told(view.naming(), view.giving_back(), view.worst(), view.remarks())
    for name in [n for n, found in view.found.items() if found.what == UNIQUE]:
        if name in original.schema and not _is_key(original, name, MOSTLY):
            del view.found[name]
    names = [one for one in view.naming() if one.what != KEY or _is_key(masked, one.column)]
    sought = _Sought.of(view, exposure, mechanism, (original, masked), (key, kept))
    worst = sought.worst(masked, after, kept)
    remarks = view.remarks()
    remarks["looked at"] = (
        f"people of {sought.own.height:,} records among all {masked.height:,}; columns, and what "
        f"is said of confidential ones, in a sample of {before.height:,}, where fewer are alike"
    )
    return exposure.told(names, view.giving_back(), worst, remarks)


def _is_key(data: Relation, name: str, share: float = DISTINCT) -> bool:
    """Whether so many records have their own value among all, and not in a sample only."""
    different = data.class_sizes([name])[:, 1].sum()
    return bool(different >= share * data.height)


@dataclass(frozen=True, eq=False)
class _Sought:
    """People with their records, who are looked for among others."""

    exposure: Exposure
    mechanism: Mechanism
    learnt: Learnt
    names: Sequence[str]
    """Columns that others can know."""
    people: Table
    """Originals of their records; below them, all values of columns that have labels."""
    own: Table
    """What was published of them."""
    numbers: np.ndarray
    """uint64, sorted: of their records."""
    seed: int

    @classmethod
    def of(
        cls,
        view: View,
        exposure: Exposure,
        mechanism: Mechanism,
        data: tuple[Relation, Relation],
        sampled: tuple[Key, np.ndarray],
    ) -> _Sought:
        """Some people of the sample, in which records have these numbers, with all their
        records."""
        original, masked = data
        key = sampled[0].of("people")
        lowest = np.argsort(Draws(key, sampled[1]).bits(), kind="stable")[:_PEOPLE]
        numbers = np.sort(sampled[1][lowest])
        names = view.knowable()
        person = _repeating(original)
        if person is not None:
            numbers = _all_of(original, person, numbers)
        columns = list(dict.fromkeys([*names, *([] if person is None else [person])]))
        own, there = records_of(masked.only(names), numbers)
        before, numbers = records_of(original.only(columns), there)
        people = view.coded(before, own) if names else before
        if person is not None:
            people = people.with_columns([], [people.schema[person].with_(person=True)])
        known = _below(people, _values(view, original, names))
        seed = int(key.words[0] >> np.uint64(1))
        learnt = _learnt(view, names)
        return cls(exposure, mechanism, learnt, names, known, own, numbers, seed)

    def seen(self, part: Table, numbers: np.ndarray) -> View:
        """What an intruder sees of them and of these records."""
        at = np.searchsorted(self.numbers, numbers).clip(max=max(self.numbers.size - 1, 0))
        others = np.flatnonzero(self.numbers[at] != numbers)
        bare = part.without([name for name in part.names if name not in self.names])
        shown = together([self.own, bare.take(others)])
        rows = np.full(shown.height, -1)
        rows[: self.own.height] = np.arange(self.own.height)
        rng = np.random.default_rng(self.seed)
        context = Context(Pair(self.people, shown, rows), rng, mechanism=self.mechanism)
        return View(self.exposure, context, self.learnt)

    def worst(self, masked: Relation, some: Table, numbers: np.ndarray) -> list[Share]:
        """The worst set of each size: those that leave most people alone among some records,
        counted on all."""
        if not self.names or not self.own.height:
            return []
        first = self.seen(some, numbers)
        listed = first.sets(_SETS)
        sets = [one.columns for found in listed.values() for one in found]
        alone = np.ones((len(sets), 2, first.people.height), dtype=bool)
        # Most people are not alone among few records, and need not be looked for among all.
        few = 1 if masked.height < _FEW * SAMPLE else _FEW
        for one_in in sorted({few, 1}, reverse=True):
            parts = masked.fold(list(self.names), partial(_alone, self, sets, alone, one_in))
            alone = np.logical_and.reduce(parts)
        counted = {names: self._share(first, names, alone[i]) for i, names in enumerate(sets)}
        worst = []
        for found in listed.values():
            shares = [counted[one.columns] for one in found]
            if len(found) == _SETS:
                # Of the sets that were not counted none leaves more people alone.
                last = found[-1]
                shares.append(Share(last.columns, last.share, last.share))
            worst += [max(shares, key=lambda one: one.lower)] if shares else []
        return worst

    def _share(self, first: View, names: Names, found_alone: np.ndarray) -> Share:
        alone, chance = (first.persons(np.flatnonzero(one)) for one in found_alone)
        everyone = first.persons(np.arange(first.people.height))
        found = Singled(names, alone / max(everyone, 1))
        if not first.by_chance(names):
            return Share(names, found.share, found.share)
        return beyond(found, chance / max(everyone, 1), everyone, everyone)


def _alone(
    sought: _Sought,
    sets: Sequence[Names],
    before: np.ndarray,
    one_in: int,
    part: Table,
    numbers: np.ndarray,
) -> np.ndarray:
    """bool (sets, 2, people): who of those who were alone before is so beside these records, or one
    in so many of them, and who with shuffled values."""
    if one_in > 1:
        key = Key.of_seed(sought.seed).of("few")
        rows = np.flatnonzero(Draws(key, numbers).bits() % np.uint64(one_in) == 0)
        part, numbers = part.take(rows), numbers[rows]
    view = sought.seen(part, numbers)
    names = list(sought.names)
    together_, each = view.search(names), view.alone(names)
    # The same in every part, however many records it has.
    view.rng = np.random.default_rng([sought.seed, 1])
    shuffled = view.search(names, shuffled=True)
    found = np.zeros_like(before)
    for i, chosen in enumerate(sets):
        found[i, 0] = (each if len(chosen) == 1 else together_).alone(chosen, before[i, 0])
        if view.by_chance(chosen):
            found[i, 1] = shuffled.alone(chosen, before[i, 1])
    return found


def _repeating(original: Relation) -> str | None:
    """The column by which people have several records; None where a record is a person."""
    person = original.schema.person
    if person is None or original.class_sizes([person])[-1, 0] <= 1:
        return None
    return person


def _all_of(original: Relation, person: str, numbers: np.ndarray) -> np.ndarray:
    """The numbers of all records of the people who have these."""
    some = records_of(original.only([person]), numbers)[0][person].drop_nulls().unique()
    found = original.fold([person], partial(_theirs, person, some))
    return np.unique(np.concatenate([numbers, *found]))


def _theirs(person: str, some: pl.Series, part: Table, numbers: np.ndarray) -> np.ndarray:
    here = part[person].is_in(some.implode()).fill_null(False).to_numpy()
    return np.asarray(numbers[here])


def _learnt(view: View, names: Sequence[str]) -> Learnt:
    """What the sample tells of the columns."""
    original, masked = view.pair.original, view.pair.masked
    near = {}
    for name in names:
        column = original.schema[name]
        if column.kind in MEASURED and not is_text(masked[name]):
            what = view.found[name].what if name in view.found else ""
            near[name] = tolerance(original[name], masked[name], column.kind, what)
    hides = [name for name in view.hides() if name in names]
    return Learnt(dict(view.found), dict(view.shares), near, hides)


def _values(view: View, original: Relation, names: Sequence[str]) -> list[pl.Series]:
    """All values of the columns that have labels, as far as they are few enough."""
    before, after = view.pair.original.schema, view.pair.masked
    found = []
    for name in names:
        if has_labels(before[name], after.schema[name], after[name]):
            try:
                found.append(original.count_by([name], _DOMAIN).table[name])
            except MethodError:
                found.append(view.pair.original[name].unique())
    return found


def _below(people: Table, values: Sequence[pl.Series]) -> Table:
    """The people, and below them rows with all these values, which are nobody's."""
    most = max((len(series) for series in values), default=0)
    if not most:
        return people
    empty = people.frame.clear(most)
    rest = empty.with_columns([s.extend_constant(None, most - len(s)) for s in values])
    return together([people, Table(rest.select(each(people.names)), people.schema)])
