"""What would help a refused plan: each suggestion was run on the data, and says what it gave."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...data.pair import Pair
from ...data.schema import Kind
from ...data.table import Table
from ...errors import SfumatoError
from ...protocols import Criterion, Finding, Partitioner
from ..plan import toml
from ..plan.plan import Plan
from ..plan.requirement import Requirement
from ..plan.step import Step, build
from .evidence import Measuring

Attempt = Callable[..., tuple[list[Finding], Any]]

_PATIENCE_S = 60.0
_MOST = 4
_STRONGER = (1.5, 2.0, 3.0, 5.0, 8.0, 12.0)
# What holds of every table, besides whole numbers of records or values, of which there is always 1.
_EMPTY_PROMISE = dict.fromkeys(
    ("l-diversity", "t-closeness", "average-risk", "population-uniqueness"), 1.0
)
# What searches there are for sets, by the requirement that each is made to keep; the strongest
# promise first.
_FOR_SETS = {
    "k-anonymity": "set-mondrian",
    "kk-anonymity": "kk-cluster",
    "k1-anonymity": "k1-top-down",
    "km-anonymity": "km-suppression",
}
_SUPPRESSIONS = ("local-suppression", "km-suppression")
_STRENGTH = ("k", "amount", "p", "count", "size")
"""Parameters that make a step mask more the larger they are."""


@dataclass(frozen=True)
class Hint:
    """What would help, in words, where no plan was tried."""

    text: str

    def __str__(self) -> str:
        return self.text

    def to_dict(self) -> dict[str, Any]:
        """For `--json`."""
        return {"change": self.text}


@dataclass(frozen=True)
class Remedy:
    """One change to a plan that meets every requirement, with the figures that it gave."""

    change: str
    """What to write in the plan file."""
    plan: Plan
    findings: tuple[Finding, ...]
    ncp: tuple[float, float] | None = None
    """Information loss of the refused plan and of this one."""

    def __str__(self) -> str:
        figures = [f"{f.subject} {f.value:.4g}" for f in self.findings]
        if self.ncp is not None:
            figures.append(f"NCP {self.ncp[0]:.3f} -> {self.ncp[1]:.3f}")
        return f"{self.change:<44} (estimated {', '.join(figures)})"

    def to_dict(self) -> dict[str, Any]:
        """For `--json`."""
        found: dict[str, Any] = {
            "change": self.change,
            "plan": self.plan.to_toml(show_secrets=False),
            "estimated": [finding.to_dict() for finding in self.findings],
        }
        if self.ncp is not None:
            found["ncp"] = {"before": self.ncp[0], "after": self.ncp[1]}
        return found


def remedies_for(
    plan: Plan,
    original: Table,
    seed: int,
    findings: Sequence[Finding],
    reference: Table | None,
    attempt: Attempt,
) -> list[Remedy]:
    """Changes that were tried and worked; the last one asks for what was found."""
    end = time.monotonic() + _PATIENCE_S
    before = _ncp(attempt(plan, original, seed, reference)[1].pair, seed)
    found: list[Remedy] = []
    tried = [plan]
    sets = any(
        column.kind == Kind.SET and column.name in original.schema.quasi
        for column in original.schema
    )
    families = _set_families(plan, findings) if sets else _families(plan, findings)
    for family in families:
        for change, candidate in family:
            if time.monotonic() > end or len(found) >= _MOST:
                break
            if candidate in tried:
                continue
            tried.append(candidate)
            try:
                outcome, draft = attempt(candidate, original, seed, reference)
            except SfumatoError:
                continue  # this change does not fit the table: not a remedy
            if all(finding.met for finding in outcome):
                after = _ncp(draft.pair, seed)
                ncp = None if before is None or after is None else (before, after)
                found.append(Remedy(change, candidate, tuple(outcome), ncp))
                break  # the mildest of its family
    loosened = _loosen(plan, findings)
    if loosened is not None:
        found.append(loosened)
    return found


def _ncp(pair: Pair, seed: int) -> float | None:
    try:
        return float(Measuring(seed).take(build("measure", "ncp", {}), pair))
    except SfumatoError:
        return None


def _families(plan: Plan, findings: Sequence[Finding]) -> Iterator[Iterator[tuple[str, Plan]]]:
    """Ways to mask more, each from mild to strong."""
    k = max((int(f.limit) for f in findings if f.requirement == "k-anonymity"), default=0)
    yield from _joined_or_stronger(plan, k)
    yield _appended(plan, k)
    yield _other_search(plan, k)


def _set_families(plan: Plan, findings: Sequence[Finding]) -> Iterator[Iterator[tuple[str, Plan]]]:
    """The same where quasi-identifiers hold sets: to suppress or to generalize a whole set says
    nothing of it, so only searches for sets are tried."""
    k = max((int(f.limit) for f in findings if f.requirement in _FOR_SETS), default=0)
    yield from _joined_or_stronger(plan, k)
    broken = {finding.requirement for finding in findings if not finding.met}
    for name in [name for name in _FOR_SETS if name in broken] or ["k-anonymity"]:
        yield _set_search(plan, name, k)


def _joined_or_stronger(plan: Plan, k: int) -> Iterator[Iterator[tuple[str, Plan]]]:
    """The steps that there are, with stronger parameters."""
    if plan.input.given and plan.input.given_join == "refuse":
        joining = plan.input.model_copy(update={"given_join": "coarsen"})
        yield iter([('[input] given-join = "coarsen"', plan.with_(input=joining))])
    for index, step in enumerate(plan.steps):
        for name in _STRENGTH:
            if name in type(step.use).model_fields:
                yield _stronger(plan, index, name, k)


def _stronger(plan: Plan, index: int, name: str, k: int) -> Iterator[tuple[str, Plan]]:
    step = plan.steps[index]
    now = getattr(step.use, name)
    if not isinstance(now, int | float):
        return  # a parameter that is chosen by itself has no stronger value
    whole = isinstance(now, int)
    values = [now * factor for factor in _STRONGER if now]
    if name == "k" and k > now:
        values.insert(0, k)
    for value in dict.fromkeys(int(-(-v // 1)) if whole else float(v) for v in values):
        use = _rebuilt(step, {name: value})
        if use is None:
            continue
        steps = (*plan.steps[:index], Step(use, step.then), *plan.steps[index + 1 :])
        yield f"steps.{index + 1}: {name} = {toml.value(value)}", plan.with_(steps=steps)


def _rebuilt(step: Step, changes: dict[str, Any]) -> Any:
    cls = type(step.use)
    parameters = {**step.use.parameters(), **changes}
    return None if cls.complaints(parameters) else cls.build(parameters)


def _appended(plan: Plan, k: int) -> Iterator[tuple[str, Plan]]:
    """One more step: suppress the cells that still stand out."""
    if k < 2:
        return
    steps = (*plan.steps, Step(build("method", "local-suppression", {"k": k})))
    yield f'one more step: use = "local-suppression", k = {k}', plan.with_(steps=steps)


def _other_search(plan: Plan, k: int) -> Iterator[tuple[str, Plan]]:
    """Generalize by groups, in place of the searches and suppressions there are."""
    largest = max((getattr(step.use, "k", 0) for step in plan.steps), default=0)
    gone = [step for step in plan.steps if _groups_or(step, "local-suppression")]
    if [step.use.name for step in gone] == ["mondrian"]:
        return  # it is Mondrian already, and a larger k was tried before
    kept, instead = _without(plan, gone)
    for size in dict.fromkeys(max(2, k, int(largest * factor)) for factor in (1.0, *_STRONGER)):
        step = Step(build("partitioner", "mondrian", {"k": size}))
        yield f'use = "mondrian", k = {size}{instead}', plan.with_(steps=(*kept, step))


def _groups_or(step: Step, *suppressions: str) -> bool:
    """Whether a step groups records or suppresses cells. One on named columns may guard something
    else than the quasi-identifiers, and does not count."""
    search = isinstance(step.use, Partitioner) or step.use.name in suppressions
    return search and not step.use.columns


def _without(plan: Plan, gone: Sequence[Step]) -> tuple[list[Step], str]:
    """The other steps, and what is said of those that give way."""
    instead = f" instead of {', '.join(step.use.name for step in gone)}" if gone else ""
    return [step for step in plan.steps if step not in gone], instead


def _set_search(plan: Plan, requirement: str, k: int) -> Iterator[tuple[str, Plan]]:
    """The search that keeps this requirement, in place of those for sets that there are."""
    name = _FOR_SETS[requirement]
    asked = next((r.thing for r in plan.requirements if r.name == requirement), None)
    words: dict[str, Any] = {}
    if name == "km-suppression":
        words["m"] = getattr(asked, "m", 2)
        if column := getattr(asked, "column", ""):
            words["columns"] = [column]
    gone = [
        step
        for step in plan.steps
        if _groups_or(step, *_SUPPRESSIONS) and (not step.use.kinds or Kind.SET in step.use.kinds)
    ]
    same = [step.use.name for step in gone] == [name]
    if same and words.get("m", 0) <= getattr(gone[0].use, "m", 0):
        return  # a larger k was tried before
    kept, instead = _without(plan, gone)
    least = max(2, int(getattr(asked, "k", k)))
    more = "".join(f", {key} = {toml.value(value)}" for key, value in words.items())
    sizes = [least, max(least, k), *(int(least * factor) for factor in _STRONGER)]
    for size in dict.fromkeys(sizes):
        step = Step(build("method|partitioner", name, {"k": size, **words}))
        yield f'use = "{name}", k = {size}{more}{instead}', plan.with_(steps=(*kept, step))


def _loosen(plan: Plan, findings: Sequence[Finding]) -> Remedy | None:
    """Ask for what was found instead: honest, and sometimes right."""
    loosened: list[Requirement] = []
    changes, outcome = [], []
    # Further findings are about earlier releases, which nothing here undoes.
    if not all(finding.met for finding in findings[len(plan.requirements) :]):
        return None
    for requirement, finding in zip(plan.requirements, findings, strict=False):
        if finding.met:
            loosened.append(requirement)
            outcome.append(finding)
            continue
        other = _at_limit(requirement, finding)
        if other is None:
            return None
        loosened.append(other)
        changes.append(f"{requirement.name} = {toml.value(other.to_plan())}")
        outcome.append(
            Finding(
                finding.requirement,
                finding.subject,
                finding.value,
                _limit_of(other),
                met=True,
                at_least=finding.at_least,
            )
        )
    return Remedy("; ".join(changes), plan.with_(requirements=tuple(loosened)), tuple(outcome))


def _at_limit(requirement: Requirement, finding: Finding) -> Requirement | None:
    """The requirement with its limit moved to the value found, rounded to the safe side."""
    value = finding.value
    if not isinstance(requirement.thing, Criterion):
        if value != value or (requirement.at_most is not None and value == 1):
            return None  # a share is never above 1
        if requirement.at_least is None:
            return replace(requirement, at_most=value)
        return replace(requirement, at_least=value)
    field = type(requirement.thing).shorthand
    if not field:
        return None
    whole = isinstance(getattr(requirement.thing, field), int)
    if (whole and finding.at_least and value < 2) or value == _EMPTY_PROMISE.get(requirement.name):
        return None  # to promise what holds of every table is no remedy
    parameters = {**requirement.thing.parameters(), field: int(value) if whole else value}
    cls = type(requirement.thing)
    return None if cls.complaints(parameters) else Requirement(cls.build(parameters))


def _limit_of(requirement: Requirement) -> float:
    if isinstance(requirement.thing, Criterion):
        return float(getattr(requirement.thing, type(requirement.thing).shorthand))
    limit = requirement.at_least if requirement.at_least is not None else requirement.at_most
    return float(limit or 0.0)
