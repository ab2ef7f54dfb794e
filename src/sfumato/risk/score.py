"""Scores: one figure for disclosure risk, and one for risk and loss together.

The comparisons of masking methods (Domingo-Ferrer & Torra 2001; Nin, Herranz & Torra 2008) average
percentages: DLD of distance-based, PLD of probabilistic and RSLD of specific record linkage, ID of
interval disclosure, each over what an intruder may know; and IL of information loss.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from ..measurement import Depends
from ..nested import MeasureParameter, named
from ..protocols import Context, Measure, Measurement

WEIGHTS: dict[str, dict[str, float]] = {
    "general": {"DLD": 1 / 4, "PLD": 1 / 4, "ID": 1 / 2},
    "specific": {"RSLD": 1 / 6, "DLD": 1 / 6, "PLD": 1 / 6, "ID": 1 / 2},
    "only-specific": {"RSLD": 1 / 2, "ID": 1 / 2},
    "printed": {"RSLD": 1 / 3, "DLD": 1 / 6, "PLD": 1 / 6, "ID": 1 / 3},
}
"""DR by its parts. The table of Torra's slides says "specific", and was printed with "printed"."""

_PAPER = (
    "Domingo-Ferrer & Torra (2001), A quantitative comparison of disclosure control methods for "
    "microdata; Nin, Herranz & Torra (2008), Rethinking rank swapping to decrease disclosure risk"
)
_Weights = Annotated[
    Literal["general", "specific", "only-specific", "printed"],
    Field(
        description="DR: DLD/4 + PLD/4 + ID/2; with RSLD at one sixth each; RSLD/2 + ID/2; or "
        "RSLD/3 + DLD/6 + PLD/6 + ID/3, which the slides' figures follow"
    ),
]


def _seven(measure: str) -> dict[str, Any]:
    return {"use": measure, "scenarios": 7}


class DisclosureRisk(Measure):
    """Disclosure risk in percent: record linkage and interval disclosure, averaged.

    DR = DLD/4 + PLD/4 + ID/2, or with the linkage that is specific to rank swapping (`weights`).
    Linkages are averaged over intruders who know the first 1 to 7 columns. `detail` has the parts.
    """

    name: ClassVar[str] = "disclosure-risk"
    depends: ClassVar[Depends | None] = "values"
    aliases: ClassVar[tuple[str, ...]] = ("dr",)
    paper: ClassVar[str] = _PAPER
    about: ClassVar[Literal["risk", "utility"]] = "risk"
    bounds: ClassVar[tuple[float, float]] = (0.0, 100.0)
    compares: ClassVar[str | None] = "records"

    weights: _Weights = "general"
    distance: MeasureParameter = Field(
        default=_seven("dbrl"), description="DLD", validate_default=True
    )
    probabilistic: MeasureParameter = Field(
        default=_seven("prl"), description="PLD", validate_default=True
    )
    specific: MeasureParameter = Field(
        default=_seven("rs-rl"), description="RSLD", validate_default=True
    )
    interval: MeasureParameter = named("interval-disclosure", "ID")

    def measure(self, context: Context) -> Measurement:
        parts = self.measured(context)
        return self.result(self.total(parts), detail={"parts": parts, "weights": self.weights})

    def measured(self, context: Context) -> dict[str, float]:
        """What is averaged, in percent."""
        gauges = {
            "RSLD": self.specific,
            "DLD": self.distance,
            "PLD": self.probabilistic,
            "ID": self.interval,
        }
        return {
            part: 100.0 * float(gauges[part].measure(context)) for part in WEIGHTS[self.weights]
        }

    def total(self, parts: dict[str, float]) -> float:
        """DR from its parts."""
        return sum(share * parts[part] for part, share in WEIGHTS[self.weights].items())


class Score(Measure):
    """Information loss and disclosure risk, averaged: the lower, the better the release.

    Score = (IL + DR) / 2, both in percent. A good score may hide a high risk behind a low loss:
    look at `detail`, or at a risk-utility map.
    """

    name: ClassVar[str] = "score"
    leverage: ClassVar[float] = 300.0
    squares: ClassVar[bool] = True
    depends: ClassVar[Depends | None] = "values"
    paper: ClassVar[str] = _PAPER
    about: ClassVar[Literal["risk", "utility"]] = "risk"
    compares: ClassVar[str | None] = "records"

    risk: MeasureParameter = named("disclosure-risk", "DR, in percent")
    loss: MeasureParameter = named("information-loss", "IL, in percent")

    def measure(self, context: Context) -> Measurement:
        # What the parts may not publish in full, their mean may not either.
        risk, loss = (gauge.measure(context).public() for gauge in (self.risk, self.loss))
        detail = {
            "risk": risk.value,
            "loss": loss.value,
            "risk_parts": dict(risk.detail).get("parts", {}),
            "loss_parts": dict(loss.detail).get("parts", {}),
        }
        return self.result((risk.value + loss.value) / 2, detail=detail)
