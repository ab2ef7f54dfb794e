"""`sfumato protect PLAN --apply N`: a refused plan changed by a remedy, and written beside it."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from typer import Option

from ..addresses import holds_secret
from ..aside import replacing
from ..errors import ParameterError, ReleaseRefused
from . import base, show
from .saying import say

if TYPE_CHECKING:
    from ..release.plan.plan import Plan
    from ..release.remedies.remedy import Remedy

Released = TypeVar("Released")

Apply = Annotated[
    int | None,
    Option(
        min=1,
        metavar="N",
        help="Where the plan is refused, release by remedy N and write PLAN.new.toml; never by a "
        "weaker limit.",
    ),
]


@dataclass(frozen=True)
class Applied:
    """A remedy, and the plan file that says it."""

    remedy: Remedy
    target: Path
    text: str
    lines: tuple[str, ...]
    """Which lines changed."""

    def to_dict(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "change": self.remedy.change,
            "plan": str(self.target),
            "lines": list(self.lines),
        }

    def show(self) -> None:
        """The changed lines, on standard output."""
        say(f"\nwrote {self.target}: {self.remedy.change}")
        say("\n".join(self.lines))


def new_plan(plan: Path, *, replace: bool) -> Path:
    """Where the changed plan goes; it must be free."""
    target = plan.with_name(f"{plan.stem}.new.toml")
    base.refuse_existing(target, replace=replace, other="another name for the plan that is there")
    return target


def applied(refused: ReleaseRefused, number: int, plan: Path, target: Path) -> Applied:
    """Remedy `number` of a refusal, as a plan file; the refusal itself where there is none."""
    from ..release.plan.plan import Plan
    from ..release.plan.rewriting import rewritten

    found = [remedy for remedy in refused.remedies if hasattr(remedy, "plan")]
    if number > len(found):
        show.notes_aside(f"there is no remedy {number}: {len(found)} were found")
        raise refused
    remedy = found[number - 1]
    if remedy.weaker:
        # Less protection is decided, not taken from a list.
        show.notes_aside(
            f"remedy {number} asks for less than your plan does, and was not applied: if that is "
            f"right, write it under [require] of {plan} yourself: {remedy.change}"
        )
        raise refused
    before = plan.read_text(encoding="utf-8-sig")
    text = rewritten(before, remedy.plan, plan.parent)
    if holds_secret((now := Plan.read(plan)).input.path):
        before = rewritten(before, now, plan.parent)  # the lines that changed are shown
    lines = difflib.unified_diff(
        before.splitlines(), text.splitlines(), plan.name, target.name, lineterm="", n=1
    )
    return Applied(remedy, target, text, tuple(lines))


def run(
    attempt: Callable[[Plan], Released], chosen: Plan, number: int | None, plan: Path, target: Path
) -> tuple[Released, Applied | None]:
    """What a plan releases or, where it is refused and `number` says which, what a remedy does."""
    try:
        release = attempt(chosen)
    except ReleaseRefused as refused:
        if not number:
            raise
        change = applied(refused, number, plan, target)
        return attempt(change.remedy.plan), change
    if number:
        raise ParameterError(
            f"nothing was refused, so that there is no remedy {number}; nothing was written",
            remedy=f"sfumato protect {plan} without --apply releases it as it is",
        )
    return release, None


@contextmanager
def written(change: Applied | None) -> Iterator[None]:
    """The plan file is written if what is done meanwhile succeeds, else nothing is."""
    if change is None:
        yield
        return
    with replacing(change.target, replace=True, private=True) as aside:
        aside.write_text(change.text, encoding="utf-8")
        yield
