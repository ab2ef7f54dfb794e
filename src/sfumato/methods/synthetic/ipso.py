"""Information preserving statistical obfuscation: regressions that come out the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from ...data.codec import Matrix, encode, floats
from ...data.schema import NUMERIC, ORDERED, Column, Kind, Role
from ...data.table import Table
from ...errors import MethodError
from ...kernels.synthesis.frames import factors, frame, off, span, spread_of, strata_of
from ...protocols import Method, Outcome
from ..numeric.base import refuse, with_numbers

Variant = Literal["A", "B", "C", "fitted"]

_FREE = 2
"""Degrees of freedom that residuals need: with one they can only keep or change their sign."""
_RARE = 5
"""Categories with fewer records share one coefficient: alone, a record would be its own mean."""
_MOST_CATEGORIES = 200
_HIGH = 0.9
"""Leverage from which a value hardly changes."""
_EXPLAINED = 0.99
"""Share of explained variance from which the values of a column hardly change."""


class Ipso(Method):
    """Replace quasi-identifiers by draws that keep their regression on the other columns.

    Y, the columns to mask, is regressed on X, the columns `given`, with an intercept; X stays as it
    is. y' is the fitted value plus a drawn residual:

    - A: residuals from N(0, S), S the residual covariance with the divisor n - q for q
      coefficients, so that an analyst who fits the model to y' finds the original coefficients and
      residual covariance on average. (The paper's maximum likelihood divisor n would make the
      covariance too small by q/n.)
    - B: the same less their regression on X, so that she finds exactly the original coefficients.
    - C: further turned and stretched so that the residual covariance is exactly the original's too.
      Means and all covariances within Y and between Y and X are then exact.
    - fitted: no residual at all. Torra's slides call this IPSO-A, and their figures are its; the
      masked columns then depend on X exactly, and correlate with it too much.

    Columns that depend on one another still do. Categories given are indicators, those with fewer
    than five records together, and a missing category is one more. Records that miss the same
    numbers are a stratum with a regression of its own, so that what B and C promise holds in each
    and in all; a missing value stays missing, and where a stratum has fewer than two degrees of
    freedom its values are suppressed.

    What X explains it also discloses: where X determines Y, or a record is far out in X (leverage
    near one), y' is close to y. Warnings say so.
    """

    name: ClassVar[str] = "ipso"
    paper: ClassVar[str] = (
        "Burridge 2003, Information preserving statistical obfuscation, Statistics and Computing 13"
    )
    kinds: ClassVar[tuple[str, ...]] = (Kind.CONTINUOUS, Kind.INTEGER)
    perturbs: ClassVar[bool | None] = True

    variant: Variant = Field(
        "C",
        description="A: drawn; B: exact regression coefficients; "
        "C: exact coefficients and residual covariance; fitted: nothing is drawn",
    )
    given: tuple[str, ...] = Field(
        (),
        description="columns X that are kept and regressed on; the confidential ones unless "
        "given, else all other numbers",
    )
    whole: bool = Field(
        False, description="round integer columns to whole numbers: what is exact is then nearly so"
    )

    def mask(self, table: Table, rng: np.random.Generator) -> Outcome:
        chosen, left = self.targets(table)
        given = self._given(table, chosen)
        y = Matrix(table, chosen).numeric
        if np.isnan(y).all():
            raise MethodError(
                f"ipso found no value in {', '.join(chosen)}", remedy="name other columns"
            )
        x, categories = _regressors(table, given)
        both = np.column_stack([y, x])
        missing = np.isnan(both)
        with np.errstate(over="ignore", invalid="ignore"):
            sums = np.where(missing, 0.0, both).sum(axis=0)
        numbers = [name for name in given if _has_numbers(table.schema[name])]
        refuse(self, ~np.isfinite(sums), [*chosen, *numbers])
        found = _Found(np.full(y.shape, np.nan), np.zeros(y.shape, dtype=bool))
        with np.errstate(over="ignore", invalid="ignore"):
            for stratum in strata_of(missing):
                masked = stratum.present[stratum.present < y.shape[1]]
                if not masked.size:
                    continue
                known = stratum.present[stratum.present >= y.shape[1]] - y.shape[1]
                design = _design(x[np.ix_(stratum.rows, known)], categories[stratum.rows])
                self._draw(found, y, stratum.rows, masked, design, rng)
        if not found.strata:
            raise MethodError(
                f"ipso needs two records more than it has coefficients, not {table.height} records",
                remedy="name fewer columns in `given`, or use another method",
            )
        refuse(self, ~np.isfinite(found.y) & ~np.isnan(y) & ~found.gone, chosen)
        out = with_numbers(table, chosen, found.y, whole=self.whole)
        marks = {
            name: found.gone[:, j] | table.suppressed(name)
            for j, name in enumerate(chosen)
            if found.gone[:, j].any()
        }
        facts, warnings = found.described(chosen, self.variant)
        facts = {"columns": chosen, "variant": self.variant, "given": given, **facts}
        warnings += [f"{name} was left alone: it is not a number" for name in left]
        return Outcome(out.with_columns([], [], marks), facts=facts, warnings=tuple(warnings))

    def _given(self, table: Table, chosen: Sequence[str]) -> list[str]:
        for name in self.given:
            column = table.schema[name]
            if name in chosen:
                raise MethodError(
                    f"ipso cannot both keep and replace {name!r}",
                    remedy="name it in `columns` or in `given`",
                )
            if column.kind in (Kind.SET, Kind.TEXT) and not column.generalized:
                raise MethodError(
                    f"ipso cannot regress on column {name!r}, which is {column.kind}",
                    remedy="leave it out of `given`",
                )
        if self.given:
            return list(self.given)
        others = [c for c in table.schema if c.name not in chosen]
        usable = [c for c in others if c.generalized or c.kind not in (Kind.SET, Kind.TEXT)]
        confidential = [c.name for c in usable if c.role == Role.CONFIDENTIAL]
        aside = (Role.IDENTIFIER, Role.WEIGHT, Role.HOUSEHOLD)
        return confidential or [
            c.name
            for c in usable
            if c.kind in NUMERIC and not c.generalized and c.role not in aside
        ]

    def _draw(
        self,
        found: _Found,
        y: np.ndarray,
        rows: np.ndarray,
        masked: np.ndarray,
        design: np.ndarray,
        rng: np.random.Generator,
    ) -> None:
        """New values for the records of a stratum."""
        part = np.ix_(rows, masked)
        basis = span(design)
        free = rows.size - basis.shape[1]
        if free < _FREE:
            found.gone[part] = True
            return
        mean, scale = spread_of(y[part])
        centred = (y[part] - mean) / scale
        residuals = off(centred, basis)
        root = factors(residuals, np.ones(masked.size))
        if self.variant == "fitted":
            drawn = np.zeros((rows.size, root.rank))
        elif self.variant == "C":
            drawn = frame(rows.size, root.rank, basis, rng)
        else:
            drawn = rng.standard_normal((rows.size, root.rank)) / np.sqrt(free)
            if self.variant == "B":
                drawn = off(drawn, basis)
        found.y[part] = mean + (centred - residuals + drawn @ root.loadings) * scale
        found.strata += 1
        found.least_free = min(found.least_free, free)
        found.far += int(((basis**2).sum(axis=1) > _HIGH).sum())
        left = (residuals**2).sum(axis=0) / np.maximum((centred**2).sum(axis=0), 1e-300)
        varies = np.ptp(y[part], axis=0) > 0
        found.explained.update(masked[varies & (left < 1 - _EXPLAINED)].tolist())


@dataclass
class _Found:
    """What the strata give."""

    y: np.ndarray
    gone: np.ndarray
    strata: int = 0
    least_free: int = 2**62
    far: int = 0
    explained: set[int] = field(default_factory=set)

    def described(self, names: Sequence[str], variant: Variant) -> tuple[dict[str, Any], list[str]]:
        facts: dict[str, Any] = {"least degrees of freedom": self.least_free}
        warnings = []
        if self.strata > 1:
            facts["strata by what is missing"] = self.strata
        if self.gone.any():
            cells = {n: int(self.gone[:, j].sum()) for j, n in enumerate(names)}
            facts["suppressed cells"] = cells
            warnings.append(
                f"{int(self.gone.any(axis=1).sum()):,} records miss what few others miss: their "
                "values were suppressed, since a regression on so few would give them back"
            )
        if self.far and variant != "A":
            facts["records of high leverage"] = self.far
            warnings.append(
                f"{self.far:,} records are so far out in the columns given (leverage above "
                f"{_HIGH:g}) that exact coefficients leave their values nearly as they are"
            )
        if self.explained:
            close = ", ".join(names[j] for j in sorted(self.explained))
            warnings.append(
                f"{close}: the columns given explain nearly all of the variance, so that the drawn "
                "values are close to the original ones"
            )
        return facts, warnings


def _has_numbers(column: Column) -> bool:
    return not column.generalized and (column.kind in ORDERED or column.kind == Kind.BOOLEAN)


def _regressors(table: Table, given: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Numbers (NaN is missing), and codes of categories (0 is missing)."""
    numbers, codes = [], []
    for name in given:
        column, series = table.schema[name], table[name]
        if _has_numbers(column):
            values = floats(series, column)
            if np.isinf(values).any():
                raise MethodError(
                    f"column {name!r} is infinite in row {int(np.argmax(np.isinf(values))) + 1}",
                    remedy="make it missing, or leave it out of `given`",
                )
            numbers.append(values)
        else:
            found = encode(series)
            if len(found.domain) > _MOST_CATEGORIES:
                raise MethodError(
                    f"column {name!r} has {len(found.domain):,} categories, too many to regress on "
                    f"(at most {_MOST_CATEGORIES})",
                    remedy="recode it, or name other columns in `given`",
                )
            codes.append(found.codes.astype(np.int64))
    n = table.height
    return (
        np.column_stack(numbers) if numbers else np.empty((n, 0)),
        np.column_stack(codes) if codes else np.empty((n, 0), dtype=np.int64),
    )


def _design(x: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """The regressors of a stratum: a constant, standardized numbers, indicators of categories."""
    mean, scale = spread_of(x)
    parts = [np.ones((len(x), 1)), (x - mean) / scale]
    for j in range(codes.shape[1]):
        counts = np.bincount(codes[:, j])
        frequent = np.flatnonzero(counts >= _RARE)
        # Those that are rare, together, are the reference; where there are none, the last one is.
        if counts[frequent].sum() == len(x):
            frequent = frequent[:-1]
        parts.append((codes[:, [j]] == frequent).astype(np.float64))
    return np.concatenate(parts, axis=1)
