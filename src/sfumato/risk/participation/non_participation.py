"""The non-participant standard: whether a release tells no more than another sample would."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from ...data.linkage.linking import drawn
from ...data.points.encoding import Moments
from ...data.schema import Role
from ...errors import MeasureError
from ...kernels.neighbours.prediction import Predictions
from ...kernels.statistics.non_inferiority import (
    ENOUGH,
    MARGINS,
    Shortfall,
    one_sided_ks,
    shortfall,
)
from ...protocols import Context, Measurement
from ...rng import stream
from .copies import copies, subsets
from .predicted import Predicted, Predicting
from .prediction import quantiles

POINTS = {"distance": 1296, "ambiguity": 324, "uncertainty": 324}
"""The thesis' sub-samples for its Kolmogorov-Smirnov tests."""
FEWEST_LONE = 100
"""People with a record of their own whose share means something."""

Parts = dict[str, dict[str, float]]


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
    Two more shortfalls must keep `margin`: of the distances from released records to the nearest
    original, beside those of strangers ("released": a release of few people is not lost among the
    many whom it leaves out), and of people with a record of their own that comes back as it was
    ("lone people", where categories let that happen by chance; with the standard "sample").

    All columns weigh alike: two people's categories differ by as much as their numbers on average.
    form = "thesis" has no test of copies, and every category is a coordinate of full weight: a
    column of many then outweighs age and income.

    Released numbers are standardized by their own middle and width, so that an offset or another
    unit does not hide copies, and by the original's mean and deviation, so that leaving out the
    extreme people does not. The worse of both counts; `detail["placement"]` says which it was. The
    columns must mean in the release what they mean in the original: one that is reversed, taken as
    1/x or whose categories changed names hides what it holds from this measure.

    standard = "sample" (the thesis): participants predicted from the release, beside the same
    participants predicted from the reference sample; the larger of the two is drawn down to the
    size of the smaller, and at most as many participants are predicted, as they share its records
    and are no more evidence than these. It needs a reference of at least 0.9 of the release's
    records: copies are rarer in a part of the release, for which the figure is corrected.
    "strangers": participants predicted from the release, beside people of the reference sample
    predicted from the release; sizes need not agree. "auto" takes the sample where the reference
    has enough records, and else the strangers.

    Distances do not see a few copies, nor copies of some columns. So two tests stand beside them
    (form = "columns"): whether released records agree with participants more often than with
    strangers, in all columns ("copies") and in subsets of them ("subsets": the quasi-identifiers,
    pairs, threes and random halves). To agree is to be equal, or to lie in the same interval of a
    quarter of a deviation, or of a whole one. Agreement in rare cells weighs more: rare among
    participants and strangers together, so that dealing out anew who took part is a valid test;
    households are dealt as one. The largest of all excesses is judged by the largest that 999
    such deals give, each family at 0.01: an honest release is refused by chance in one of fifty
    cases. `smallest_share` is the smallest share of copies that nineteen of twenty releases with
    them would have shown; 1 where none would. With 2,500 records on each side it is about 0.01
    where strangers never agree, and 0.03 where a fifth of them do.

    What passing does not mean: distance tests are necessary, not sufficient. It holds for the
    distribution, not for each person: fewer copies than `smallest_share` pass. It holds for these
    columns as encoded here, not for others that an intruder may know. The reference must come from
    the same population, hold nobody of the original (which is looked for, and refused), and not
    have been used to choose the release: choose against one sample and confirm on another.

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

    form: Literal["columns", "thesis"] = Field(
        "columns",
        description="all columns weigh alike, and copies are looked for in all columns and in "
        "subsets of them; or distances alone, in which all coordinates weigh alike",
    )
    standard: Literal["auto", "sample", "strangers"] = Field(
        "auto",
        description="what participants are compared with: themselves predicted from the "
        "reference sample, or its strangers predicted from the release",
    )
    distance_margin: float = Field(
        MARGINS["distance"],
        gt=0,
        le=1,
        description="share of people by which distances may be worse",
    )
    margin: float = Field(
        MARGINS["ambiguity"],
        gt=0,
        le=1,
        description="share by which ambiguities and uncertainties may be worse",
    )
    confidence: float = Field(0.95, ge=0.5, lt=1, description="of each upper bound")
    bound: Literal["pointwise", "bootstrap"] = Field(
        "pointwise",
        description="how it is found: at every value, or by drawing the records again, which "
        "errs more often and passes less often",
    )

    @property
    def by_columns(self) -> bool:
        return self.form == "columns"

    def measure(self, context: Context) -> Measurement:
        if context.reference is None:
            raise MeasureError(
                "non-participation compares with people who did not take part, and there is no "
                "reference sample",
                remedy="reference = 0.5 under [input], or reference_split before masking",
            )
        found = self.predicted(context)
        _check_columns(context, found)
        found.refuse_participants()
        standard = self._standard(found)
        by_sample = standard == "sample"
        detail: dict[str, Any] = {"standard": standard, "moments": self.moments, **found.facts}
        kept, some = 1.0, None
        if by_sample:
            compared = min(found.released, found.others)
            kept = compared / found.released
            some = drawn(found.rows.size, compared, stream(0, 0, "non-participation/targets"))
            detail |= {"compared_records": compared, "predicted_records": some.size}
        at = {
            place: self._compared(
                found.by_as_many(place) if by_sample else found.by_release(place),
                found.by_reference(place) if by_sample else found.of_strangers(place),
                some,
                kept,
                context.rng,
            )
            for place in found.placements
        }
        for place, (parts, _) in at.items():
            parts |= self._further(found, place, some, kept, context.rng)
        ratios = {place: _largest(parts) for place, (parts, _) in at.items()}
        worst = max(ratios, key=lambda place: ratios[place])
        value, (parts, private) = ratios[worst], at[worst]
        if len(ratios) > 1:
            detail |= {"placement": worst, "placements": ratios}
        elif self.moments == "worst":
            detail["placement"] = "both are the same"
        baseline = None
        if by_sample and found.others >= 2 * found.released:
            baseline = max(
                _largest(
                    self._compared(
                        found.by_others(place), found.by_reference(place), some, 1.0, context.rng
                    )[0]
                )
                for place in found.placements
            )
            detail["baseline"] = "a second sample of people who did not take part"
        agreeing = self._agreeing(context, found) if self.by_columns else {}
        told = max((part["ratio"] for part in agreeing.values()), default=0.0)
        too_few = value > 1.0 and not any(_proven(parts, kept) for parts, _ in at.values())
        value = max(value, told)
        detail |= {"passes": bool(value <= 1.0), "confidence": self.confidence, **parts, **agreeing}
        if agreeing:
            detail["sees"] = _sees(agreeing)
        if told > 1.0:
            detail["because"] = _agreement(agreeing)
        elif too_few:
            seen = found.rows.size if some is None else some.size
            detail["because"] = (
                f"no shortfall beyond the margins is proven, but {seen:,} records are too few to "
                "be sure that there is none: release or hold out more, or allow larger margins"
            )
        return self.result(value, baseline=baseline, detail=detail, private=private)

    def _agreeing(self, context: Context, found: Predicted) -> dict[str, dict[str, Any]]:
        """Whether released records agree with participants more often than with strangers."""
        schema, names = context.pair.original.schema, found.encoding.names
        quasi = [j for j, name in enumerate(names) if schema[name].role == Role.QUASI]
        crowd, seen = found.crowd(), found.rows.size / found.records
        parts = {"copies": copies(crowd, seen)}
        told, worst = subsets(crowd, quasi, seen)
        if told:
            parts["subsets"] = told | {"worst": [names[j] for j in worst]}
        return parts

    def _standard(self, found: Predicted) -> str:
        enough = found.others >= ENOUGH * found.released
        if self.standard == "strangers" or (self.standard == "auto" and not enough):
            return "strangers"
        if found.others < self.k:
            raise MeasureError(
                f"{self.name} needs k = {self.k} records of the reference sample and there are "
                f"{found.others}",
                remedy='a larger reference sample, or standard = "strangers"',
            )
        if not enough:
            raise MeasureError(
                f"the reference sample has {found.others:,} records and the release "
                f"{found.released:,}: in a part of the release as small as the sample, copies of "
                "participants are too rare",
                remedy='standard = "strangers", or a reference sample as large as the release',
            )
        return "sample"

    def _compared(
        self,
        ours: Predictions,
        theirs: Predictions,
        some: np.ndarray | None,
        kept: float,
        rng: np.random.Generator,
    ) -> tuple[Parts, dict[str, Any]]:
        """For each of the three what is published, and what is not.

        `some`: which of the same people both predict, of whom the share `kept` can have a copy.
        """
        public: Parts = {}
        private: dict[str, Any] = {}
        for aspect in MARGINS:
            x, y = getattr(ours, aspect), getattr(theirs, aspect)
            if some is not None:
                x, y = x[some], y[some]
            margin = self.distance_margin if aspect == "distance" else self.margin
            worse = self._shortfall(x, y, rng, paired=some is not None)
            public[aspect] = {
                "median": float(np.median(x)),
                "reference_median": float(np.median(y)),
                **_judged(worse, margin, kept),
                "ks_p_value": one_sided_ks(x, y, points=POINTS[aspect], rng=rng)[1],
            }
            private[aspect] = {
                "quantiles": quantiles(x),
                "reference_quantiles": quantiles(y),
                "at": worse.at,
            }
        return public, private

    def _shortfall(
        self, x: np.ndarray, y: np.ndarray, rng: np.random.Generator, *, paired: bool
    ) -> Shortfall:
        return shortfall(x, y, paired=paired, confidence=self.confidence, bound=self.bound, rng=rng)

    def _further(
        self,
        found: Predicted,
        place: Moments,
        some: np.ndarray | None,
        kept: float,
        rng: np.random.Generator,
    ) -> Parts:
        """What the three do not see: released records too near to an original, however few they
        are, and lone people whose whole record comes back."""
        parts: Parts = {}
        released, strangers = found.nearest_originals(place)
        worse = self._shortfall(released, strangers, rng, paired=False)
        parts["released"] = _judged(worse, self.margin, 1.0)
        lone = None if some is None else some[found.unique[some]]
        if lone is not None and lone.size >= FEWEST_LONE:
            mine = found.by_as_many(place).distance[lone] > 0
            theirs = found.by_reference(place).distance[lone] > 0
            worse = self._shortfall(mine.astype(float), theirs.astype(float), rng, paired=True)
            parts["lone people"] = _judged(worse, self.margin, kept)
        return parts


