"""Five questions about the purpose of a release, each answer checked before the next is asked."""

from __future__ import annotations

import shlex
import shutil
import sys
import textwrap
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..data.schema import SET_ASIDE, Role
from ..errors import InputError, SchemaError, SfumatoError
from ..texts import one_line
from . import base
from .saying import prompted, say

if TYPE_CHECKING:
    from ..data.table import Table
    from ..release.plan.plan import Purpose

_YES = {"y": True, "yes": True, "true": True, "n": False, "no": False, "false": False}


def asked(table: Table, purpose: Purpose) -> Purpose:
    """The same with what five questions say; the answers so far are their defaults."""
    schema = table.schema
    open_ = [c.name for c in schema if c.role not in SET_ASIDE]
    away = [c.name for c in schema if c.role in SET_ASIDE]
    target = purpose.target or next((c.name for c in schema if c.role == Role.TARGET), "")
    known = purpose.attackers or tuple(c.name for c in schema if c.role == Role.QUASI)
    _tell(f"columns: {', '.join(open_)}")
    if away:
        _tell(f"left out (identifiers, households, weights): {', '.join(away)}")
    _tell("Five questions; Enter takes what stands in brackets.")

    def checked(**words: Any) -> dict[str, Any]:
        """Words of a purpose, or an error where a column is not there."""
        type(purpose).of(words).checked(table.names)
        return words

    def published(names: list[str]) -> None:
        if gone := [name for name in names if name in away]:
            raise InputError(
                f"{', '.join(gone)} will not be published", remedy=f"one of {', '.join(open_)}"
            )

    def uses(said: str) -> dict[str, Any]:
        if _is(said, "all", table):
            return {"uses": []}
        given = [base.names(use) for use in said.split(";") if use.strip(" ,")]
        published([name for use in given for name in use])
        return checked(uses=given)

    def predicted(said: str) -> dict[str, Any]:
        if _is(said, "none", table):
            return {"target": ""}
        published([said.strip()])
        return checked(target=said.strip())

    def attackers(said: str) -> dict[str, Any]:
        given = [] if _is(said, "none", table) else base.names(said)
        return checked(attackers=given)

    given: dict[str, Any] = {}
    given |= _ask(
        "Which columns will be analysed, alone or together?",
        "What is not analysed may get coarse. age; income,region for two analyses; all where you "
        "do not know: every pair of columns.",
        "; ".join(",".join(use) for use in purpose.uses) or "all",
        {"uses": purpose.uses},
        uses,
    )
    given |= _ask(
        "Which column will a model predict from the others?",
        "Then what models learn is kept first. none where there is no such model.",
        target or "none",
        {"target": target},
        predicted,
    )
    given |= _ask(
        "Which columns may others know of a person?",
        "By these people are looked for: what neighbours, colleagues and registers know. Rather "
        "one too many.",
        ",".join(known) or "none",
        {"attackers": known},
        attackers,
    )
    given |= _ask(
        "Must every row stay the row of one person (yes or no)?",
        "Only where rows will be joined with other data of yours. Records drawn from a model "
        "protect best, and are nobody's.",
        "yes" if purpose.one_to_one else "no",
        {"one-to-one": purpose.one_to_one},
        lambda said: {"one-to-one": _yes(said)},
    )
    given |= _ask(
        "May values change at random (yes or no)?",
        "Averages and models stand it well. After no, values get coarser, or the mean of a group.",
        "yes" if purpose.perturb else "no",
        {"perturb": purpose.perturb},
        lambda said: {"perturb": _yes(said)},
    )
    kept = tuple(given["uses"]) == purpose.uses
    words = {k: v for k, v in purpose.plan_words().items() if k != "weights" or kept}
    return type(purpose).of({**words, **given}).checked(table.names)


def options_of(purpose: Purpose) -> str:
    """The answers as options, so that nobody has to give them again.

    Empty where a name cannot be one: options know no commas within names.
    """
    groups = [*purpose.uses, purpose.attackers]
    names = [name for group in groups for name in group]
    if any("," in name or name != name.strip() or name != one_line(name) for name in names):
        return ""
    words = [f"--uses={','.join(use)}" for use in purpose.uses]
    words += [f"--target={purpose.target}"] * bool(purpose.target)
    words += [f"--attackers={','.join(purpose.attackers)}"] * bool(purpose.attackers)
    words += ["--one-to-one"] * purpose.one_to_one + ["--no-perturb"] * (not purpose.perturb)
    return " ".join(map(shlex.quote, [*words, "--no-ask"]))


def _ask(
    question: str,
    reason: str,
    default: str,
    unchanged: dict[str, Any],
    taken: Callable[[str], dict[str, Any]],
) -> dict[str, Any]:
    """What an answer says; asked again until it can be understood."""
    default = one_line(default)
    say(file=sys.stderr)
    _tell(question)
    _tell(reason, indent="  ")
    while True:
        said = prompted(" ", default)
        if said.strip() == default:
            return unchanged  # by its name, which may be longer or wilder than what was shown
        try:
            return taken(said)
        except SchemaError as error:
            for one in error.complaints:
                _tell(f"{one.where}: {one.what}; {one.remedy}", indent="  ")
        except SfumatoError as error:
            remedy = f"; {error.remedy}" if error.remedy else ""
            _tell(f"{error.message}{remedy}", indent="  ")


def _tell(text: str, indent: str = "") -> None:
    """A paragraph on standard error, no line of it longer than the terminal."""
    wide = max(shutil.get_terminal_size().columns, 40)
    lines = textwrap.wrap(one_line(text), wide - 1, initial_indent=indent,
                          subsequent_indent=indent or "  ")  # fmt: skip
    say("\n".join(lines), file=sys.stderr)


def _is(said: str, word: str, table: Table) -> bool:
    """Whether it is this word, and no column's name."""
    return said.strip().lower() == word and said.strip() not in table.names


def _yes(said: str) -> bool:
    word = said.strip().lower()
    if word not in _YES:
        raise InputError(f"{said!r} is neither yes nor no", remedy="answer yes or no")
    return _YES[word]
