"""Questions to a camouflaged table: "sum pay where age > 40"."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..bounds import from_json
from ..errors import InputError, ParameterError
from ..machine import cannot_write

if TYPE_CHECKING:
    from ..data.table import Table
    from ..methods.recoding.camouflage import Interval

_QUESTION = re.compile(
    r"^\s*(?:(count)|(sum|mean|min|max)\s+(\"[^\"]+\"|[^\s\"]+))(?:\s+where\s+(.+))?\s*$",
    re.IGNORECASE | re.DOTALL,
)
_BOUND: dict[str, Callable[[Any], str]] = {
    "data": lambda was: "the data were others",
    "protect": lambda was: "--protect was " + ",".join(f"{k}={v:g}" for k, v in was.items()),
}
"""What a secret is bound to, and what is said where that differs. Which columns questions may name
changes no draw; to want a second secret for that would only invite comparisons."""


def ask(
    table: Table, question: str, protect: dict[str, float], key: Path, public: list[str] | None
) -> Interval:
    """The answer to one question, from the secret in the key file; made where there is none.

    Answers from two secrets could be laid over one another, and would be narrower than either.
    """
    from ..methods.recoding.camouflage import camouflage
    from ..rng import draw_seed

    asked = _QUESTION.match(question)
    if asked is None:
        raise ParameterError(
            f"{question!r} is not a question",
            remedy='"sum COLUMN where CONDITION", with count, sum, mean, min or max',
        )
    known = secret(key)
    seed = draw_seed() if known is None else known["secret"]
    hidden = camouflage(table, protect, seed=seed, public=public)
    bound = {"data": _digest(table), "protect": protect}
    if known is not None:
        _check(key, known, bound)
    where = asked[4] or ""
    answer: Interval = (
        hidden.count(where)
        if asked[1]
        else getattr(hidden, asked[2].lower())(asked[3].strip('"'), where)
    )
    if known is None:
        # After the answer, so that a slip in the options binds no secret, and before it is shown.
        _keep(key, {"secret": seed, **bound})
    return answer


def limits(given: str) -> dict[str, float]:
    """ "pay=0.1,debt=0.2" as shares by column."""
    found = {}
    for part in given.split(","):
        name, _, share = part.rpartition("=")
        try:
            found[name.strip()] = float(share)
        except ValueError:
            name = ""
        if not name.strip():
            raise ParameterError(f"{part!r} protects nothing", remedy="--protect pay=0.1,debt=0.2")
    # The secret's draws follow the columns, and in which order they are typed must not matter.
    return dict(sorted(found.items()))


def secret(path: Path) -> dict[str, Any] | None:
    """The secret in a file, and what it is bound to; None where there is no file."""
    try:
        known = from_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error}") from error
    except ValueError:
        known = None
    if not isinstance(known, dict) or not {"secret", *_BOUND} <= set(known):
        raise InputError(
            f"{path} is not a secret of Sfumato's that is bound to data and settings",
            remedy="name a file that does not exist yet",
        )
    return known


def _check(path: Path, known: dict[str, Any], bound: dict[str, Any]) -> None:
    """An error where a secret would serve other data or settings than those it was made for.

    The same draws around other values, or in another width, would tell the values by comparison.
    """
    other = [_BOUND[name](known[name]) for name in _BOUND if known[name] != bound[name]]
    if other:
        raise InputError(
            f"{path} is the secret of other answers ({'; '.join(other)}), and with these compared "
            "they could tell the values",
            remedy="ask as before, or use another key file",
        )


def _keep(path: Path, known: dict[str, Any]) -> None:
    """A new file that its owner alone can read."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise cannot_write(path, error) from error
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(json.dumps(known, indent=2) + "\n")
    except OSError as error:
        path.unlink()  # a half of it would bind nothing, and be in the way
        raise cannot_write(path, error) from error


def _digest(table: Table) -> str:
    """A digest of all values in their order, whatever file they came from."""
    from ..data.codec import encode

    found = hashlib.sha256()
    for name in table.names:
        column = encode(table[name])
        found.update(repr((name, column.domain.to_list())).encode())
        found.update(column.codes.astype("<u4").tobytes())
    return found.hexdigest()
