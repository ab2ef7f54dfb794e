"""The non-participant standard: whether a release tells no more than another sample would."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from ..errors import MeasureError
from ..kernels.non_inferiority import one_sided_ks, shortfall
from ..kernels.prediction import Predictions
from ..protocols import Context, Measurement
from .predicted import Predicted, Predicting
from .prediction import quantiles

ASPECTS = ("distance", "ambiguity", "uncertainty")
POINTS = {"distance": 1296, "ambiguity": 324, "uncertainty": 324}
"""The thesis' sub-samples for its Kolmogorov-Smirnov tests."""


class NonParticipation(Predicting):
    """Whether the release predicts participants better than people who did not take part.

    Had somebody stayed away, a release of other people would still tell something about them. The
    standard asks no more than that: prediction distance, ambiguity and uncertainty of the
    participants must not be lower, as distributions, than they would be without them. For each of
    the three, the shortfall is how far the distribution function with the release rises above the
    one without. The figure is the largest upper confidence bound of a shortfall, divided by the
    difference that matters in practice (`distance_margin` for the distance, `margin` for the other
    two). At 1 or below the release passes: with the confidence asked for, no such share of people
    has been moved to values that are worse. Too few records do not pass by default; they fail.

    standard = "sample" (the thesis): participants predicted from the release, beside the same
    participants predicted from the reference sample; the larger of the two is drawn down to the
    size of the smaller. "strangers": participants predicted from the release, beside
    people of the reference sample predicted from the release; sizes need not agree. "auto" takes
    the sample where the reference has as many records as the release, and else the strangers.

    What passing does not mean: it holds for the distribution, not for each person. A release that
    is a sample of strangers with one person's copy in it passes. It holds for these columns as
    encoded here, not for others that an intruder may know. The reference must come from the same
    population, hold nobody of the original, and not have been used to choose the release: choose
    against one sample and confirm on another.

    `detail` has for each of the three the medians, the largest shortfall, its bound, and the
    p-value of the thesis' one-sided Kolmogorov-Smirnov test on its sub-samples, for comparison
    only: that a test does not reject proves nothing. The baseline is the figure that a second
    reference sample would have, where the reference is large enough for two.
    """

    name: ClassVar[str] = "non-participation"
    paper: ClassVar[str] = (
        "Lasko (2007), Spectral anonymization of data, PhD thesis, MIT, sections 3.1 and 5.2.1; "
        "Berger & Hsu (1996), Bioequivalence trials, intersection-union tests and equivalence "
        "confidence sets, Statistical Science 11"
    )
    limit: ClassVar[float | None] = 1.0
    needs_reference: ClassVar[bool] = True

    standard: Annotated[
        Literal["auto", "sample", "strangers"],
        Field(
            description="what participants are compared with: themselves predicted from the "
            "reference sample, or its strangers predicted from the release"
        ),
    ] = "auto"
    distance_margin: Annotated[
        float, Field(gt=0, le=1, description="share of people by which distances may be worse")
    ] = 0.05
    margin: Annotated[
        float,
        Field(gt=0, le=1, description="share by which ambiguities and uncertainties may be worse"),
    ] = 0.1
    confidence: Annotated[float, Field(ge=0.5, lt=1, description="of each upper bound")] = 0.95

    def measure(self, context: Context) -> Measurement:
        if context.reference is None:
            raise MeasureError(
                "non-participation compares with people who did not take part, and there is no "
                "reference sample",
                remedy="reference = 0.5 under [input], or sf.reference_split before masking",
            )
        found = self.predicted(context)
        standard = self._standard(found)
        by_sample = standard == "sample"
        ours = found.by_as_many if by_sample else found.by_release
        theirs = found.by_reference if by_sample else found.of_strangers
        parts, private = self._compared(ours, theirs, by_sample, context.rng)
        detail: dict[str, Any] = {"standard": standard, "moments": self.moments, **found.facts}
        if by_sample:
            detail["compared_records"] = min(found.released, found.others)
        baseline = None
        if by_sample and found.others >= 2 * found.released:
            second = self._compared(found.by_others, theirs, True, context.rng)[0]
            baseline = max(part["ratio"] for part in second.values())
            detail["baseline"] = "a second sample of people who did not take part"
        value = max(part["ratio"] for part in parts.values())
        detail |= {"passes": bool(value <= 1.0), "confidence": self.confidence, **parts}
        kept = all(part["largest_shortfall"] <= part["margin"] for part in parts.values())
        if value > 1.0 and kept:
            detail["because"] = (
                f"no shortfall was found beyond the margins, but {len(ours.distance):,} records "
                "are too few to be sure: release or hold out more, or allow larger margins"
            )
        return self.result(value, baseline=baseline, detail=detail, private=private)

    def _standard(self, found: Predicted) -> str:
        standard = self.standard
        if standard == "auto":
            standard = "sample" if found.others >= found.released else "strangers"
        if standard == "sample" and found.others < self.k:
            raise MeasureError(
                f"{self.name} needs k = {self.k} records of the reference sample and there are "
                f"{found.others}",
                remedy='a larger reference sample, or standard = "strangers"',
            )
        return standard

    def _compared(
        self, ours: Predictions, theirs: Predictions, paired: bool, rng: np.random.Generator
    ) -> tuple[dict[str, dict[str, float]], dict[str, Any]]:
        """For each of the three what is published, and what is not."""
        public: dict[str, dict[str, float]] = {}
        private: dict[str, Any] = {}
        for aspect in ASPECTS:
            x, y = getattr(ours, aspect), getattr(theirs, aspect)
            margin = self.distance_margin if aspect == "distance" else self.margin
            worse = shortfall(x, y, paired=paired, confidence=self.confidence)
            public[aspect] = {
                "median": float(np.median(x)),
                "reference_median": float(np.median(y)),
                "largest_shortfall": worse.largest,
                "upper_bound": worse.upper,
                "margin": margin,
                "ratio": worse.upper / margin,
                "ks_p_value": one_sided_ks(x, y, points=POINTS[aspect], rng=rng)[1],
            }
            private[aspect] = {
                "quantiles": quantiles(x),
                "reference_quantiles": quantiles(y),
                "at": worse.at,
            }
        return public, private
