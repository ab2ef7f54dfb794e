"""The matching attack: the nearest masked record of each original, and how sure it can be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from ..data.linkage.linked import (
    TOLERANCE,
    Credit,
    Known,
    about_interval,
    at_least_as_close,
    facts_of,
    own_rows,
)
from ..data.linkage.linking import KnownColumns, columns_to_link_by, drawn, require_reference
from ..data.pair import Pair
from ..data.points.encoding import Encoding, LogChoice
from ..data.points.placement import Placing, distinct, placements
from ..data.schema import Kind
from ..errors import MeasureError, MethodError
from ..kernels.neighbours.prediction import Predictions, predictions
from ..kernels.statistics.auc import auc_of_small
from ..kernels.statistics.scores import uniform_scores
from ..measurement import Depends
from ..protocols import Attack, Context, Measurement
from .linking import People, Targets, plain_match

FEWEST_TOLD = 10
"""Matches of either kind from which figures about them are published."""
FEWEST_LEARNT = 20
"""Matches of either kind that a classifier needs."""
_FOLDS = 5
_GUESS = "a masked record guessed at random"


class Matching(Attack):
    """Match each record to its nearest masked one, and tell the correct matches from the others.

    The intruder holds the original records and takes for each the nearest masked one, by the root
    mean square difference of standardized (log) numbers and of categories as -1 and +1. He
    standardizes masked numbers by their own middle and width or by the original's, whichever
    finds more (`detail["placement"]`). A record whose own is among t equally near ones counts 1/t:
    the figure is the empirical re-identification rate. A rate alone does not say what a match is
    worth, as an intruder must know which of his matches to believe. `detail["auc"]` says how well
    he can tell: the probability that a correct match has a smaller prediction distance, ambiguity
    or uncertainty than an incorrect one (0.5: it tells nothing; 1: he knows), and the same for a
    classifier that learns from all three, on records that it has not seen. The classifier is more
    than an intruder has, who knows of no match whether it is correct. Figures about fewer than ten
    matches are left out.

    `detail["naive"]` is the nearest match by standardized numbers and equal categories,
    `detail["control"]` how often a non-participant's nearest masked record is at least as close as
    a participant's own. `private` has the three measures of every record with whether its match,
    drawn from the nearest, is correct.

    >>> import sfumato as sf
    >>> original = sf.table({"x": [1.0, 2.0, 9.0], "y": [1.0, 5.0, 4.0]}, quasi=["x", "y"])
    >>> masked = sf.table({"x": [1.1, 1.4, 8.0], "y": [5.0, 1.0, 4.0]}, quasi=["x", "y"])
    >>> round(sf.measure("matching-attack", original, masked).value, 2)
    0.33
    """

    name: ClassVar[str] = "matching-attack"
    compares: ClassVar[str | None] = "records"
    decimals: ClassVar[int | None] = None
    depends: ClassVar[Depends | None] = "values"
    shown: ClassVar[tuple[str, ...]] = (
        "baseline",
        "coordinates",
    )
    paper: ClassVar[str] = (
        "Lasko (2007), Spectral anonymization of data, sections 2.1.1, 3.1 and 4.2, figure 4-4"
    )

    columns: KnownColumns = ()
    k: int = Field(5, ge=2, description="masked records that ambiguity and uncertainty look at")
    log: LogChoice = "auto"
    moments: Placing = Field(
        "worst",
        description="masked numbers are standardized by their own middle and width, by the "
        'original\'s, or both ways, of which the higher rate counts ("worst")',
    )
    thresholded: bool = Field(
        False, description="take numbers in place of two values as the nearer one of them"
    )
    sample: int = Field(
        50_000,
        ge=0,
        description="records to match, drawn at random where there are more; 0 matches all",
    )

    def measure(self, context: Context) -> Measurement:
        pair, rng = context.pair, context.rng
        own = own_rows(pair, self.name)
        names, left_out = _known(pair, self.columns)
        n, m = pair.original.height, pair.masked.height
        rows = drawn(n, self.sample, rng)
        try:
            encoding = Encoding.of(pair.original, names, log=self.log)
            placed = placements(encoding, pair.masked, self.moments, thresholded=self.thresholded)
        except MethodError as error:
            raise MeasureError(error.message, remedy=error.remedy) from error
        known = encoding.encode(pair.original)[rows]
        tried = {}
        for place in distinct(placed):
            found = predictions(known, placed[place], min(self.k, m))
            to_own = _to_own(known, placed[place], own[rows])
            credit = Credit.of(to_own <= found.distance**2 * (1 + TOLERANCE), found.ties)
            tried[place] = found, to_own, credit
        worst = max(tried, key=lambda place: tried[place][2].value)
        masked, (found, to_own, credit) = placed[worst], tried[worst]
        sampled = rows.size < n
        baseline = float((own >= 0).mean() / m)
        naive, naively = self._naive(context, rows, own, baseline)
        by_measure, private = _telling(found, credit.records, rng)
        detail: dict[str, Any] = {
            **facts_of(pair, own, left_out),
            "columns": names,
            **encoding.said,
            **naively,
            **by_measure,
            "interval": about_interval(sampled),
            "baseline": _GUESS,
            "placement": worst,
        }
        if sampled:
            detail["sample"] = int(rows.size)
        control = None
        if context.reference is not None:
            theirs = self._strangers(context, encoding, masked)
            control = at_least_as_close(theirs, to_own)
            detail["non_participants"] = int(theirs.size)
            detail["control_is"] = (
                "how often a non-participant's nearest record is at least as close as a "
                "participant's own"
            )
        per_record = np.full(n, np.nan)
        per_record[rows] = credit.records
        return self.outcome(
            credit.value,
            naive=naive,
            baseline=baseline,
            control=control,
            detail=detail,
            private=private | {"rows": rows},
            interval=credit.interval(sampled),
            per_record=per_record,
            per_record_of="original",
        )

    def _naive(
        self, context: Context, rows: np.ndarray, own: np.ndarray, baseline: float
    ) -> tuple[float, dict[str, str]]:
        """The plain match of the same records, where values can be compared at all."""
        pair = context.pair
        try:
            file = Known.of(pair, self.columns)
        except MeasureError:
            # Labels: whoever does not read them can only guess.
            return baseline, {"naive_is": _GUESS}
        targets = Targets(file, People.of(file, pair.original, rows), own[rows])
        return plain_match(targets).value, {}

    def _strangers(self, context: Context, encoding: Encoding, masked: np.ndarray) -> np.ndarray:
        """The squared distances of non-participants to their nearest masked records."""
        reference = context.reference
        assert reference is not None
        require_reference(reference, encoding.names)
        others = drawn(reference.height, self.sample, context.rng)
        near = predictions(encoding.encode(reference)[others], masked, 1).distance
        return near**2


def _known(pair: Pair, named: tuple[str, ...]) -> tuple[list[str], dict[str, str]]:
    """The columns to match by, and why others are left out."""
    names, left_out = columns_to_link_by(pair, named)
    for name in [] if named else names:
        column = pair.original.schema[name]
        if column.kind in (Kind.SET, Kind.TEXT) and not column.generalized:
            left_out[name] = f"is {column.kind} and has no distances"
    names = [name for name in names if name not in left_out]
    if not names:
        raise MeasureError(
            "no quasi-identifier has distances", remedy="name columns that do in `columns`"
        )
    return names, left_out


def _to_own(known: np.ndarray, masked: np.ndarray, own: np.ndarray) -> np.ndarray:
    """The squared distance (3.1) of each target to its own record; infinite where it has none."""
    far = np.full(own.size, np.inf)
    has = own >= 0
    far[has] = ((known[has] - masked[own[has]]) ** 2).mean(axis=1)
    return far


def _telling(
    found: Predictions, share: np.ndarray, rng: np.random.Generator
) -> tuple[dict[str, Any], dict[str, Any]]:
    """How well the three measures tell correct matches from others: for all, and in private."""
    measures = {
        "distance": found.distance,
        "ambiguity": found.ambiguity,
        "uncertainty": found.uncertainty,
    }
    correct, wrong = float(share.sum()), float((1 - share).sum())
    auc = {name: auc_of_small(values, share) for name, values in measures.items()}
    if min(correct, wrong) >= FEWEST_LEARNT:
        auc["all three"] = _learnt(list(measures.values()), share, rng)
    private: dict[str, Any] = {
        **measures,
        "correct": rng.random(share.size) < share,
        "share": share,
        "auc": {name: value for name, value in auc.items() if not np.isnan(value)},
    }
    if min(correct, wrong) < FEWEST_TOLD:
        return {"correct": "nearly all" if correct > wrong else "nearly none"}, private
    by_measure = {
        "correct": int(round(correct, -1)),
        "incorrect": int(round(wrong, -1)),
        "auc": {name: round(value, 2) for name, value in auc.items() if not np.isnan(value)},
    }
    return by_measure, private


def _learnt(measures: Sequence[np.ndarray], share: np.ndarray, rng: np.random.Generator) -> float:
    """The AUC of a logistic regression on the ranks of all measures, their squares and products,
    for records that it was not trained on. Boosted trees tell no more of three measures, and need
    more matches for it."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures, StandardScaler

    x = np.column_stack([uniform_scores(values) for values in measures]) - 0.5
    fold = _folds(share > 0, rng)
    won, pairs = 0.0, 0.0
    for part in range(_FOLDS):
        train, test = fold != part, fold == part
        # A match among ties is correct in part: it counts twice, by its shares.
        weight = np.concatenate([share[train], 1 - share[train]])
        kind = np.repeat([1, 0], int(train.sum()))
        model = make_pipeline(
            PolynomialFeatures(2, include_bias=False),
            StandardScaler(),
            LogisticRegression(max_iter=1000),
        )
        model.fit(np.tile(x[train], (2, 1)), kind, logisticregression__sample_weight=weight)
        # Scores of different models are not compared with each other.
        weighed = float(share[test].sum()) * float((1 - share[test]).sum())
        if weighed:
            won += weighed * auc_of_small(-model.decision_function(x[test]), share[test])
            pairs += weighed
    return won / pairs if pairs else float("nan")


def _folds(kind: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A fold for each record at random, with even parts of both kinds."""
    fold = np.empty(kind.size, dtype=np.int64)
    for rows in (np.flatnonzero(kind), np.flatnonzero(~kind)):
        fold[rng.permutation(rows)] = np.arange(rows.size) % _FOLDS
    return fold
