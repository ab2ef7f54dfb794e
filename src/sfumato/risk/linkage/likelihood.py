"""Record linkage by the masking mechanism's own distribution.

An intruder who knows how the data were masked need not guess at a distance: the mechanism says how
likely each masked record is to have come from the one that he holds (Lasko 2007, section 2.1.1).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from ...data.linkage.linked import Credit, facts_of
from ...data.linkage.linking import Sample, drawn
from ...data.linkage.rank_swapped import in_given_orders
from ...errors import MeasureError
from ...kernels.neighbours.own_score import Sides, log_mixture, own_fit
from ...protocols import Context, Measurement
from ...registry import find
from .base import LinkageMeasure
from .dbrl import link
from .distances import Files, require_values
from .mechanisms import Step, likelihood

_PAIRS = 1_000_000_000
"""Pairs of records whose likelihoods the ratio may add up."""


class LikelihoodLinkage(LinkageMeasure):
    """Share of originals whose likeliest masked record, knowing the mechanism, is their own.

    The likelihood of a masked record b, given the original record a, is the declared mechanism's:
    normal with covariance b S around a (or around a pulled back to the mean) for additive noise,
    the same on logarithms for multiplicative noise; for rank swapping all records within reach in
    every column alike, and no other (longer moves are in truth a little likelier); for PRAM the
    product of the Markov matrices' entries. Columns that are unchanged must be equal, and missing
    values stay missing. Ranks and covariances are those of the records that the step was given,
    where others had been left out before.

    The intruder takes the record with the largest ratio P(b | a) / P(b), Fellegi & Sunter's (Lasko
    2.1), where P(b) is the mean of the likelihood over all originals: in proportion to it is the
    probability that b belongs to a, if he holds the whole file and each masked record is as likely
    to be anyone's. `weigh="likelihood"` compares P(b | a) alone, which is faster and finds fewer.
    Ties count 1/t, and the interval runs from losing every tie to winning every tie.

    `detail["naive"]` is the share that `dbrl` finds (standardized) among the same records, and
    `detail["gain"]` what knowing the mechanism adds. The mechanism is the release's, or the one
    given in `mechanism`; for others than those named above the measure says so and gives no figure.
    """

    name: ClassVar[str] = "likelihood-linkage"
    paper: ClassVar[str] = (
        "Lasko (2007), Spectral anonymization of data, section 2.1.1; Fellegi & Sunter (1969), "
        "A theory for record linkage, JASA 64"
    )
    example: ClassVar[dict[str, Any]] = {"mechanism": {"use": "correlated-noise", "amount": 0.1}}

    mechanism: dict[str, Any] = Field(
        default_factory=dict,
        description="the method that masked the data, { use = NAME, ... }; the release's own "
        "steps unless given",
    )
    weigh: Literal["ratio", "likelihood"] = Field(
        "ratio", description="compare P(b | a) / P(b), or P(b | a) alone"
    )
    sample: Sample = 10_000

    def measure(self, context: Context) -> Measurement:
        steps = self._steps(context)
        context = in_given_orders(replace(context, mechanism=steps))
        pair = context.pair
        files = Files(pair, self.columns, "standardized", self.name)
        require_values(pair, files.names, self.name, all_of_them=True)
        n, m = pair.original.height, pair.masked.height
        here, by_step = likelihood(pair, files.names, steps, context.rng)
        sides = here.sides()
        weight = None
        if self.weigh == "ratio":
            if n * m > _PAIRS:
                raise MeasureError(
                    f"the ratio needs all {n:,} x {m:,} likelihoods, more than {_PAIRS:,}",
                    remedy='weigh = "likelihood", or measure a sample of the records',
                )
            weight = log_mixture(sides)
        rows = drawn(n, self.sample, context.rng)
        found = own_fit(_only(sides, rows), files.own[rows], weight=weight)
        credit = Credit.of(found.best, found.ties)
        naive = link(files.points(files.names), files.own, rows).credit.value
        detail: dict[str, Any] = {
            "naive": naive,
            "gain": credit.value - naive,
            "mechanism": by_step,
            "weigh": self.weigh,
            **facts_of(pair, files.own, files.left_out),
        }
        released = files.own[rows] >= 0
        if impossible := int((released & ~np.isfinite(found.fit)).sum()):
            # Such as whole numbers after noise that has an exact linear relation.
            detail["own_record_impossible"] = impossible
        interval = credit.interval(rows.size < n)
        return self.linked(context, files.own, rows, credit.records, interval, detail)

    def _steps(self, context: Context) -> tuple[Step, ...]:
        if not self.mechanism:
            return context.mechanism
        words = {key: value for key, value in self.mechanism.items() if key != "use"}
        if "use" not in self.mechanism:
            raise MeasureError(
                "`mechanism` does not name a method", remedy='mechanism = { use = "rank-swap" }'
            )
        made: Step = find(str(self.mechanism["use"]), "method").load().build(words)
        return (made,)


def _only(sides: Sides, rows: np.ndarray) -> Sides:
    """The same, for some of the originals."""
    return sides._replace(
        block_a=sides.block_a[rows],
        points_a=sides.points_a[rows],
        ranks_a=sides.ranks_a[rows],
        rows=sides.rows[rows],
    )
