"""What helps where attacks refused a release: by the attack that decided."""

from __future__ import annotations

from collections.abc import Iterable

from ...protocols import Finding, Measurement
from ..plan.plan import Plan

_KNOWN = "mask what the intruder knows more strongly: larger k, coarser hierarchies, fewer columns"
_ALIKE = "let classes differ: l-diversity or t-closeness as criteria of the search"
_NEAR = "perturb the confidential columns too, which lie beside a class as they are"
_MODEL = "publish records drawn from a model (sequential-trees)"
_FAMILIES = (
    (("singling-out", "predicate-singling-out", "linkability", "repu"), _KNOWN),
    (
        ("homogeneity", "disco", "background-knowledge", "inference"),
        f"{_ALIKE}; or leave the column out that he learns",
    ),
    (("minimality",), "a larger k, or a search without criteria on confidential values"),
    (
        ("reconstruction", "downcoding"),
        "coarser hierarchies, or leave out the columns that tell what is hidden",
    ),
    (("closest-record", "density-ratio", "likelihood-ratio"), _NEAR),
    (("tracing",), "tables of two columns tell too much: publish fewer columns, or fewer records"),
    (("maximum-a-posteriori",), "more noise, a larger p"),
    (("composition",), 'name the earlier release ([input] given), given-join = "keep"'),
)
_ANY = "mask what the intruder knows more strongly, or leave out the column that he learns"
_DRAWN = "sequential-trees"


def advice(finding: Finding, found: Measurement, plan: Plan) -> str:
    """Why nothing was tried, and what helps.

    Where an attack that was shown exceeds the limit, that is what refuses; else it is that too few
    people were attacked, or that time was up.
    """
    told = found.detail.get("attacks", {})
    over = {name: one["upper"] for name, one in told.items() if one["shown"]}
    worst = max(over, key=lambda name: over[name], default="")
    helps = []
    if worst and over[worst] > finding.limit:
        helps += [f"against {worst}, {_against(worst, _drawn(plan))}"]
    if not all(one["shown"] for one in told.values()):
        helps += ["more people, in the data and outside of it"]
    if found.detail.get("unfinished"):
        helps += ["more seconds"]
    said = "no change was tried, since each would have to be attacked anew"
    return f"{said}; what helps: {'; '.join(helps)}" if helps else said


def _drawn(plan: Plan) -> bool:
    """Whether the plan draws its records from a model already."""
    return any(part.name == _DRAWN for step in plan.steps for part in step.parts)


def _against(attack: str, drawn: bool) -> str:
    """What helps against one attack."""
    if drawn:
        return "more caution of sequential-trees, a larger leaf, or fewer columns"
    listed: Iterable[str] = (words for names, words in _FAMILIES if attack in names)
    return f"{next(iter(listed), _ANY)}; or {_MODEL}"
