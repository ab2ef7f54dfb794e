"""Kernel principal components: whether the multivariate distribution is still the same."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from ...data.points.coordinates import Block
from ...data.points.encoding import LogChoice
from ...errors import MeasureError
from ...kernels.spectral.kernel_pca import (
    Kernel,
    KernelComponents,
    drawn_landmarks,
    expected_largest_gap,
    gap_chance,
    kernel_components,
    largest_gap,
)
from ...protocols import Context, Measurement
from ..loss import TableLoss
from .medians import Columns, points_of

EXACT = 5_000
"""Up to so many records `auto` takes the components exactly."""
MOST_EXACT = 20_000
MOST_COMPONENTS = 500
"""Components that are looked at for a share of the variance."""
_TIES = 9
"""Digits of a projection, in deviations, in which equal records must agree to be equal."""

_IN_SAMPLE = (
    "the components were found in the original itself, so that its own records lie further out "
    "along them than those of any other sample: D tends to be too large and p too small even for "
    "other people of the same population"
)


class KernelPca(TableLoss):
    """Largest change of a distribution along the kernel principal components of the original.

    The components of the original in the space of a kernel are curved features of its records: with
    the polynomial kernel of degree 4, of interactions of up to four columns. The release is
    projected on the same features. The figure is the largest Kolmogorov-Smirnov distance D between
    the two distributions along any of them: 0 where all agree, 1 where one has nothing in common.
    Records need no partners, so that any release can be measured.

    `baseline` is the same of a reference sample: what other people of the same population give.
    Without one there is none, as the components were found in the original itself: its own records
    lie further out along them than anybody else's, and what chance would give is not known. D and p
    are in-sample then. On 2,000 adults of the survey NHANES (28 columns) that hardly matters: a
    second sample has 0.048 on average, and chance would give 0.046. On 28 unrelated normal columns
    it does: a second sample has 0.123, with p < 0.05 along 17 of 20 components, and a release of
    which half are copies has 0.068.

    `fit = "half"` finds the components in a random half of the original and compares the other
    half. A second sample is then where chance puts it, in both examples (0.055 and 0.056, where
    0.056 is expected; p < 0.05 along 1 of 20), and the baseline without a reference is that
    expectation, if components were unrelated. But half of the records are compared, the halves are
    drawn by chance, and a copy is not at 0: it holds the fitted half as well (0.035 and 0.090). So
    take "half" for synthetic records when nobody else's are at hand; by default the whole original
    is compared, as in the thesis, and the reference sample says how much of a figure is in-sample.

    `detail` has each component's eigenvalue, its share of the variance and the shares up to it, D
    (`distance`), and p: the Kolmogorov-Smirnov test on `subsample` records of each table, the same
    ones for every component. With 1,296 of each, and components that were found elsewhere, a D of
    0.05 has p < 0.05 in about seven of ten cases: 0.74 to 0.78 where the records moved or some went
    far out, 0.46 where they changed within a narrow range, 0.94 where they spread to both sides.

    Components are centred by the original's mean in the kernel's space, for the release as well;
    so are those of R's kernlab. `scale` matters. Logarithms as they are lie far from the origin,
    where a power is nearly a straight line: the components are then almost the linear ones, which
    many methods keep. "centred" takes their means away, and numbers whose logarithms vary little
    hardly count beside categories. "standardized" gives each number the same deviation; records far
    out then have much of the variance.

    >>> import sfumato as sf
    >>> x = {"a": [1.0, 2.0, 4.0, 8.0], "b": [2.0, 1.0, 0.5, 3.0]}
    >>> sf.measure("kernel-pca", x, x).value
    0.0
    """

    name: ClassVar[str] = "kernel-pca"
    paper: ClassVar[str] = (
        "Lasko 2007, Spectral anonymization of data, section 3.2; Schoelkopf, Smola & Mueller "
        "(1998), Nonlinear component analysis as a kernel eigenvalue problem, Neural Computation "
        "10(5); Williams & Seeger (2001), Using the Nystrom method to speed up kernel machines"
    )
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    decimals: ClassVar[int | None] = 3

    kernel: Literal["polynomial", "exponential", "gaussian"] = Field(
        "polynomial",
        description="(x'y + 1)^degree, exp(x'y / width), or exp(-|x - y|^2 / (2 width^2))",
    )
    degree: int = Field(4, ge=1, le=100, description="degree of the polynomial kernel")
    width: float = Field(
        0.0, ge=0, description="width of the other kernels; 0: one that fits the original"
    )
    components: int = Field(20, ge=1, le=MOST_COMPONENTS, description="components to compare")
    variance: float = Field(
        0.0,
        ge=0,
        le=1,
        description="in place of `components`, as many as have this share of the variance "
        f"together, at most {MOST_COMPONENTS}; 0: `components` of them",
    )
    scale: Literal["standardized", "centred", "unstandardized"] = Field(
        "standardized",
        description="logarithms in deviations from their mean, or less their mean only, or as "
        "they are (the thesis); other numbers are always in deviations",
    )
    method: Literal["auto", "exact", "nystrom"] = Field(
        "auto", description=f"auto: exact up to {EXACT:,} records, Nystrom's approximation beyond"
    )
    landmarks: int = Field(
        1_000, ge=1, le=5_000, description="records that carry Nystrom's approximation"
    )
    subsample: int = Field(
        1_296, ge=0, description="records of each table that p is taken from; 0: all"
    )
    fit: Literal["all", "half"] = Field(
        "all",
        description="all: components are found in the whole original, which is compared (the "
        "thesis); half: they are found in a random half, and the other half is compared",
    )
    centred: bool = Field(
        True, description="whether components are those of the centred kernel matrix"
    )
    log: LogChoice = "auto"
    columns: Columns = ()

    def measure(self, context: Context) -> Measurement:
        return self.found(self.compared(context))

    def found(self, compared: Compared) -> Measurement:
        """The measurement of a comparison."""
        baseline, said = None, 'none: give a reference sample, or fit = "half"'
        if compared.reference is not None:
            baseline = float(compared.reference_gaps.max())
            said = "a sample of other people of the same population"
        elif compared.held_out:
            sizes = len(compared.original), len(compared.masked)
            baseline = expected_largest_gap(*sizes, compared.gaps.size)
            said = "what chance alone gives on average, were the components unrelated"
        detail: dict[str, Any] = {
            **compared.facts,
            "kernel": self.kernel + (f" {self.degree}" if self.kernel == "polynomial" else ""),
            "scale": self.scale,
            "method": compared.components.method,
            "components": compared.rows(),
            "below_0.05": int((compared.chance < 0.05).sum()),
            "mean_distance": float(compared.gaps.mean()),
            "tested_records": list(compared.tested),
            "fit": self.fit,
            "baseline": said,
        }
        if not compared.held_out:
            detail["in_sample"] = _IN_SAMPLE
        return self.result(float(compared.gaps.max()), baseline=baseline, detail=detail)

    def compared(self, context: Context) -> Compared:
        """The components, and all tables' records along them."""
        points = points_of(context, self.columns, self.log, self.name, self._rescaled)
        rng = context.rng
        x, own = self._halves(points.original, rng)
        kernel = Kernel.of(self.kernel, x, degree=self.degree, width=self.width)
        rows = self._landmarks(x, kernel, rng)
        components = kernel_components(
            x,
            kernel,
            MOST_COMPONENTS if self.variance else self.components,
            variance=self.variance,
            landmarks=rows,
            centred=self.centred,
        )
        if not components.variance.size:
            raise MeasureError(
                f"{self.name} found no component: the original's records"
                + (", in the half of them that was looked at," if self.fit == "half" else "")
                + " are all alike",
                remedy="name columns that vary in `columns`"
                + (', or fit = "all"' if self.fit == "half" else ""),
            )
        tables = (own, points.masked, points.reference)
        placed = [None if t is None else _placed(components, t) for t in tables]
        original, masked, reference = placed
        assert original is not None
        assert masked is not None
        facts = points.facts()
        if rows is not None:
            facts["landmarks"] = int(rows.size)
        chosen = [self._some(t, rng) for t in (original, masked)]
        if reference is not None:
            chosen.append(self._some(reference, rng))
        held_out = self.fit == "half"
        return Compared(components, original, masked, reference, tuple(chosen), facts, held_out)

    def _halves(self, x: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """The records that components are found in, and those that are compared."""
        if self.fit == "all":
            return x, x
        if len(x) < 4:
            raise MeasureError(
                f"{self.name} cannot halve an original of {len(x)} records", remedy='fit = "all"'
            )
        order = rng.permutation(len(x))
        # Sorted, so that equal records stay in the order of the table.
        first, second = np.sort(order[: len(x) // 2]), np.sort(order[len(x) // 2 :])
        return x[first], x[second]

    def _landmarks(
        self, x: np.ndarray, kernel: Kernel, rng: np.random.Generator
    ) -> np.ndarray | None:
        """The landmarks' rows, None for exact components."""
        if self.method == "nystrom" or (self.method == "auto" and len(x) > EXACT):
            return drawn_landmarks(x, kernel, self.landmarks, rng)
        if len(x) > MOST_EXACT:
            raise MeasureError(
                f"exact components of {len(x):,} records need {len(x) ** 2 * 8 / 2**30:.0f} GiB",
                remedy='method = "nystrom"',
            )
        return None

    def _rescaled(self, block: Block, z: np.ndarray) -> np.ndarray:
        if self.scale == "standardized" or not block.logged or block.scale is None:
            return z
        z = z.copy()
        z[:, 0] *= block.scale.spread
        if self.scale == "unstandardized":
            z[:, 0] += block.scale.centre
        return z

    def _some(self, placed: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Rows for p, the same ones for all components."""
        n = len(placed)
        if not self.subsample or n <= self.subsample:
            return np.arange(n)
        return rng.choice(n, self.subsample, replace=False)


def _placed(components: KernelComponents, records: np.ndarray) -> np.ndarray:
    """Projections in the fitted records' deviations, without the last digits: equal records may
    differ in these, as they come from different blocks."""
    found = components.project(records)
    found /= np.sqrt(components.variance)
    return np.round(found, _TIES, out=found)


@dataclass(frozen=True, eq=False)
class Compared:
    """Tables along the kernel principal components of the original. Not for publication."""

    components: KernelComponents
    original: np.ndarray
    """(n, components), in the deviations of the records that the components were found in; half of
    the records where the other half was taken for that."""
    masked: np.ndarray
    reference: np.ndarray | None
    chosen: tuple[np.ndarray, ...]
    """The rows of each table that p is taken from."""
    facts: dict[str, Any]
    held_out: bool = False
    """Whether `original` holds none of the records that the components were found in."""

    @cached_property
    def gaps(self) -> np.ndarray:
        """D of each component, over all records."""
        return _gaps(self.original, self.masked)

    @cached_property
    def chance(self) -> np.ndarray:
        """p of each component."""
        return self._chance(self.masked, 1)

    @cached_property
    def reference_gaps(self) -> np.ndarray:
        """D of the reference sample."""
        assert self.reference is not None
        return _gaps(self.original, self.reference)

    @cached_property
    def reference_chance(self) -> np.ndarray:
        """p of the reference sample."""
        assert self.reference is not None
        return self._chance(self.reference, 2)

    @property
    def tested(self) -> tuple[int, int]:
        """How many records of the original and of the release p is taken from."""
        return self.chosen[0].size, self.chosen[1].size

    def rows(self) -> list[dict[str, Any]]:
        """One row a component, as in the thesis' table 5.1."""
        share = self.components.share
        columns: dict[str, np.ndarray] = {
            "component": np.arange(1, share.size + 1),
            "eigenvalue": self.components.eigenvalue,
            "share": share,
            "cumulative": np.minimum(np.cumsum(share), 1.0),
            "distance": self.gaps,
            "p": self.chance,
        }
        if self.reference is not None:
            columns["reference_distance"] = self.reference_gaps
            columns["reference_p"] = self.reference_chance
        plain = [column.tolist() for column in columns.values()]
        return [dict(zip(columns, row, strict=True)) for row in zip(*plain, strict=True)]

    def _chance(self, other: np.ndarray, place: int) -> np.ndarray:
        first, second = self.chosen[0], self.chosen[place]
        gaps = _gaps(self.original[first], other[second])
        return gap_chance(gaps, first.size, second.size)


def _gaps(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.array([largest_gap(a, b) for a, b in zip(x.T, y.T, strict=True)])
