"""The automatic size of clusters: the smallest that protects like not having taken part.

Lasko (2007), 5.2.3. Larger clusters protect more and keep less, so sizes are tried in ascending
order. A size passes where none of the three prediction measures falls short of the non-participants
by a practical difference, with confidence (non_inferiority.py). The first size that passes against
one half of the reference sample is confirmed on the other half, since the best of several tries
looks better than it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...errors import MethodError
from ...kernels.non_inferiority import shortfall
from ...kernels.prediction import Predictions, predictions
from ...progress import report
from ...rng import children

if TYPE_CHECKING:
    from ...data.encoding import Encoding
    from .pica import Pica, Release

LADDER = (50, 75, 100, 150, 200, 300, 400, 600, 800, 1_200, 1_600, 2_400, 3_200, 4_800, 6_400)
DIFFERENCES = {"distance": 0.05, "ambiguity": 0.1, "uncertainty": 0.1}
"""Shares of the records by which a release may fall short without practical meaning (5.2.1)."""
NEAREST = 5
TARGETS = 5_000
"""People whose prediction is looked at; of more, a sample."""
FRACTION = 4
"""Release records to each non-participant up to which a sample of the release is compared."""
FEWEST = 200
"""Non-participants in each half below which no size could pass."""


class Choice(NamedTuple):
    """The release with the chosen size, and how it was chosen."""

    release: Release
    facts: dict[str, Any]
    warnings: tuple[str, ...]


class Trial(NamedTuple):
    """Upper confidence bounds of the three shortfalls of one size."""

    size: int
    sample: str
    bounds: tuple[float, ...]

    @property
    def passes(self) -> bool:
        return all(b <= d for b, d in zip(self.bounds, DIFFERENCES.values(), strict=True))

    @property
    def rounded(self) -> dict[str, float]:
        """Upwards, so that what passes still does."""
        up = (round(float(np.ceil(100.0 * max(b, 0.0))) / 100.0, 2) for b in self.bounds)
        return dict(zip(DIFFERENCES, up, strict=True))


def chosen_size(
    method: Pica,
    x: np.ndarray,
    rng: np.random.Generator,
    reference: np.ndarray | None,
    encoding: Encoding,
) -> Choice:
    """The release with the smallest size that passes, and is confirmed.

    Without a reference sample, half of the records are masked on trial and the others stand in for
    non-participants; the release is then made of all records with the size found.
    """
    n = len(x)
    inside = reference is None
    if reference is None:
        order = rng.permutation(n)
        masked, others = x[order[: n // 2]], x[order[n // 2 :]]
    else:
        masked, others = x, reference[rng.permutation(len(reference))]
    halves = others[: len(others) // 2], others[len(others) // 2 :]
    if len(halves[0]) < FEWEST or len(masked) < FEWEST:
        raise MethodError(
            f'{method.name}: size = "auto" compares with {2 * FEWEST} non-participants or more, '
            f"and there are {len(others):,}",
            remedy="give a size, such as 200"
            + (", or a reference sample" if inside else ", or a larger reference sample"),
        )
    tried: list[Trial] = []
    refuted = 0
    sizes = [size for size in LADDER if size <= len(masked) // 2] + [len(masked)]
    for step, size in enumerate(sizes):
        report("trying cluster sizes", step, len(sizes))
        release = method.release(masked, children(rng, 1)[0], size)
        made = published(release.values, encoding, method)
        for sample, half in zip(("one half", "the other half"), halves, strict=True):
            tried.append(Trial(size, sample, bounds(masked, made, half, rng)))
            if not tried[-1].passes:
                refuted += sample != "one half"
                break
        else:
            break
    else:
        raise MethodError(
            f"{method.name}: with every size of clusters, even with all {len(masked):,} records in "
            "one, the release may predict participants better than others: "
            + ", ".join(f"{name} by {bound}" for name, bound in tried[-1].rounded.items()),
            remedy="use svd-swap, which hides more, or give a larger reference sample, which "
            "narrows the confidence bounds",
        )
    if inside:
        size = n if size == len(masked) else size
        release = method.release(x, children(rng, 1)[0], size)
    return Choice(release, _facts(tried, size, masked, others, inside), _warned(refuted, inside))


def published(values: np.ndarray, encoding: Encoding, method: Pica) -> np.ndarray:
    """The points as a reader will take them: categories settled, numbers standardized anew."""
    made = encoding.settled(values, shares=method.categories == "shares")
    numbers = encoding.numeric
    spread = made[:, numbers].std(axis=0)
    made[:, numbers] -= made[:, numbers].mean(axis=0)
    made[:, numbers] /= np.where(spread > 0, spread, 1.0)
    return made


def bounds(
    x: np.ndarray, made: np.ndarray, others: np.ndarray, rng: np.random.Generator
) -> tuple[float, ...]:
    """Upper confidence bounds of how far the three measures fall short.

    As in the thesis, the participants are predicted from the release and from the others, as many
    of each: where there are fewer others, from a sample of the release. On NHANES the shortfall of
    the distance was 0.10, and 0.08 against half and a quarter as many, for size 100; for size 200
    it was 0.03 each time. Below a quarter a sample would no longer show how close the release
    comes; the others are then predicted from the release too, which must predict them as well as
    the participants. That asks for more, and takes many others to pass.
    """
    m = min(len(made), len(others))
    k = min(NEAREST, m)
    targets = _some(x, rng, TARGETS)
    if enough(made, others):
        found = predictions(targets, _some(made, rng, m), k)
        standard = predictions(targets, others[:m], k)
    else:
        found = predictions(targets, made, k)
        standard = predictions(_some(others, rng, TARGETS), made, k)
    return tuple(
        shortfall(one, two, paired=enough(made, others)).upper
        for one, two in zip(_three(found), _three(standard), strict=True)
    )


def enough(made: np.ndarray, others: np.ndarray) -> bool:
    """Whether the others can stand in the place of the release."""
    return FRACTION * len(others) >= len(made)


def _three(found: Predictions) -> tuple[np.ndarray, ...]:
    return found.distance, found.ambiguity, found.uncertainty


def _some(x: np.ndarray, rng: np.random.Generator, most: int) -> np.ndarray:
    return x if len(x) <= most else x[np.sort(rng.choice(len(x), most, replace=False))]


def _facts(
    tried: Sequence[Trial], size: int, masked: np.ndarray, others: np.ndarray, inside: bool
) -> dict[str, Any]:
    return {
        "size": size,
        "sizes tried": [
            {"size": trial.size, "against": trial.sample, **trial.rounded} for trial in tried
        ],
        "non-participants": "records held out" if inside else "reference sample",
        "compared by": "how well they predict participants"
        if enough(masked, others[: len(others) // 2])
        else "how well the release predicts them",
    }


def _warned(refuted: int, inside: bool) -> tuple[str, ...]:
    warnings = []
    if refuted:
        warnings.append(
            "a smaller size passed against one half of the non-participants and not against the "
            "other; the size taken was confirmed on that same other half, which is therefore not "
            "wholly fresh"
        )
    if inside:
        warnings.append(
            "no reference sample was given: the size was chosen by masking half of the records and "
            "comparing with the others, and not tested on the release itself"
        )
    return tuple(warnings)