def _check_columns(context: Context, found: Predicted) -> None:
    """An error where a released column cannot be compared for want of it in the reference."""
    assert context.reference is not None
    for name in found.left_out:
        if name in context.pair.masked.schema and name not in context.reference.schema:
            raise MeasureError(
                f"column {name!r} is released and the reference sample does not have it",
                remedy="give it to the reference sample, or name the others in `columns`",
            )


def _agreement(parts: dict[str, dict[str, Any]]) -> str:
    """What to say of a release that holds copies."""
    where = "in all columns"
    if parts["copies"]["ratio"] <= 1.0:
        where = "in " + ", ".join(parts["subsets"]["worst"])
    return (
        "released records agree with participants more often than with people who did not take "
        f"part, {where}"
    )


def _sees(parts: dict[str, dict[str, Any]]) -> str:
    """Which copies would have been seen, for whoever reads that a release passes."""
    least = parts["copies"]["smallest_share"]
    halves = parts.get("subsets", {}).get("smallest_share", {}).get("halves")
    shares = {**least, **({} if halves is None else {"in half of the columns": halves})}
    told = [f"{100 * share:.3g} % ({how})" for how, share in shares.items() if share < 1.0]
    blind = [how for how, share in shares.items() if share >= 1.0]
    said = [f"copies of {', '.join(told)} would have been seen, fewer pass"] if told else []
    return "; ".join([*said, *(f"copies {how} cannot be seen" for how in blind)])


def _judged(worse: Shortfall, margin: float, kept: float) -> dict[str, float]:
    return {
        "largest_shortfall": worse.largest,
        "upper_bound": worse.upper,
        "margin": margin,
        "ratio": worse.upper / (margin * kept),
    }


def _largest(parts: Parts) -> float:
    return max(part["ratio"] for part in parts.values())


def _proven(parts: Parts, kept: float) -> bool:
    """Whether some shortfall is beyond its margin by more than chance would explain.

    The largest of many differences strays further than one of them: Kolmogorov's band is about 1.5
    times as wide as the bound at one point.
    """
    return any(
        part["largest_shortfall"] - 1.5 * (part["upper_bound"] - part["largest_shortfall"])
        > part["margin"] * kept
        for part in parts.values()
    )
