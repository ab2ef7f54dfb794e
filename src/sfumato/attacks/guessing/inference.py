"""Inference: guessing what somebody keeps to themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from pydantic import Field as Parameter
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from ...errors import MeasureError
from ...kernels.groups import group_modes
from ...progress import report
from ...protocols import Context
from ..controlled import ControlledAttack
from ..field import Field
from ..guesses import Margin, close, learnable, margin
from ..trial import Trial
from .columns import Columns, drawn
from .neighbours import Neighbours

CLASSES = 30
"""Values of a secret that trees tell apart: the most frequent ones."""
FEATURE = 250
"""Categories of a known column that trees tell apart."""


class Inference(ControlledAttack):
    """Guess a person's confidential value from the columns that are known of them.

    The intruder knows a person's columns (the quasi-identifiers, unless there are none) and has the
    release. Two learners, for each confidential column: the value most frequent among the released
    records equal to the nearest one (Gower's distance, ties at random), and gradient-boosted trees
    trained on the release. Where nothing is confidential, each known column is guessed from the
    others. A guess is right if it is the value; a number, within 5 % of the guess, but no more than
    a twentieth of the interquartile range of the released column; a date, within the latter;
    missing is a value. A label is guessed as the most probable of the values that it stands for, by
    the rest of the release, a range as its middle. The naive guess is the release's most frequent
    value, or the median of its numbers; nothing is learnt of a column that holds one value. The
    control: the same guesses for people who are not in the data, of whom as much is learnt as the
    distribution tells. It cannot show what other learners would find.
    """

    name: ClassVar[str] = "inference"
    slow: ClassVar[bool] = True
    guesses: ClassVar[bool] = True
    knows: ClassVar[str] = "a person's known columns, all but the one that is guessed"
    paper: ClassVar[str] = (
        "Giomi, Boenisch, Wehmeyer & Tasnádi 2023, A unified framework for quantifying privacy "
        "risk in synthetic data, PoPETs 2023(2)"
    )

    columns: tuple[str, ...] = Parameter(
        (), description="columns to guess; the confidential ones unless given, else all known"
    )
    training: int = Parameter(20_000, ge=100, description="released records that trees are shown")
    rounds: int = Parameter(20, ge=1, description="rounds of boosting")

    def trials(self, field: Field, context: Context) -> Sequence[Trial]:
        if not field.released:
            raise MeasureError("the release has no records", remedy="attack one that has")
        secrets = self._secrets(field)
        order = field.shuffled(context.rng)
        shown = order[: self.training]
        seed = int(context.rng.integers(2**31))
        found: list[Trial] = []
        learners: dict[tuple[int, ...], _Known] = {}
        for done, j in enumerate(secrets):
            known = tuple(k for k in field.known if k != j)
            if not known:
                continue
            if known not in learners:
                learners[known] = _Known.of(Columns.of(field, known), order, shown, context.rng)
            told, secret = learners[known], _Secret.of(field, j)
            best = secret.most_frequent(told.group, order)[told.group[told.nearest]]
            trees = secret.learnt(shown, told, self.rounds, seed)
            for how, guess in (("nearest record", best), ("boosted trees", trees)):
                found.append(_trial(f"{field.names[j]} by {how}", secret, guess, field))
            report("guessing", done + 1, len(secrets))
        if not found:
            raise MeasureError(
                "inference needs a column that is known, besides the one that is guessed",
                remedy="give another column the role quasi",
            )
        return found

    def _secrets(self, field: Field) -> list[int]:
        for name in self.columns:
            if name not in field.names:
                raise MeasureError(
                    f"column {name!r} is not among those that people and release have",
                    remedy=f"name some of {', '.join(field.names)}",
                )
        columns = [field.names.index(n) for n in self.columns] or field.secret or field.known
        return learnable(field, columns)


def _trial(what: str, secret: _Secret, guess: np.ndarray, field: Field) -> Trial:
    """How often guesses (places among the secret's values) were right."""
    n = field.inside.size
    right, easy = secret.right(guess), secret.right(np.full(guess.size, secret.common))
    return Trial(
        what,
        right[:n],
        right[n:],
        easy=(easy[:n], easy[n:]),
        example=lambda i: {"guess": secret.told(guess[i])},
        groups=None if secret.values is not None else (secret.truth[:n], secret.truth[n:]),
    )


class _Secret:
    """A column that is guessed: its released values in order, and the truth about the people.

    Values are places: numbers in `values`, categories by their bin; the last is missing.
    """

    def __init__(
        self,
        values: np.ndarray | None,
        cells: np.ndarray,
        truth: np.ndarray,
        gone: int,
        within: Margin,
    ) -> None:
        self.values, self.cells, self.truth, self.missing = values, cells, truth, gone
        self.within = within
        said = np.bincount(cells[cells >= 0], minlength=gone + 1)
        numbers = np.flatnonzero(said[:gone])
        self.common = int(np.argmax(said))
        if values is not None and numbers.size and said[gone] <= said.sum() / 2:
            half = np.cumsum(said[:gone])
            self.common = int(np.searchsorted(half, half[-1] / 2))

    @classmethod
    def of(cls, field: Field, j: int) -> _Secret:
        """Of a column of a field; cells that tell nothing are -1."""
        of = Columns.of(field, [j])
        if of.measured:
            middle = of.middle[:, 0]
            values = np.unique(middle[np.isfinite(middle)])
            cells = np.searchsorted(values, middle)
            cells[np.isnan(of.low[:, 0])] = values.size
            cells[np.isinf(of.low[:, 0])] = -1
            cells = cells.astype(np.int64)
            return cls(values, cells, of.numbers[:, 0], values.size, margin(field, j))
        bins = of.bins[0]
        place = np.arange(bins.count + bins.labels)
        if bins.labels:
            place = np.asarray(bins.spread.argmax(axis=1)).ravel()
        cells = np.where(of.hidden(0), -1, place[of.cells[:, 0]])
        return cls(None, cells.astype(np.int64), of.codes[:, 0], bins.count - 1, Margin(None, 0.0))

    def right(self, guess: np.ndarray) -> np.ndarray:
        """float64: whether each person's guess is right."""
        if self.values is None:
            # What no person was ever seen to have is not told apart.
            found = (guess == self.truth) & (guess != self.missing - 1)
            return np.asarray(found, dtype=np.float64)
        said = np.append(self.values, np.nan)[guess]
        return close(said, self.truth, self.within)

    def most_frequent(self, group: np.ndarray, order: np.ndarray) -> np.ndarray:
        """The most frequent value of each group of released records, of equals the one that comes
        first in the order; the common one where no record tells."""
        # Codes by first appearance in the order: the lowest of equals is the earliest.
        told = self.cells[order]
        values, at = np.unique(told, return_index=True)
        rank = np.empty(self.missing + 2, np.int64)
        rank[values] = np.argsort(np.argsort(at))
        codes = np.where(self.cells < 0, -1, rank[self.cells])
        mode = group_modes(group, codes)
        back = np.full(values.size + 1, self.common)
        back[rank[values]] = values
        found: np.ndarray = np.where(mode < 0, self.common, back[np.maximum(mode, 0)])
        return np.where(found < 0, self.common, found)

    def learnt(self, shown: np.ndarray, known: _Known, rounds: int, seed: int) -> np.ndarray:
        """What boosted trees guess of everybody, having been shown some released records."""
        from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

        told = self.cells[shown]
        values, count = np.unique(told[told >= 0], return_counts=True)
        values = np.sort(values[np.argsort(-count, kind="stable")[:CLASSES]])
        few = self.values is None or count.size <= CLASSES
        kept = np.isin(told, values) if few else (told >= 0) & (told < self.missing)
        x = known.shown[kept]
        tells = ~np.isnan(x).all(axis=0)
        x, people = x[:, tells], known.people[:, tells]
        if values.size < 2 or len(x) < 2 or not tells.any():
            return np.full(len(people), self.common)
        common: dict[str, Any] = {
            "max_iter": rounds,
            "learning_rate": 0.2,
            "early_stopping": False,
            "categorical_features": known.categorical[tells],
            "random_state": seed,
        }
        # Trees this small are grown sooner than threads agree on them.
        with threadpool_limits(1, "openmp"):
            if few:
                trees = HistGradientBoostingClassifier(**common).fit(x, told[kept])
                return np.asarray(trees.predict(people), dtype=np.int64)
            assert self.values is not None
            line = HistGradientBoostingRegressor(loss="absolute_error", **common)
            guess = line.fit(x, self.values[told[kept]]).predict(people)
        at = np.clip(np.searchsorted(self.values, guess), 1, self.values.size - 1)
        at -= guess - self.values[at - 1] < self.values[at] - guess
        return np.asarray(at, dtype=np.int64)

    def told(self, guess: int) -> Any:
        """A guess, for the owner."""
        if self.values is None or guess == self.missing:
            return "missing" if guess == self.missing else "as published"
        return float(self.values[guess])


class _Known(NamedTuple):
    """What is learnt of everybody from their known columns, whatever is guessed."""

    group: np.ndarray
    """of each released record, which of them are equal"""
    nearest: np.ndarray
    """the nearest released record of each of the people"""
    people: np.ndarray
    """float64 (people, columns), as trees take them"""
    shown: np.ndarray
    """float64 (records that trees are shown, columns)"""
    categorical: np.ndarray
    """bool: of the columns"""

    @classmethod
    def of(
        cls, of: Columns, order: np.ndarray, rows: np.ndarray, rng: np.random.Generator
    ) -> _Known:
        """Trees take numbers as they are, and categories by how frequent they are in the release;
        one is drawn from what a label stands for."""
        search = Neighbours(of, order)
        codes, cells = [], []
        for c, bins in enumerate(of.bins):
            exact = np.bincount(of.cells[:, c], minlength=bins.count)[: bins.count]
            rank = np.minimum(np.argsort(np.argsort(-exact, kind="stable")), FEATURE)
            shown = of.cells[rows, c].astype(np.int64)
            labels = np.flatnonzero(shown >= bins.count)
            shown[labels] = drawn(bins.spread, shown[labels], rng)
            codes.append(rank[of.codes[:, c]])
            cells.append(rank[shown])
        return cls(
            search.index.group,
            search.nearest(1)[:, 0],
            np.column_stack((of.numbers, *codes)).astype(np.float64),
            np.column_stack((of.middle[rows], *cells)).astype(np.float64),
            np.arange(of.measured + len(of.bins)) >= of.measured,
        )
