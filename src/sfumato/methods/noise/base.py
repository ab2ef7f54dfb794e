"""What all additive noise shares: drawing it in the data's own units, and taking it out again."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from pydantic import Field

from ...data.codec import Matrix
from ...data.schema import Kind, Schema
from ...data.table import Table
from ...errors import MethodError
from ...kernels.statistics.covariance import moments
from ...kernels.statistics.deconvolution import Distribution, density, in_order
from ...protocols import Outcome
from ..numeric.base import Masked, NumericMethod, OnNumbers
from .higher_moments import cumulants, of_cumulants
from .shape import Shape, shape_of, units

COARSE = (
    "noise small beside the range of the values: the grid of the distribution is wider than it, "
    "and the masked values show the distribution as well"
)


def also_said(notes: MutableMapping[str, str], name: str, words: str) -> None:
    """Add to what is said of a column."""
    notes[name] = f"{notes[name]}; {words}" if name in notes else words


class Published(NamedTuple):
    """The masked columns, their moments, and which of them were rounded."""

    names: list[str]
    x: np.ndarray
    mean: np.ndarray
    covariance: np.ndarray
    rounded: np.ndarray

    def named(self, which: np.ndarray) -> list[str]:
        """The names of some columns."""
        return [name for name, chosen in zip(self.names, which, strict=True) if chosen]

    def recovered(self, covariance: np.ndarray, notes: MutableMapping[str, str]) -> dict[str, Any]:
        """The masked means with a covariance from which the noise was taken, as plain values."""
        for name in self.named(np.diag(covariance) < 0):
            also_said(notes, name, "more noise than spread: a variance below zero")
        return {
            "mean": dict(zip(self.names, map(float, self.mean), strict=True)),
            "covariance": {
                name: dict(zip(self.names, map(float, row), strict=True))
                for name, row in zip(self.names, covariance, strict=True)
            },
        }

    def distributions(
        self, one: Distributed, notes: MutableMapping[str, str]
    ) -> dict[str, dict[str, Points]]:
        """The distribution of every column."""
        return {"distribution": {name: one(self, j, notes) for j, name in enumerate(self.names)}}

    def distribution(
        self,
        j: int,
        noise: Distribution,
        deviation: float,
        back: Callable[[np.ndarray], np.ndarray],
        notes: MutableMapping[str, str],
    ) -> Points:
        """The deconvolved distribution of a column, and a note where its grid is too coarse."""
        values = self.x[:, j]
        values = values[~np.isnan(values)]
        if not values.size:
            return {"at": [], "probability": []}
        found = density(values, noise, deviation, whole=bool(self.rounded[j]), back=back)
        if found.coarse:
            also_said(notes, self.names[j], COARSE)
        return {"at": found.at.tolist(), "probability": found.probability.tolist()}


Points = dict[str, list[float]]
"""A distribution: "at" these values, rising, with this "probability"."""
Distributed = Callable[[Published, int, MutableMapping[str, str]], Points]
"""The distribution of a column in any part of the published records, and what is said of it."""
Undone = tuple[Published, Distributed]


class Known(NamedTuple):
    """What a release and its facts tell of the noise that was added to it."""

    published: Published
    covariance: np.ndarray
    """Of the original."""
    deviation: np.ndarray
    """Of the noise, as it is published."""
    pull: float
    amount: np.ndarray
    corrected: np.ndarray
    """Columns whose rounding to whole numbers was corrected for."""


def published(table: Table, facts: Mapping[str, Any]) -> Published:
    """The columns that the facts name, as numbers."""
    names = list(facts["columns"])
    matrix = Matrix(table, names)
    for name, numeric in zip(names, matrix.is_numeric, strict=True):
        if not numeric:
            raise MethodError(
                f"column {name!r} holds {table.schema[name].kind} values, and its noise was that "
                "of numbers",
                remedy="recover from the table as it was published",
            )
    x = matrix.numeric
    unit = units(x)
    mean, covariance = moments(x / unit)
    with np.errstate(over="ignore"):
        covariance = covariance * np.outer(unit, unit)
    if not np.isfinite(covariance).all():
        j = int(np.argwhere(~np.isfinite(covariance))[0][0])
        raise MethodError(
            f"the values of column {names[j]!r} are too large to square",
            remedy="rescale the column",
        )
    rounded = np.isin(names, list(facts.get("rounded", ())))
    return Published(names, x, mean * unit, covariance, rounded)


SMALL_BESIDE_ROUNDING = 0.5
"""Below this deviation the noise of whole numbers is not much changed by adding 1/12 to its
variance (Sheppard's correction errs by more than 0.01)."""


class Noise(NamedTuple):
    """Noise in units of the columns' deviations."""

    values: np.ndarray
    amount: float | np.ndarray
    """Its variance, relative to the data's; one for each column where they differ."""
    facts: Mapping[str, Any] = {}
    warnings: tuple[str, ...] = ()


def unchanged(before: Table, after: Table, names: Sequence[str]) -> tuple[str, ...]:
    """Words about columns of which more than half is published as it was: those that are constant,
    and whole numbers whose noise rounds away."""
    return tuple(w for name in names for w in said_of(name, *kept_cells(before, after, name)))


def kept_cells(before: Table, after: Table, name: str) -> tuple[int, int]:
    """How many values of a column are as they were, and how many there are."""
    kept = (before[name] == after[name]).drop_nulls()
    return int(kept.sum()), len(kept)


def said_of(name: str, same: int, present: int) -> tuple[str, ...]:
    """Words about a column that has so many values as they were."""
    if same and same == present:
        return (f"{name} was left as it is: there is nothing to vary it by",)
    return (f"{name}: more than half of its values are unchanged",) if 2 * same > present else ()


class NoiseMethod(OnNumbers):
    """A method whose noise leaves something alone, which must be said."""

    def rounded(self, schema: Schema, names: Sequence[str]) -> list[str]:
        """The columns that hold whole numbers still."""
        return [name for name in names if self.whole and schema[name].kind == Kind.INTEGER]

    @abstractmethod
    def distribution_of(self, table: Table, facts: Mapping[str, Any]) -> Undone:
        """The published records, and how a column is distributed in any part of them."""

    def by_group(
        self, table: Table, facts: Mapping[str, Any], group: np.ndarray
    ) -> dict[str, np.ndarray]:
        """The masked columns as each group's own distribution has them, its values in the order of
        the noisy ones (Agrawal & Srikant 2000, by class); groups are 0, 1, ..., and -1 none."""
        found, distribution = self.distribution_of(table, facts)
        made = found.x.copy()
        for one in range(int(group.max(initial=-1)) + 1):
            rows = np.flatnonzero(group == one)
            part = found._replace(x=found.x[rows])
            for j in range(len(found.names)):
                made[rows, j] = in_order(part.x[:, j], **distribution(part, j, {}))
        return dict(zip(found.names, made.T, strict=True))


class FromStream(NoiseMethod, NumericMethod):
    """Noise that is drawn for all records together."""

    drawn_anew: ClassVar[bool] = True

    def mask(self, table: Table, rng: np.random.Generator) -> Outcome:
        made = super().mask(table, rng)
        names = made.facts["columns"]
        told = unchanged(table, made.table, names)
        facts = {**made.facts, "rounded": self.rounded(table.schema, names)}
        return Outcome(made.table, facts=facts, warnings=(*made.warnings, *told))


class AdditiveNoise(NoiseMethod):
    """x' = x + e, where the mean of e is zero and its variance `amount` times that of x."""

    recovers: ClassVar[tuple[str, ...]] = ("mean", "covariance")
    correlated: ClassVar[bool] = True
    """Whether the noise has the correlations of the data, and not only their variances."""

    amount: float = Field(
        0.1, gt=0, le=10, description="b: variance of the noise relative to the data's"
    )

    def noise_facts(self, amount: float | np.ndarray) -> dict[str, Any]:
        """What everybody is told of the noise."""
        return {"relative_variance": amount.tolist() if isinstance(amount, np.ndarray) else amount}

    def mended(self, shape: Shape) -> tuple[str, ...]:
        """Words about correlations that had to be mended, where the noise has them."""
        if not (shape.repaired and self.correlated):
            return ()
        return (
            "the correlations of the values that are present fit no data, because of the "
            "missing ones: the noise has the nearest that do",
        )

    def pull(self, amount: float | np.ndarray) -> float:
        """What distances from the mean were divided by after the noise was added."""
        return 1.0

    def recover(self, table: Table, facts: Mapping[str, Any]) -> Mapping[str, Any]:
        """Means, covariances and, where the noise of a column has a known distribution, the
        columns' higher moments and distributions, from the masked table."""
        notes: dict[str, str] = {}
        known = self._known(table, facts, notes)
        back = known.published.recovered(known.covariance, notes)
        if "moments" in self.recovers:
            back["moments"] = self._higher(known, facts)
        if "distribution" in self.recovers:
            back |= known.published.distributions(self._distribution(known), notes)
        return back | ({"notes": notes} if notes else {})

    def distribution_of(self, table: Table, facts: Mapping[str, Any]) -> Undone:
        known = self._known(table, facts, {})
        return known.published, self._distribution(known)

    def fourth(self, covariance: np.ndarray, facts: Mapping[str, Any]) -> np.ndarray:
        """The fourth cumulant of each column's noise, for data of that covariance; zero if normal.
        The third is zero for all of them, since noise is as likely below zero as above."""
        return np.zeros(len(covariance))

    def _known(
        self, table: Table, facts: Mapping[str, Any], notes: MutableMapping[str, str]
    ) -> Known:
        found = published(table, facts)
        amount = np.asarray(facts["relative_variance"], dtype=np.float64)
        pull = self.pull(amount)
        covariance = self._without_noise(found.covariance, amount, pull)
        # Rounding to whole numbers adds 1/12 to a variance (Sheppard).
        rounding = np.where(found.rounded, 1 / 12, 0.0)
        corrected = self._without_noise(found.covariance - np.diag(rounding), amount, pull)
        deviation = np.sqrt(np.clip(amount * np.diag(corrected), 0.0, None)) / pull
        small = found.rounded & (deviation < SMALL_BESIDE_ROUNDING)
        np.fill_diagonal(covariance, np.where(small, np.diag(covariance), np.diag(corrected)))
        for name in found.named(small):
            also_said(
                notes, name, "noise small beside whole numbers: rounding is not corrected for"
            )
        return Known(found, covariance, deviation, pull, amount, found.rounded & ~small)

    def _higher(self, known: Known, facts: Mapping[str, Any]) -> dict[str, dict[str, float]]:
        fourth = self.fourth(known.covariance, facts)
        variance = np.diag(known.covariance)
        return {
            name: of_cumulants(
                *cumulants(known.published.x[:, j], known.pull, bool(known.corrected[j])),
                float(variance[j]),
                float(fourth[j]),
            )
            for j, name in enumerate(known.published.names)
        }

    def _distribution(self, known: Known) -> Distributed:
        marginal = self.marginals(known.covariance, float(known.amount))

        def one(part: Published, j: int, notes: MutableMapping[str, str]) -> Points:
            undo = self._undo(known.published, j, known.pull)
            return part.distribution(j, marginal[j], float(known.deviation[j]), undo, notes)

        return one

    def marginals(self, covariance: np.ndarray, amount: float) -> list[Callable[..., np.ndarray]]:
        """The distribution function of each column's noise, for data of that covariance."""
        raise MethodError(
            f"{self.name} recovers no distributions, only {' and '.join(self.recovers)}",
            remedy="mask with uncorrelated-noise, correlated-noise or coloured-mixture-noise",
        )

    def _without_noise(self, covariance: np.ndarray, amount: np.ndarray, pull: float) -> np.ndarray:
        grown: np.ndarray = covariance * pull**2
        noise: np.ndarray = grown if self.correlated else np.diag(np.diag(grown))
        # By columns: on the diagonal each has its own share, and elsewhere there is but one.
        found: np.ndarray = grown - noise * (amount / (1 + amount))
        return found

    def _undo(self, found: Published, j: int, pull: float) -> Callable[[np.ndarray], np.ndarray]:
        mean = found.mean[j]
        return lambda y: mean + (y - mean) * pull


class RestoredNoise(AdditiveNoise):
    """Additive noise that has the data's covariance, so that one factor restores it."""

    restore: bool = Field(
        True, description="pull back so that means and covariances are kept in expectation"
    )

    def pull(self, amount: float | np.ndarray) -> float:
        return float(np.sqrt(1.0 + amount)) if self.restore else 1.0

    def noise_facts(self, amount: float | np.ndarray) -> dict[str, Any]:
        return {**super().noise_facts(amount), "restored": self.restore}


class StreamedNoise(AdditiveNoise, FromStream):
    """Additive noise that is drawn for all records together."""

    @abstractmethod
    def noise(self, z: np.ndarray, shape: Shape, rng: np.random.Generator) -> Noise:
        """Noise for the records, of which z are the z-scores (NaN is missing)."""

    def masked(self, x: np.ndarray, rng: np.random.Generator) -> Masked:
        shape = shape_of(x)
        drawn = self.noise(shape.standardized(x), shape, rng)
        made = x / shape.unit + drawn.values * shape.deviation
        pull = self.pull(drawn.amount)
        if pull != 1.0:
            made = shape.mean + (made - shape.mean) / pull
        facts = {**self.noise_facts(drawn.amount), **drawn.facts}
        with np.errstate(over="ignore"):
            return Masked(made * shape.unit, facts, (*drawn.warnings, *self.mended(shape)))
