"""How well a release predicts the originals, and how well people who did not take part would.

The three prediction measures and the non-participation gate look at the same distances. They are
searched once for each pair of tables and kept as long as the pair is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal
from weakref import WeakKeyDictionary

import numpy as np
from pydantic import Field

from ...data.linkage.linking import drawn, require_records, require_reference
from ...data.pair import Pair
from ...data.people.participants import kept_together
from ...data.points.cells import Cells, joined
from ...data.points.encoding import Encoding, LogChoice, Moments, Twofold
from ...data.points.placement import Placing, distinct, placements
from ...data.schema import Column, Kind, Role
from ...data.table import Table
from ...errors import MeasureError, MethodError
from ...kernels.neighbours.blocks import distinct_rows
from ...kernels.neighbours.prediction import Predictions
from ...measurement import Depends
from ...protocols import Context, Measure
from ...rng import stream
from .comparison import Comparison, Distances
from .copies import Crowd

_SURE = 5.0
"""Standard errors beyond which two shares differ."""
_SLACK = 0.02


def refuse_participants(originals: np.ndarray, others: np.ndarray) -> None:
    """An error where the reference holds the participants themselves.

    Among strangers a record equals some original about as often as an original equals another
    original. Much more often means that they are the same people.

    Both are points, float64 (n, d) and (m, d).
    """
    n, m = len(originals), len(others)
    if n < 2 or not m:
        return
    codes = _numbered(np.concatenate([originals, others]))
    known = np.bincount(codes[:n], minlength=int(codes.max()) + 1)
    among_themselves = float((known[codes[:n]] > 1).mean())
    found = float((known[codes[n:]] > 0).mean())
    spread = among_themselves * (1 - among_themselves) * (1 / n + 1 / m)
    if found - among_themselves > _SLACK + _SURE * np.sqrt(spread + 1 / (4 * m * m)):
        raise MeasureError(
            f"{found:.0%} of the reference sample's records are records of the original, and "
            f"{among_themselves:.0%} would be by chance: it holds people who take part",
            remedy="give a sample of other people, held out before masking",
        )


def singles(points: np.ndarray) -> np.ndarray:
    """bool (n,): the records that no other equals.

    >>> singles(np.array([[1.0], [2.0], [1.0]])).tolist()
    [False, True, False]
    """
    codes = _numbered(points)
    found: np.ndarray = np.bincount(codes)[codes] == 1
    return found


def _numbered(points: np.ndarray) -> np.ndarray:
    """Equal records by equal numbers."""
    plain = np.ascontiguousarray(points + 0.0)  # -0.0 is 0.0
    none = np.empty((len(points), 0), dtype=np.int32)
    return distinct_rows(plain.view(np.int64), none)[1]


ROLES = (Role.QUASI, Role.CONFIDENTIAL, Role.TARGET, Role.INSENSITIVE, Role.UNDECIDED)
MOST_CATEGORIES = 100
"""A coordinate for nearly every record would drown the others."""
ComparedColumns = Annotated[
    tuple[str, ...],
    Field(
        description="columns to compare records by; all of both tables but names, households "
        "and weights unless given"
    ),
]


class Predicting(Measure):
    """What measures of prediction share: where records lie, and how many are looked at."""

    about: ClassVar[Literal["risk", "utility"]] = "risk"
    compares: ClassVar[str | None] = "tables"
    whole_records: ClassVar[bool] = True
    decimals: ClassVar[int | None] = 3
    depends: ClassVar[Depends | None] = "values"
    shown: ClassVar[tuple[str, ...]] = (
        "k",
        "coordinates",
        "confidence",
        "compared_records",
        "predicted_records",
        "passes",
    )

    k: int = Field(5, ge=1, description="nearest released records that an intruder chooses among")
    columns: ComparedColumns = ()
    log: LogChoice = "auto"
    twofold: Twofold = False
    moments: Placing = Field(
        "worst",
        description="released numbers are standardized by their own middle and width, so "
        "that an offset does not hide them, by the original's, so that leaving out the extreme "
        'people does not, or both ways, of which the worse counts ("worst")',
    )
    sample: int = Field(
        50_000,
        ge=0,
        description="originals to predict, drawn at random where there are more; 0 predicts "
        "all. Released records are never left out",
    )

    distance: Distances = Field(
        "euclidean",
        description="how far apart two records are: the root mean square difference of their "
        "coordinates (the thesis' 3.1), the mean absolute one, the largest one, or the root mean "
        "square along the original's uncorrelated directions (mahalanobis)",
    )
    weights: dict[str, Annotated[float, Field(ge=0, le=1e12)]] = Field(
        default_factory=dict,
        description="how much a column counts in distances and variances; 1 unless given",
    )

    @property
    def by_columns(self) -> bool:
        """Whether all columns weigh alike, or (the thesis) all coordinates."""
        return False

    def predicted(self, context: Context) -> Predicted:
        """The search on these tables, shared by all measures with the same parameters."""
        require_records(context.pair, self.name)
        reference = context.reference
        if reference is not None:
            require_reference(reference)
        made = _memo.setdefault(context.pair, {})
        key = (
            *(self.k, self.columns, self.log, self.moments, self.sample, self.by_columns),
            *(self.twofold, self.distance, tuple(sorted(self.weights.items()))),
        )
        kept = made.get(key)
        if kept is None or kept.strangers is not reference:
            made[key] = kept = Predicted(self, context.pair, reference)
        return kept


class Predicted:
    """Predictions of the originals from the release and from the reference sample.

    Each search is made when it is asked for, and once. Rows are drawn by a stream of their own, so
    that every measure looks at the same people.
    """

    def __init__(self, wanted: Predicting, pair: Pair, reference: Table | None) -> None:
        self.k, self.strangers, self._sample = wanted.k, reference, wanted.sample
        original, masked = pair.original, pair.masked
        self._original = original
        if masked.height < self.k:
            raise MeasureError(
                f"{wanted.name} needs k = {self.k} released records and there are {masked.height}",
                remedy=f"give k = {masked.height} at most",
            )
        names, self.left_out = columns_compared(pair, reference, wanted.columns)
        self.unknown = [name for name in masked.names if name not in original.schema]
        log = wanted.log if isinstance(wanted.log, str) else _known(wanted.log, names)
        try:
            self.encoding = Encoding.of(original, names, log=log, twofold=wanted.twofold)
            self.rows = drawn(original.height, wanted.sample, stream(0, 0, "prediction/originals"))
            units = self.encoding.column_units
            self._units = units if wanted.by_columns else np.ones_like(units)
            self._originals = self._as_they_are(original, self.rows)
            self._release = self._placed(masked, wanted.moments)
            self._compared = self._compared_by(wanted)
            self._reference = {} if reference is None else self._placed(reference, wanted.moments)
        except MethodError as error:
            raise MeasureError(f"{wanted.name}: {error.message}", remedy=error.remedy) from error
        self.records, self.released = original.height, masked.height
        self.others = 0 if reference is None else reference.height
        sides = [side for side in (self._release, self._reference) if side]
        self.placements: tuple[Moments, ...] = distinct(*sides)
        self._searched: dict[tuple[str, int], Predictions] = {}

    def _compared_by(self, wanted: Predicting) -> Comparison:
        """How points are compared. Copies are looked for in all columns, whatever they weigh."""
        names = self.encoding.names
        _known(tuple(wanted.weights), names, "weights")
        weight = np.array([wanted.weights.get(name, 1.0) for name in names])
        if not weight.sum() > 0:
            raise MeasureError(
                f"{wanted.name} has nothing to compare records by: every weight is 0",
                remedy="give some column a weight",
            )
        own = weight[self.encoding.owner] if wanted.weights else None
        return Comparison.of(self._originals, wanted.distance, own)

    def _placed(self, table: Table, wanted: Placing) -> dict[Moments, np.ndarray]:
        made = placements(self.encoding, table, wanted, thresholded=True)
        for one in {id(x): x for x in made.values()}.values():
            one *= self._units
        return made

    def _as_they_are(self, table: Table, rows: np.ndarray) -> np.ndarray:
        """These records of people, whom nobody has moved."""
        return self._placed(table.take(rows), "original")["original"]

    def lowest(self, search: Callable[[Moments], Predictions], aspect: str) -> np.ndarray:
        """For each record the smaller value of all placements."""
        found = [getattr(search(place), aspect) for place in self.placements]
        result: np.ndarray = np.minimum.reduce(found)
        return result

    def refuse_participants(self) -> None:
        """An error where the reference holds the people who take part."""
        assert self.strangers is not None
        refuse_participants(self._originals, self._people)

    def nearest_originals(self, place: Moments) -> tuple[np.ndarray, np.ndarray]:
        """How far released records, and strangers, are from the nearest original."""
        some = drawn(self.released, self._sample, stream(0, 0, "prediction/nearest"))
        who = self._release[place][some]
        released = self._search(f"released, {place}", who, self._originals, k=1)
        strangers = self._search("strangers' own", self._people, self._originals, k=1)
        return released.distance, strangers.distance

    def crowd(self) -> Crowd:
        """Participants, strangers and released records, as cells."""
        assert self.strangers is not None
        people = [Cells.of(self.encoding, x / self._units) for x in (self._originals, self._people)]
        released = [self._release[place] for place in distinct(self._release)]
        return Crowd(
            joined(*people),
            np.repeat([True, False], [len(one.codes) for one in people]),
            self._together(),
            tuple(Cells.of(self.encoding, x / self._units) for x in released),
        )

    def _together(self) -> np.ndarray:
        """int64: the household of each participant predicted and of each stranger."""
        assert self.strangers is not None
        found, first = [], 0
        for table, rows in ((self._original, self.rows), (self.strangers, self._chosen)):
            units = kept_together(table)
            units = np.arange(table.height) if units is None else units
            found.append(units[rows] + first)
            first += table.height
        return np.asarray(np.unique(np.concatenate(found), return_inverse=True)[1])

    @cached_property
    def unique(self) -> np.ndarray:
        """bool: the originals predicted whose record nobody else has."""
        return singles(self._originals)

    def by_release(self, place: Moments) -> Predictions:
        """The originals, predicted from the release."""
        return self._search("release", self._originals, self._release[place])

    def by_as_many(self, place: Moments) -> Predictions:
        """The originals, predicted from as many released records as the reference sample has."""
        if self.others >= self.released:
            return self.by_release(place)
        some = drawn(self.released, self.others, stream(0, 0, "prediction/released"))
        return self._search("as many", self._originals, self._release[place], some)

    def by_reference(self, place: Moments) -> Predictions:
        """The originals, predicted from at most as many strangers as there are released records."""
        return self._by_strangers(0, place)

    def by_others(self, place: Moments) -> Predictions:
        """The same with as many other strangers, where there are enough."""
        return self._by_strangers(1, place)

    def _by_strangers(self, part: int, place: Moments) -> Predictions:
        order = stream(0, 0, "prediction/reference").permutation(self.others)
        size = min(self.released, self.others)
        some = np.sort(order[part * size : (part + 1) * size])
        return self._search(f"strangers {part}", self._originals, self._reference[place], some)

    def of_strangers(self, place: Moments) -> Predictions:
        """Strangers, predicted from the release."""
        return self._search("of strangers", self._people, self._release[place])

    @cached_property
    def _people(self) -> np.ndarray:
        assert self.strangers is not None
        return self._as_they_are(self.strangers, self._chosen)

    @cached_property
    def _chosen(self) -> np.ndarray:
        """The strangers who are looked at."""
        return drawn(self.others, self._sample, stream(0, 0, "prediction/strangers"))

    def _search(
        self,
        what: str,
        people: np.ndarray,
        points: np.ndarray,
        some: np.ndarray | None = None,
        k: int = 0,
    ) -> Predictions:
        key = what, id(points)  # alive as long as this is
        if key not in self._searched:
            points = points if some is None else points[some]
            self._searched[key] = self._compared.search(people, points, k or self.k)
        return self._searched[key]

    @property
    def facts(self) -> dict[str, Any]:
        """What a measurement says of the space and of the records."""
        said: dict[str, Any] = {
            "k": self.k,
            "columns": list(self.encoding.names),
            **self.encoding.said,
            "records": self.records,
            "released_records": self.released,
        }
        if self.left_out:
            said["left_out"] = self.left_out
        said |= self._compared.said
        if self.unknown:
            said["released_but_not_compared"] = self.unknown
        if self.rows.size < self.records:
            said["sample"] = int(self.rows.size)
        if self.others:
            said["reference_records"] = self.others
        return said


_memo: WeakKeyDictionary[Pair, dict[tuple[Any, ...], Predicted]] = WeakKeyDictionary()


def columns_compared(
    pair: Pair, reference: Table | None, named: tuple[str, ...]
) -> tuple[list[str], dict[str, str]]:
    """The columns that all tables have and that have distances, and why others are left out."""
    before = pair.original.schema
    tables = {"original": before, "masked": pair.masked.schema}
    if reference is not None:
        tables["reference"] = reference.schema
    wanted = list(named) or [column.name for column in before if column.role in ROLES]
    left_out = {}
    for name in wanted:
        absent = [side for side, schema in tables.items() if name not in schema]
        if absent:
            left_out[name] = f"is not in the {absent[0]} table"
        elif why := _without_distance(pair.original, before[name], bool(named)):
            left_out[name] = why
        if name in left_out and named:
            raise MeasureError(
                f"column {name!r} {left_out[name]}", remedy="leave it out of `columns`"
            )
    names = [name for name in wanted if name not in left_out]
    if not names:
        raise MeasureError(
            "no column of both tables has distances", remedy="name columns that do in `columns`"
        )
    return names, left_out


def _without_distance(table: Table, column: Column, named: bool) -> str:
    if column.kind in (Kind.SET, Kind.TEXT) and not column.generalized:
        return f"is {column.kind} and has no distances"
    nominal = column.kind == Kind.NOMINAL or column.generalized
    if nominal and not named and table[column.name].drop_nulls().n_unique() > MOST_CATEGORIES:
        return f"has more than {MOST_CATEGORIES} categories"
    return ""


def _known(given: tuple[str, ...], names: Sequence[str], of: str = "log") -> tuple[str, ...]:
    for name in given:
        if name not in names:
            raise MeasureError(
                f"column {name!r} of `{of}` is not among those compared",
                remedy=f"leave it out of `{of}`",
            )
    return given
