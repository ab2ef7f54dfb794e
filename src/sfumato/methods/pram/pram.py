"""Post-randomization (PRAM): categories change by chance, with probabilities that are published."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
import polars as pl
from pydantic import Field, model_validator

from ...data.encoding import value_bits
from ...data.schema import Kind
from ...data.table import Table
from ...engines.relation import Part as Masked
from ...engines.relation import Relation, Tally
from ...engines.spread import Spread, Told
from ...engines.values import Combinations
from ...errors import MethodError
from ...kernels.draws import Draws
from ...kernels.masking.pram import Floats, destinations, diluted, share_changed, two_stage
from ...rng import Key
from .matrices import (
    Made,
    Part,
    Sampler,
    Transitions,
    check_size,
    given,
    left_alone,
    parts_of,
    unchanged,
)
from .recovery import frequencies
from .units import Unit, compound, single, strata_of, words_of

_SLACK = 1e-6
"""How far the probabilities of a given row may be from 1 in all; they are divided by their sum."""
_STAY = 0.8
_ROUNDING = 1 + 1e-9


class Learned(NamedTuple):
    """A unit, the strata it occurs in, and their matrices."""

    unit: Unit
    parts: list[Part]
    matrices: list[Made]
    sampler: Sampler


class Known(NamedTuple):
    """What is changed, and how."""

    columns: tuple[str, ...]
    strata: Combinations
    units: tuple[Learned, ...]
    warnings: tuple[str, ...]


def _records(parts: list[Part]) -> int:
    return sum(int(part.counts.sum()) for part in parts)


class Pram(Spread):
    """Change categories at random by a published Markov matrix (PRAM).

    A value i becomes j with probability P[i, j], each record on its own. The matrix is given, or
    estimated from the transitions between two columns, or made: (1 - w) I + w D, where D says what
    becomes of a value that is not left alone (`form`) and w follows from the lowest probability to
    stay (`stay`) or from the share of values to change (`change`). The default form is invariant:
    frequencies P = frequencies, so that the released frequencies are unbiased as they stand. Any
    other matrix R is made so by `two_stage`: R, then its Bayesian reverse, R*[j, i] = f_i R[i, j] /
    sum_l f_l R[l, j]; (1 - alpha) I + alpha R R* is the matrix that sdcMicro applies, whose pd is
    `stay` (it draws the diagonal of R at random above pd; here R has pd as its lowest entry).

    With `strata` each stratum has a matrix of its own over the categories that occur in it, so that
    no combination with the strata appears that the data do not have, and an invariant form keeps
    the frequencies within strata. With `together` the columns are one compound column, whose
    combinations are those that occur. A missing value stays missing unless it is made a category; a
    suppressed cell always stays.

    `recover` frees frequencies from any invertible matrix: (P^T)^-1 times the released counts, with
    covariance. Analysts need the matrix, so it is published, with the categories. But a matrix that
    is made from frequencies gives them away, to the last record. So one of an invariant or
    proportional form, a two-stage or an estimated one is published only if every count behind it
    (of a category in its stratum, of a combination, of an observed transition) is at least `least`;
    else it stays private and the frequencies behind it cannot be recovered. An invariant form needs
    no recovery; a uniform, nearest or given matrix does not depend on counts and is published, in
    strata of at least `least` records. A stratum with a single category is never told of. How many
    values were changed in fact stays private too: of few, it would say which.
    """

    name: ClassVar[str] = "pram"
    aliases: ClassVar[tuple[str, ...]] = ("post-randomization",)
    paper: ClassVar[str] = (
        "Gouweleeuw, Kooiman, Willenborg & de Wolf 1998, Post randomisation for statistical "
        "disclosure control: theory and implementation, Journal of Official Statistics 14(4)"
    )
    roles: ClassVar[tuple[str, ...]] = ("quasi", "confidential")
    kinds: ClassVar[tuple[str, ...]] = (Kind.NOMINAL, Kind.ORDINAL, Kind.BOOLEAN)
    perturbs: ClassVar[bool | None] = True
    recovers: ClassVar[tuple[str, ...]] = ("frequencies",)

    form: Literal["invariant", "uniform", "proportional", "nearest"] = Field(
        "invariant",
        description="what a changed value becomes: drawn anew by the frequencies (invariant), "
        "any other alike, another by its frequency, or a neighbour in an ordinal column",
    )
    stay: float | None = Field(
        None,
        gt=0,
        lt=1,
        description="lowest probability to stay, that of the first matrix with two_stage; 0.8 "
        "for a form unless change is given",
    )
    change: float | None = Field(
        None, gt=0, le=1, description="share of values expected to change; replaces stay"
    )
    two_stage: bool = Field(
        False, description="follow the matrix by its Bayesian reverse: keeps frequencies"
    )
    alpha: float | None = Field(
        None, gt=0, le=1, description="weight of the two-stage matrix beside staying; all if none"
    )
    matrix: dict[str, dict[str, dict[str, Annotated[float, Field(ge=0, le=1)]]]] = Field(
        default_factory=dict,
        description="given probabilities: column, then from, then to; replaces form",
    )
    estimated: dict[str, str] = Field(
        default_factory=dict,
        description="column, and the one whose values it turns into: the matrix is their "
        "observed transitions; replaces form",
    )
    strata: tuple[str, ...] = Field(
        (), description="columns whose combinations have matrices of their own"
    )
    together: bool = Field(False, description="change the columns as one compound column")
    missing: Literal["stay", "category"] = Field(
        "stay", description="whether missing is a category like others"
    )
    least: int = Field(
        10,
        ge=1,
        description="smallest count that a published matrix may tell; one that rests on fewer "
        "records of a category, combination or transition stays private",
    )

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.matrix and self.estimated:
            raise ValueError("give matrix or estimated, not both")
        if self.together and (self.matrix or self.estimated or self.form == "nearest"):
            raise ValueError("together makes its own matrix: form invariant, uniform, proportional")
        if self.matrix and (self.stay or (self.change and not self.two_stage)):
            raise ValueError("a given matrix says itself how much changes: drop stay and change")
        if self.matrix and self.strata and not self.two_stage:
            raise ValueError("a given matrix is the same in all strata: drop strata")
        if self.alpha and not self.two_stage:
            raise ValueError("alpha belongs to two_stage")
        if self.change and self.stay and not self.two_stage:
            raise ValueError("give stay or change, not both")
        if self.alpha and self.change:
            raise ValueError("give alpha or change, not both")
        for column, rows in self.matrix.items():
            for category, row in rows.items():
                total = math.fsum(row.values())
                if abs(total - 1.0) > _SLACK:
                    raise ValueError(
                        f"the probabilities of {column}, {category!r} add up to {total:.6g}, not 1"
                    )
        return self

    def named(self) -> tuple[str, ...]:
        return tuple(self.matrix) or tuple(self.estimated) or self.columns

    def targets(self, table: Table) -> tuple[list[str], list[str]]:
        own = self.named()
        if self.columns and set(self.columns) != set(own):
            raise MethodError(
                "pram has matrices for other columns than those it is to act on",
                remedy=f"drop columns, or name {', '.join(own)}",
            )
        return super().targets(table)

    def suits(self, table: Table, name: str) -> bool:
        if self.form == "nearest" and not (self.matrix or self.estimated):
            column = table.schema[name]
            return column.kind == Kind.ORDINAL and not column.generalized
        return super().suits(table, name)

    def survey(self, data: Relation, key: Key) -> Known:
        chosen, left = self.targets(data.empty)
        self._check(data, chosen)
        counted = data.count_by(self.strata).table if self.strata else data.empty
        strata = strata_of(counted, self.strata)
        warnings = [f"{name} was left alone: it has no suitable categories" for name in left]
        units = []
        for names in [chosen] if self.together else [[name] for name in chosen]:
            unit = self._learned(data, names, strata)
            if unit is None:
                warnings.append(f"{' & '.join(names)} has no values to change")
            else:
                units.append(unit)
        return Known(tuple(chosen), strata, tuple(units), tuple(warnings))

    def mask_part(self, part: Table, known: Known, draws: Draws) -> Masked:
        stratum = known.strata.places(part)
        series: list[pl.Series] = []
        moved: dict[str, int] = {}
        for one in known.units:
            before = one.unit.ids(part)
            rows = np.flatnonzero(before >= 0)
            after = before.copy()
            state = stratum[rows] * len(one.unit.levels) + before[rows]
            held = [value_bits(part[name]) for name in one.unit.names] if draws.key.lasting else []
            uniforms = draws.of(*one.unit.names).beside(*held).uniform()[rows]
            after[rows] = one.sampler.drawn(state, uniforms)
            series += one.unit.columns(part, after)
            moved[one.unit.label] = int(np.count_nonzero(after != before))
        return Masked(part.with_columns(series), tally=Tally(moved))

    def told(self, known: Known, tally: Tally) -> Told:
        labels = words_of(known.strata)
        published: list[dict[str, Any]] = []
        private: list[dict[str, Any]] = []
        expected: dict[str, float] = {}
        hidden: dict[str, float] = {}
        alone: dict[str, Any] = {}
        warnings = list(known.warnings)
        for unit, parts, matrices, _ in known.units:
            pairs = list(zip(matrices, parts, strict=True))
            changing = sum(made.share_changed(part) * part.counts.sum() for made, part in pairs)
            is_open = [self._is_open(made, part) for made, part in pairs]
            # What is expected follows from the same counts as the matrices; with a given one it
            # rests on them too, where the categories are not equally likely to stay.
            few = self.matrix and min(int(part.counts.min()) for part in parts) < self.least
            shares = hidden if few or not all(is_open) else expected
            shares[unit.label] = float(changing / _records(parts))
            alone[unit.label] = [labels[part.stratum] for part in left_alone(parts, matrices)]
            for (made, part), shown in zip(pairs, is_open, strict=True):
                words = made.published(unit, labels[part.stratum])
                (published if shown else private).append(words)
            warnings += unchanged(unit, parts, matrices)
        kept = Counter(" & ".join(one["columns"]) for one in private)
        facts = {
            "columns": list(known.columns),
            "expected share changed": expected,
            "matrices": published,
            "matrices kept private": dict(kept),
        }
        moved = {
            one.unit.label: tally.total[one.unit.label] / _records(one.parts) for one in known.units
        }
        secrets = {
            "matrices": private,
            "expected share changed": hidden,
            "share changed": moved,
            "strata left as they are": alone,
        }
        warnings += [self._why_private(label, all_of=not self.strata) for label in kept]
        return Told(facts, secrets, tuple(warnings))

    def _learned(self, data: Relation, names: list[str], strata: Combinations) -> Learned | None:
        """A unit with its matrices, by what is counted; None where it has nothing to change."""
        other = self.estimated.get(names[0])
        by = [*self.strata, *names, *([data.schema[other].name] if other else [])]
        counted = data.count_by(list(dict.fromkeys(by)))
        unit = self._unit(counted.table, names)
        ids, stratum = unit.ids(counted.table), strata.places(counted.table)
        rows = np.flatnonzero(ids >= 0)
        if not rows.size:
            return None
        parts, states = parts_of(ids[rows], stratum[rows], counted.count[rows], len(unit.levels))
        check_size(unit, parts)
        seen = Transitions.between(counted, unit, ids, other, stratum) if other else None
        matrices = [self._made(unit, part, seen) for part in parts]
        return Learned(unit, parts, matrices, Sampler.of(states, parts, matrices))

    def recover(self, table: Table, facts: Mapping[str, Any]) -> Mapping[str, Any]:
        """Unbiased frequencies of the original, their standard errors and covariances.

        `released` has the counts as they were released. After an invariant matrix these are
        unbiased too, and less spread than what comes out of the inverse.
        """
        kept = facts.get("matrices kept private", {})
        open_ones = [one for one in facts["matrices"] if " & ".join(one["columns"]) not in kept]
        if not open_ones:
            raise MethodError(
                "pram has no frequencies to recover: no matrix was published",
                remedy="the released frequencies of an invariant form are unbiased as they stand; "
                "else merge rare categories or strata, or use form = 'uniform'",
            )
        found = frequencies(table, open_ones)
        return {**found, "not recovered": list(kept)} if kept else found

    def _is_open(self, made: Made, part: Part) -> bool:
        """Whether a matrix can be published without giving small frequencies away."""
        if self.matrix and not self.two_stage:
            return True  # it was there before the data
        if self.strata and part.ids.size == 1:
            return False  # it says that all records of the stratum are as they look
        if made.fewest is not None and made.fewest < self.least:
            return False
        plain = not self.estimated and not self.two_stage and self.form in ("uniform", "nearest")
        if (plain and not self.together) or (part.ids.size == 1 and not self.estimated):
            # No count is behind it. A stratum's categories are seen in the release, if it is large.
            return not self.strata or int(part.counts.sum()) >= self.least
        return int(part.counts.min()) >= self.least

    def _why_private(self, label: str, *, all_of: bool) -> str:
        which = f"the matrix of {label} stays" if all_of else f"matrices of {label} stay"
        why = "" if all_of else ", or that a stratum has a single category"
        return (
            f"{which} private, and its frequencies cannot be recovered from the release: it would "
            f"tell counts below {self.least:,}{why}; merge rare categories"
            f"{'' if all_of else ' or strata'}, or use form = 'uniform', which rests on no counts"
        )

    def _check(self, data: Relation, chosen: list[str]) -> None:
        if not data.height:
            raise MethodError("pram found no records", remedy="give a table with records")
        both = [name for name in self.strata if name in chosen]
        if both:
            raise MethodError(
                f"{both[0]!r} is a stratum and is to change itself",
                remedy="drop it from strata, or name the columns to change in `columns`",
            )
        if self.together and len(chosen) < 2:
            raise MethodError(
                f"together needs two columns or more, not {len(chosen)}", remedy="together = false"
            )

    def _unit(self, table: Table, names: list[str]) -> Unit:
        category = self.missing == "category"
        if self.together:
            return compound(table, names, missing_is_category=category)
        more: list[str] = []
        if self.matrix:
            rows = self.matrix[names[0]]
            more = [*rows, *(to for row in rows.values() for to in row)]
        elif self.estimated:
            other = table[self.estimated[names[0]]]
            more = other.drop_nulls().unique().cast(pl.String).sort().to_list()
        return single(table, names[0], more, missing_is_category=category)

    def _made(self, unit: Unit, part: Part, seen: Transitions | None) -> Made:
        """The matrix of one stratum."""
        if self.matrix:
            first = given(self.matrix[unit.names[0]], unit, part, only_used=self.two_stage)
        elif seen is not None:
            first = seen.matrix(part)
        else:
            first = Made(part.ids, part.ids, destinations(self.form, part.shares))
        if part.ids.size == 1 and not (self.matrix or self.estimated):
            return first
        matrix, shares = first.probabilities, part.shares
        as_it_is = self.matrix or (self.estimated and self.stay is None)
        if not as_it_is and (self.two_stage or self.change is None):
            matrix = self._lowered(matrix, unit)
        if not self.two_stage:
            if self.change is not None:
                matrix = self._to_change(matrix, shares, unit)
            return replace(first, probabilities=matrix)
        matrix = two_stage(matrix, shares)
        if self.change is not None:
            matrix = self._to_change(matrix, shares, unit)
        elif self.alpha is not None:
            matrix = diluted(matrix, self.alpha)
        return replace(first, targets=part.ids, probabilities=matrix)

    def _lowered(self, matrix: Floats, unit: Unit) -> Floats:
        """The matrix with `stay` as its lowest diagonal entry."""
        stay = _STAY if self.stay is None else self.stay
        lowest = float(np.diagonal(matrix).min())
        if 1.0 - stay > (1.0 - lowest) * _ROUNDING:
            raise MethodError(
                f"stay = {stay:g} cannot be reached for {unit.label}: even if no value were left "
                f"alone, each would stay with probability {lowest:.3g} or more",
                remedy="a higher `stay`, or form = 'uniform' or 'proportional'",
            )
        return diluted(matrix, min((1.0 - stay) / (1.0 - lowest), 1.0))

    def _to_change(self, matrix: Floats, shares: Floats, unit: Unit) -> Floats:
        """The matrix that is expected to change a share `change` of the values."""
        assert self.change is not None
        most = share_changed(matrix, shares)
        if self.change > most * _ROUNDING:
            raise MethodError(
                f"change = {self.change:g} cannot be reached for {unit.label}: {most:.3g} is the "
                "most that this form can change",
                remedy="a lower `change`, `stay` instead, or form = 'uniform' or 'proportional'",
            )
        return diluted(matrix, min(self.change / most, 1.0))
