"""What all additive noise shares: drawing it in the data's own units, and taking it out again."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from pydantic import Field

from ...data.schema import Kind
from ...data.table import Table
from ...errors import MethodError
from ...protocols import Outcome
from ..numeric.base import Masked, NumericMethod
from .recovery import Published, published
from .shape import Shape, shape_of

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
    told = []
    for name in names:
        kept = (before[name] == after[name]).drop_nulls()
        same = int(kept.sum())
        if same and same == len(kept):
            told.append(f"{name} was left as it is: there is nothing to vary it by")
        elif 2 * same > len(kept):
            told.append(f"{name}: more than half of its values are unchanged")
    return tuple(told)


class NoiseMethod(NumericMethod):
    """A method whose noise leaves something alone, which must be said."""

    def mask(self, table: Table, rng: np.random.Generator) -> Outcome:
        made = super().mask(table, rng)
        names = made.facts["columns"]
        rounded = [name for name in names if self.whole and table.schema[name].kind == Kind.INTEGER]
        told = unchanged(table, made.table, names)
        facts = {**made.facts, "rounded": rounded}
        return Outcome(made.table, facts=facts, warnings=(*made.warnings, *told))


class AdditiveNoise(NoiseMethod):
    """x' = x + e, where the mean of e is zero and its variance `amount` times that of x."""

    recovers: ClassVar[tuple[str, ...]] = ("mean", "covariance")
    correlated: ClassVar[bool] = True
    """Whether the noise has the correlations of the data, and not only their variances."""

    amount: float = Field(
        0.1, gt=0, le=10, description="b: variance of the noise relative to the data's"
    )

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
        warnings = drawn.warnings
        if shape.repaired and self.correlated:
            warnings += (
                "the correlations of the values that are present fit no data, because of the "
                "missing ones: the noise has the nearest that do",
            )
        told = drawn.amount.tolist() if isinstance(drawn.amount, np.ndarray) else drawn.amount
        facts = {"relative_variance": told, **drawn.facts}
        with np.errstate(over="ignore"):
            return Masked(made * shape.unit, facts, warnings)

    def pull(self, amount: float | np.ndarray) -> float:
        """What distances from the mean were divided by after the noise was added."""
        return 1.0

    def recover(self, table: Table, facts: Mapping[str, Any]) -> Mapping[str, Any]:
        """Means, covariances and, where the noise of a column has a known distribution, the
        columns' distributions, from the masked table."""
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
        notes = dict.fromkeys(
            found.named(small), "noise small beside whole numbers: rounding is not corrected for"
        )
        if "distribution" not in self.recovers:
            return found.recovered(covariance, notes)
        marginal = self.marginals(covariance, float(amount))
        distribution = {
            name: found.distribution(
                j, marginal[j], float(deviation[j]), self._undo(found, j, pull), notes
            )
            for j, name in enumerate(found.names)
        }
        return {**found.recovered(covariance, notes), "distribution": distribution}

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
        left: np.ndarray = grown - noise * (amount / (1 + amount))
        return left

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

    def masked(self, x: np.ndarray, rng: np.random.Generator) -> Masked:
        made = super().masked(x, rng)
        return made._replace(facts={**made.facts, "restored": self.restore})
