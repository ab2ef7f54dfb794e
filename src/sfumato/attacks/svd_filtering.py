"""Taking the noise out before linking."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from ..data.linkage.linked import (
    TOLERANCE,
    Credit,
    Numbers,
    acted_on,
    at_least_as_close,
    in_both,
    moments_of,
    touched,
)
from ..data.schema import Role
from ..errors import MeasureError
from ..kernels.neighbours.blocks import distinct_rows
from ..kernels.neighbours.linkage import Nearest, nearest
from ..kernels.spectral.noise_filter import Rule, spread_in_groups, strip_noise
from ..protocols import Context
from .linking import Found, LinkingAttack, People, Targets, plain_match

ADDITIVE = (
    "uncorrelated-noise",
    "correlated-noise",
    "mixture-noise",
    "coloured-mixture-noise",
    "resampled-noise",
)
RANKING = "individual-ranking"


class SvdFiltering(LinkingAttack):
    """Strip noise from a release by its principal components, then link records.

    The intruder knows the masking and its parameters. Noise that is independent from column to
    column spreads over all directions while correlated data keep to a few: directions with no more
    variance than noise has are dropped, and the others shrunk ("wiener") or kept as they are
    ("components", where they hold more data than noise). All masked numeric columns of the release
    are filtered together, known or not; then each target is linked to the nearest filtered record
    in the known columns, in units of the original's deviations as estimated from the release. Known
    columns that no published step touched, categories among them, must be equal, and others that
    were not masked by this noise count in the distance as they are. Noise with the covariance of
    the data has the same share in every direction: there is nothing to filter, and the gain shows
    it. The error of individual-ranking is filtered likewise; its size is estimated from the
    distances between centroids. Lasko (2.3.4) suspects that this can be done: it can where few
    factors make up many columns, while on skewed data, whose error is in a few records, it may find
    fewer than the plain match, which a negative gain says.

    Why filtering helps one who knows the target: what the noise adds outside of the data's
    directions says nothing about whose record it is, but makes records look near or far.

    `detail["naive"]` is the nearest match by all known columns without filtering, the better one of
    standardizing each file by its own deviations and both by the estimated ones, so that the gain
    is that of the filter and of knowing what was left alone; `private["error"]`, which is not
    published, is the root mean square error of the released and of the filtered values, in
    standard deviations of the original; `detail["control"]` is how often a
    non-participant's nearest filtered record is at least as close as a participant's own.
    """

    name: ClassVar[str] = "svd-filtering"
    aliases: ClassVar[tuple[str, ...]] = ("pca-filtering",)
    paper: ClassVar[str] = (
        "Kargupta, Datta, Wang & Sivakumar (2003), On the privacy preserving properties of random "
        "data perturbation techniques; Huang, Du & Chen (2005), Deriving private information from "
        "randomized data; Guo & Wu (2006), On the use of spectral filtering for privacy preserving "
        "data mining; Lasko (2007), section 2.3.1"
    )
    example: ClassVar[dict[str, Any]] = {"amount": 0.1}

    amount: float | None = Field(
        None,
        gt=0,
        description="b: variance of the noise relative to the data's; as in the "
        "release's noise step unless given",
    )
    correlated: bool = Field(
        False, description="whether noise of the given amount has the correlations of the data"
    )
    rule: Literal["wiener", "components"] = Field(
        "wiener", description="shrink each direction by its share of noise, or keep or drop it"
    )

    def attack(self, targets: Targets, context: Context) -> Found:
        noise = self._noise(context)
        numbers = targets.numbers
        filtered = [name for name in numbers.names if name in noise.columns]
        if not filtered:
            raise MeasureError(
                "no known column was masked by this noise",
                remedy="name columns that were, in `columns`",
            )
        equal = _left_alone(targets, noise, context)
        every = Numbers(context.pair, tuple(noise.columns))
        clean, centre, scale, kept = noise.take_out(every, self.rule)
        # All known numbers as they are, in the units in which the filtered ones are compared.
        plain = np.where(numbers.hidden, np.nan, numbers.masked)
        middle, unit = moments_of(plain)
        stripped = plain.copy()
        for j, name in enumerate(numbers.names):
            if name in filtered:
                k = every.names.index(name)
                stripped[:, j], middle[j], unit[j] = clean[:, k], centre[k], scale[k]
        links = _Links(targets, (stripped - middle) / unit, middle, unit, equal)
        found = links.find(targets.known, targets.own)
        naive = plain_match(targets, (links.placed(targets.known), (plain - middle) / unit))
        detail: dict[str, Any] = {
            "columns": filtered,
            "filtered": list(every.names),
            "noise": noise.said,
            "directions_kept": [round(float(share), 3) for share in kept],
        }
        if equal:
            detail["equal"] = equal
        if rest := [n for n in targets.file.names if n not in filtered and n not in equal]:
            detail["unfiltered"] = rest
        control = None
        if targets.strangers is not None:
            nobody = np.full(len(targets.strangers.x), -1, dtype=np.int64)
            theirs = links.find(targets.strangers, nobody).distance
            control = at_least_as_close(theirs, links.to_own(targets.known, targets.own))
            detail["control_is"] = (
                "how often a non-participant's nearest record is at least as close as a "
                "participant's own"
            )
        private = {"error": _errors(every, clean, context)}
        return Found(Credit.of(found.own_tied, found.ties), naive, detail, control, private)

    def _noise(self, context: Context) -> _Noise:
        """The noise that the published steps name, or that the parameters do."""
        pair = context.pair
        if self.amount is not None:
            roles = (Role.QUASI, Role.CONFIDENTIAL)
            wanted = [c.name for c in pair.original.schema if c.role in roles]
            wanted += [name for name in self.columns if name not in wanted]
            usable = [name for name in wanted if in_both(pair, name)]
            return _Noise("given", usable, self.amount, self.correlated)
        steps = [s for s in context.mechanism if s.name in ADDITIVE or s.name == RANKING]
        if len(steps) != 1:
            raise MeasureError(
                "svd-filtering needs one step of additive noise or of individual-ranking, and the "
                f"release has {len(steps)}",
                remedy="give the amount of the noise",
            )
        step: Any = steps[0]
        mine, others = acted_on(step, pair.original), set[str]()
        for other in context.mechanism:
            if other is not step:
                others |= set(acted_on(other, pair.original))
        usable = [name for name in mine if name not in others and in_both(pair, name)]
        if step.name == RANKING:
            return _Noise(step.name, usable, None, False)
        amount = float(step.amount)
        return _Noise(step.name, usable, amount, bool(step.correlated), float(step.pull(amount)))


@dataclass(frozen=True)
class _Noise:
    """What the intruder knows of the noise."""

    name: str
    columns: list[str]
    amount: float | None
    """Its variance relative to the data's; None where it must be estimated (microaggregation)."""
    correlated: bool
    pull: float = 1.0
    """What distances from the mean were divided by afterwards."""

    @property
    def said(self) -> dict[str, Any]:
        said: dict[str, Any] = {"method": self.name, "correlated": self.correlated}
        if self.amount is not None:
            said["relative_variance"] = self.amount
        return said

    def take_out(
        self, numbers: Numbers, rule: Rule
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The filtered columns, their means, the deviations that the original is estimated to have,
        and the share of each direction that was kept."""
        y = np.where(numbers.hidden, np.nan, numbers.masked)
        centre, spread = moments_of(y)
        z = (y - centre) / spread
        # A pull towards the mean is undone first: every reader can.
        spread = spread * self.pull
        if self.amount is None:
            clean = strip_noise(z, spread_in_groups(z), rule)
            return centre + clean.values * spread, centre, spread, clean.kept
        share = self.amount / (1.0 + self.amount)
        scale = spread * np.sqrt(1.0 - share)
        if self.correlated:
            # The same share of noise in every direction: to shrink all alike is all there is.
            factor = 1.0 - share if rule == "wiener" else 1.0
            return centre + z * factor * spread, centre, scale, np.full(z.shape[1], factor)
        varies = (np.where(np.isnan(z), 0.0, z) != 0.0).any(axis=0)
        clean = strip_noise(z, np.where(varies, np.sqrt(share), 0.0), rule)
        return centre + clean.values * spread, centre, scale, clean.kept


def _left_alone(targets: Targets, noise: _Noise, context: Context) -> list[str]:
    """The known columns that no published step touched: their values must be equal."""
    if not context.mechanism:
        return []
    changed = touched(context.mechanism, context.pair.original)
    masked = context.pair.masked
    return [
        name
        for name in targets.file.names
        if name not in changed and name not in noise.columns and not masked.suppressed(name).any()
    ]


class _Links:
    """The filtered file, in units of the original's deviations, beside what must be equal."""

    def __init__(
        self,
        targets: Targets,
        clean: np.ndarray,
        centre: np.ndarray,
        scale: np.ndarray,
        equal: list[str],
    ) -> None:
        numbers, categories = targets.numbers, targets.categories
        self._centre, self._scale = centre, scale
        self._at = [j for j, name in enumerate(numbers.names) if name not in equal]
        self._codes_at = [j for j, name in enumerate(categories.names) if name not in equal]
        self._same_x = [j for j, name in enumerate(numbers.names) if name in equal]
        self._same_codes = [j for j, name in enumerate(categories.names) if name in equal]
        self._clean = clean[:, self._at]
        self._numbers, self._categories = numbers.masked, categories.masked

    def placed(self, people: People) -> np.ndarray:
        """All known numbers of some people, in the units of the filtered file."""
        found: np.ndarray = (people.x - self._centre) / self._scale
        return found

    def _sides(self, people: People) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Points of the people, and the codes of both; the last code stands for all the columns
        that must be equal."""
        x = np.concatenate([self._numbers, people.x])[:, self._same_x]
        codes = np.concatenate([self._categories, people.codes])
        plain = np.ascontiguousarray(np.where(np.isnan(x), np.nan, x + 0.0))
        _, same = distinct_rows(
            plain.view(np.int64), np.ascontiguousarray(codes[:, self._same_codes], np.int32)
        )
        both = np.column_stack([codes[:, self._codes_at], same]).astype(np.int32)
        m = len(self._clean)
        a = self.placed(people)[:, self._at]
        # A difference there weighs more than all the others together.
        span = np.nanmax(np.abs(np.concatenate([a, self._clean])), axis=0, initial=1.0)
        weights = np.ones(both.shape[1])
        weights[-1] = 1.0 + both.shape[1] + 4.0 * float((span**2).sum())
        return a, both[m:], both[:m], weights

    def find(self, people: People, own: np.ndarray) -> Nearest:
        """The nearest filtered records."""
        a, codes_a, codes_b, weights = self._sides(people)
        return nearest(
            a,
            self._clean,
            own=own,
            codes_a=codes_a,
            codes_b=codes_b,
            nominal_weights=weights,
            tolerance=TOLERANCE,
        )

    def to_own(self, people: People, own: np.ndarray) -> np.ndarray:
        """Squared distance of each target to its own record; infinite where it has none."""
        a, codes_a, codes_b, weights = self._sides(people)
        far = np.full(own.size, np.inf)
        has = own >= 0
        x, y = a[has], self._clean[own[has]]
        gone = np.isnan(x) | np.isnan(y)
        one = np.isnan(x) != np.isnan(y)
        far[has] = np.where(gone, one, (x - y) ** 2).sum(axis=1)
        far[has] += (codes_a[has] != codes_b[own[has]]) @ weights
        return far


def _errors(numbers: Numbers, clean: np.ndarray, context: Context) -> dict[str, float]:
    """Root mean square error before and after, in the original's standard deviations."""
    rows, masked = context.pair.aligned_rows()
    scale = moments_of(numbers.original)[1]
    found = {}
    for what, values in (("released", numbers.masked), ("filtered", clean)):
        step = (values[masked] - numbers.original[rows]) / scale
        here = np.isfinite(step)
        found[what] = float(np.sqrt((step[here] ** 2).mean())) if here.any() else 0.0
    return found
