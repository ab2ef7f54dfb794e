"""The automatic size of clusters: the smallest that protects like not having taken part.

Lasko (2007), 5.2.3. Larger clusters protect more and keep less, so sizes are tried in ascending
order. A size passes where none of the three prediction measures falls short of the non-participants
by a practical difference, with confidence (non_inferiority.py). The first size that passes against
one half of the reference sample is confirmed on the other half, since the best of several tries
looks better than it is.

A release and the people in its place must be equally many, since more records come closer. A half
often has fewer than the table. A sample of the release would not do: it drops most copies of the
participants it is compared with. So the table is cut into parts as large as the half, each part is
masked for itself, and its people are predicted from their own release and from the half.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import polars as pl

from ...data.points.placement import placements
from ...data.schema import Schema
from ...data.table import Table
from ...errors import MethodError
from ...kernels.neighbours.prediction import Predictions, predictions
from ...kernels.statistics.non_inferiority import ENOUGH, MARGINS, shortfall
from ...progress import report
from ...rng import children

if TYPE_CHECKING:
    from ...data.points.encoding import Encoding
    from .pica import Pica, Release

LADDER = (50, 75, 100, 150, 200, 300, 400, 600, 800, 1_200, 1_600, 2_400, 3_200, 4_800, 6_400)
NEAREST = 5
TARGETS = 5_000
"""People of a part whose prediction is looked at; of more, a sample."""
PARTS = 2
"""Parts of the table that are masked on trial, at most."""
FEWEST = 200
"""Non-participants in each half below which no size could pass."""


class Choice(NamedTuple):
    """The release with the chosen size, and how it was chosen."""

    release: Release
    facts: dict[str, Any]
    warnings: tuple[str, ...]


class Points(NamedTuple):
    """Records as the gate reads them, all columns weighing alike: numbers by the original's means
    and deviations, and so that their own middle lies at the original's. An intruder may take
    either; the worse counts."""

    given: np.ndarray
    own: np.ndarray


class Trial(NamedTuple):
    """Upper confidence bounds of the three shortfalls of one size."""

    size: int
    sample: str
    bounds: tuple[float, ...]

    @property
    def passes(self) -> bool:
        return all(b <= d for b, d in zip(self.bounds, MARGINS.values(), strict=True))

    @property
    def rounded(self) -> dict[str, float]:
        """Upwards, so that what passes still does."""
        up = (round(float(np.ceil(100.0 * max(b, 0.0))) / 100.0, 2) for b in self.bounds)
        return dict(zip(MARGINS, up, strict=True))


def chosen_size(
    method: Pica,
    x: np.ndarray,
    rng: np.random.Generator,
    reference: np.ndarray | None,
    encoding: Encoding,
) -> Choice:
    """The release with the smallest size that passes, and is confirmed.

    Without a reference sample, half of the records are masked on trial and the others stand in for
    non-participants. Wherever the releases on trial are not of the whole table, the one published
    is made anew with the size found.
    """
    n = len(x)
    inside = reference is None
    if reference is None:
        order = rng.permutation(n)
        masked, others = x[order[: n // 2]], x[order[n // 2 :]]
    else:
        masked, others = x, reference[rng.permutation(len(reference))]
    count, m = divided(len(masked), len(others) // 2)
    if m < FEWEST:
        raise MethodError(
            f'{method.name}: size = "auto" compares {FEWEST} records or more with {2 * FEWEST} '
            f"non-participants or more, and there are {len(masked):,} and {len(others):,}",
            remedy="give a size, such as 200"
            + (", or a reference sample" if inside else ", or more records of both"),
        )
    whole = m == n
    halves = [placed(others[start : start + m], encoding) for start in (0, len(others) // 2)]
    tried: list[Trial] = []
    refuted = 0
    sizes = [size for size in LADDER if size <= m // 2] + [m]
    for step, size in enumerate(sizes):
        report("trying cluster sizes", step, len(sizes))
        release = method.release(x, children(rng, 1)[0], size) if whole else None
        for sample, half in zip(("one half", "the other half"), halves, strict=True):
            found = []
            # Other parts, released anew, confirm that it was not one lucky release.
            for rows in parts(len(masked), count, m, rng):
                part = masked[rows]
                made = release or method.release(part, children(rng, 1)[0], size)
                people = _some(part, rng, TARGETS) * encoding.column_units
                found.append((people, published(made.values, encoding, method)))
            tried.append(Trial(size, sample, bounds(found, half)))
            if not tried[-1].passes:
                refuted += sample != "one half"
                break
        else:
            break
    else:
        raise MethodError(
            f"{method.name}: with every size of clusters, even with all {m:,} records in one, the "
            "release may predict participants better than others: "
            + ", ".join(f"{name} by {bound}" for name, bound in tried[-1].rounded.items()),
            remedy="use svd-swap, which hides more, or give a larger reference sample, which "
            "narrows the confidence bounds",
        )
    if release is None:
        size = n if size == m else raised(size, n, m)
        release = method.release(x, children(rng, 1)[0], size)
    few = ENOUGH * n > len(others)
    return Choice(
        release,
        _facts(tried, size, (count, m), inside),
        _warned(refuted, inside, trial=not whole, few=few),
    )


def raised(size: int, n: int, m: int) -> int:
    """The size for n records where m of them passed with this one.

    On NHANES the shortfall of the distance grew with the table, for size 200 from 0.02 to 0.03 and
    0.04 with 1,000, 1,900 and 3,800 records; on generated hospital data it did not. The next size
    is lower by 0.02. So from three times as many records on, the next is taken, from twelve times
    the one after it, and so on. Without that, two of four releases of NHANES chosen on quarters
    failed the gate by a tenth; of 18 releases chosen on halves none did, and one of 13 by 0.04 with
    people who had no part in the choice.

    >>> raised(200, 2000, 1000), raised(200, 4000, 1000), raised(200, 12_000, 1000)
    (200, 300, 400)
    """
    steps = 0
    while n >= 3 * 4**steps * m:
        steps += 1
    larger = [one for one in LADDER if size < one <= n // 2]
    return ([size, *larger] + [n] * steps)[steps]


def divided(n: int, half: int) -> tuple[int, int]:
    """How many parts of n records are compared with a half, and of how many records each.

    Two parts see more than one and still err rarely. Where nothing fell short, this was seen in 8
    and 53 % of simulations with one and two parts of 500 records, in 81 and 100 % with 1,500. A
    shortfall that equals its margin was said to be below it by at most 6 % in one half and 1 % in
    both (200 simulations, 1,000 records). With more parts it is 12 % with four and more beyond:
    they share the records of the half and are no more evidence than these.

    >>> divided(3001, 1499), divided(2000, 5000), divided(100_000, 2000)
    ((2, 1499), (1, 2000), (2, 2000))
    """
    count = min(max(round(n / half), 1), PARTS) if half else 1
    return count, min(half, n // count)


def parts(n: int, count: int, m: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Rows of `count` parts of m records each, at random and disjoint."""
    if m == n:
        return [np.arange(n)]
    return list(rng.permutation(n)[: count * m].reshape(count, m))


