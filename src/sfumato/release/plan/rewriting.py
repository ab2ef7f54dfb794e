"""A plan file changed key by key, so that its order and its comments stay."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import replace
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from ...addresses import is_address
from ...errors import SfumatoError
from .editing import edited, inserted, removed_step
from .plan import Plan
from .reader import FILES
from .splicing import anew


def rewritten(text: str, plan: Plan, base: Path | None = None) -> str:
    """The text of a plan file, changed so that it says `plan`.

    What does not change stays as it was written, but for a password, which no plan gets from here.
    Where that does not succeed, the file is written anew, without its comments.
    """
    plan = replace(plan, input=plan.input.bare())
    try:
        now = Plan.parse(text, base=base)
        written = _document(now, base)
        if now.input.bare() != now.input:
            # First of all, so that no line that goes stays as a comment with it.
            told = _relative(now.input.plan_words(), base)
            text = _keys(text, ("input",), written["input"], told)
        made = _followed(text, _document(plan, base), written)
        if _same(Plan.parse(made, base=base), plan):
            return made
    except SfumatoError:
        pass
    return anew(_document(plan, base))


def _same(found: Plan, wanted: Plan) -> bool:
    def sorted_(plan: Plan) -> Plan:
        named = sorted(plan.requirements, key=lambda r: r.name)
        return replace(plan, requirements=tuple(named), columns=dict(plan.columns))

    return sorted_(found) == sorted_(wanted)


def _document(plan: Plan, base: Path | None) -> dict[str, Any]:
    """The sections of a plan, files relative to it."""
    found: dict[str, Any] = tomllib.loads(plan.to_toml())
    for section in ("input", "engine", "require", "measures", "output"):
        if section in found:
            found[section] = _relative(found[section], base)
    if "steps" in found:
        found["steps"] = _relative(found["steps"], base)
    if plan.table is not None:
        # Said in full: a file may have a section for what is the default.
        method = plan.table.protect
        found["table"]["protect"] = {"use": method.name, **method.plan_words()}
    return found


def _relative(given: Any, base: Path | None, key: str = "") -> Any:
    """The same with files named from the plan's folder, as a plan file names them."""
    if isinstance(given, list):
        return [_relative(one, base, key) for one in given]
    if isinstance(given, Mapping):
        return {name: _relative(value, base, name) for name, value in given.items()}
    if key not in FILES or not isinstance(given, str) or not given or is_address(given):
        return given
    if base is None or base == Path():
        return given
    path = Path(given)
    if path.is_relative_to(base):
        return str(path.relative_to(base))
    return str(path.resolve())


def _followed(text: str, wanted: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """The text with every section changed that differs."""
    for name in now:
        if name not in wanted and now[name]:
            text = edited(text, (name,), None)
    for name, words in wanted.items():
        if name == "steps":
            text = _steps(text, words, now.get("steps", []))
        elif name in now:
            text = _keys(text, (name,), words, now[name])
        else:
            text = edited(text, (name,), words)
    return text


def _keys(text: str, path: tuple[str | int, ...], wanted: Any, now: Any) -> str:
    """The text with the keys of one table changed, added and removed."""
    for key in [*now, *(key for key in wanted if key not in now)]:
        if (value := wanted.get(key)) != now.get(key):
            text = edited(text, (*path, key), value)
    return text


def _steps(text: str, wanted: list[Any], now: list[Any]) -> str:
    """Steps in the order of the plan: those that stay, or take another's place, keep their
    lines and comments."""
    before, after = ([words["use"] for words in steps] for steps in (now, wanted))
    changes = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    # From the end, so that the steps before keep their numbers.
    for _, i, i_end, j, j_end in reversed(changes):
        both = min(i_end - i, j_end - j)
        for k in reversed(range(i + both, i_end)):
            text = removed_step(text, k)
        for new in reversed(wanted[j + both : j_end]):
            text = inserted(text, i + both, new)
        for k in reversed(range(both)):
            text = _keys(text, ("steps", i + k), wanted[j + k], now[i + k])
    return text
