"""Five questions about the purpose of a release, each answer checked before the next is asked."""

from __future__ import annotations

import shlex
import shutil
import sys
import textwrap
from typing import TYPE_CHECKING, Any

from ..errors import SchemaError, SfumatoError
from ..release.plan.questions import Question, answered, open_columns, questions
from ..texts import one_line
from .saying import prompted, say

if TYPE_CHECKING:
    from ..data.table import Table
    from ..release.plan.plan import Purpose


def asked(table: Table, purpose: Purpose) -> Purpose:
    """The same with what five questions say; the answers so far are their defaults."""
    roles = {column.name: column.role for column in table.schema}
    open_ = open_columns(roles)
    away = [name for name in roles if name not in open_]
    _tell(f"columns: {', '.join(open_)}")
    if away:
        _tell(f"left out (identifiers, households, weights): {', '.join(away)}")
    _tell("Five questions; Enter takes what stands in brackets.")
    given: dict[str, Any] = {}
    for question in questions(purpose, roles):
        given |= _ask(question)
    return answered(purpose, given, table.names)


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


def _ask(question: Question) -> dict[str, Any]:
    """What an answer says; asked again until it can be understood."""
    default = one_line(question.default)
    say(file=sys.stderr)
    _tell(question.asks)
    _tell(question.reason, indent="  ")
    while True:
        said = prompted(" ", default)
        if said.strip() == default:
            return dict(question.unchanged)  # by its name, which may be longer or wilder
        try:
            return question.taken(said)
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