def published(values: np.ndarray, encoding: Encoding, method: Pica) -> Points:
    """The points as a reader will take them: decoded, rounded, and read again."""
    made = _table(
        values,
        encoding,
        shares=method.categories == "shares",
        whole=method.whole,
        bounded=method.bounded,
    )
    both = placements(encoding, made, "worst", thresholded=True)
    units = encoding.column_units
    return Points(both["original"] * units, both["own"] * units)


def placed(x: np.ndarray, encoding: Encoding) -> Points:
    """Points of other people, and the same with numbers placed as those of a release are."""
    numbers = encoding.numeric
    again = placements(encoding, _table(x, encoding, shares=False, whole=False), "own")["own"]
    own = x.copy()
    own[:, numbers] = again[:, numbers]
    return Points(x * encoding.column_units, own * encoding.column_units)


def _table(
    x: np.ndarray, encoding: Encoding, *, shares: bool, whole: bool, bounded: bool = False
) -> Table:
    before = Table(
        pl.DataFrame([block.series for block in encoding.blocks]),
        Schema([block.column for block in encoding.blocks]),
    )
    how: Literal["shares", "argmax"] = "shares" if shares else "argmax"
    found = encoding.decode(x, before, categories=how, whole=whole, bounded=bounded)
    return Table(pl.DataFrame(found.series), Schema(found.columns))


def bounds(found: Sequence[tuple[np.ndarray, Points]], others: Points) -> tuple[float, ...]:
    """Upper confidence bounds of how far the three measures fall short.

    As in the thesis, the participants are predicted from the release and from as many others. There
    may be several groups of participants, each with the release of its own part.
    """
    worse = []
    for reading in range(len(others)):
        by_release = [predictions(x, made[reading], NEAREST) for x, made in found]
        by_others = [predictions(x, others[reading], NEAREST) for x, _ in found]
        worse.append(
            [
                shortfall(one, two, paired=True).upper
                for one, two in zip(_three(by_release), _three(by_others), strict=True)
            ]
        )
    return tuple(np.max(worse, axis=0).tolist())


def _three(found: Sequence[Predictions]) -> list[np.ndarray]:
    return [np.concatenate([getattr(one, name) for one in found]) for name in MARGINS]


def _some(x: np.ndarray, rng: np.random.Generator, most: int) -> np.ndarray:
    return x if len(x) <= most else x[np.sort(rng.choice(len(x), most, replace=False))]


def _facts(
    tried: Sequence[Trial], size: int, divided: tuple[int, int], inside: bool
) -> dict[str, Any]:
    count, m = divided
    facts = {
        "size": size,
        "sizes tried": [
            {"size": trial.size, "against": trial.sample, **trial.rounded} for trial in tried
        ],
        "non-participants": "records held out" if inside else "reference sample",
        "masked on trial": {"parts": count, "records in each": m},
    }
    if size > tried[-1].size:
        facts["larger than tried"] = "the table is larger than what was masked on trial"
    return facts


def _warned(refuted: int, inside: bool, *, trial: bool, few: bool) -> tuple[str, ...]:
    warnings = []
    if refuted:
        warnings.append(
            "a smaller size passed against one half of the non-participants and not against the "
            "other; the size taken was confirmed on that same other half, which is therefore not "
            "wholly fresh"
        )
    if inside:
        warnings.append(
            "no reference sample was given: the size was chosen by masking parts of the table and "
            "comparing with other records of it, and not tested on the release itself"
        )
        return tuple(warnings)
    warnings.append(
        "the size was chosen with the reference sample: that the release passes non-participation "
        "against the same people is no fresh test, for which others are needed"
    )
    if trial:
        warnings.append(
            "half of the reference sample has fewer records than the table: the size was chosen by "
            "masking parts of the table, and not tested on the release itself"
        )
    if few:
        warnings.append(
            "the reference sample has fewer records than the table: non-participation then asks "
            "for more than the choice did, and may fail; hold out as many as are released"
        )
    return tuple(warnings)
