"""Questions to a camouflaged table: "sum pay where age > 40"."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InputError, ParameterError

if TYPE_CHECKING:
    from ..data.table import Table
    from ..methods.camouflage import Interval

_QUESTION = re.compile(
    r"^\s*(?:(count)|(sum|mean|min|max)\s+(\"[^\"]+\"|[^\s\"]+))(?:\s+where\s+(.+))?\s*$",
    re.IGNORECASE | re.DOTALL,
)


def ask(
    table: Table, question: str, protect: dict[str, float], seed: int, public: list[str] | None
) -> Interval:
    """The answer to one question."""
    from ..methods.camouflage import camouflage

    asked = _QUESTION.match(question)
    if asked is None:
        raise ParameterError(
            f"{question!r} is not a question",
            remedy='"sum COLUMN where CONDITION", with count, sum, mean, min or max',
        )
    hidden = camouflage(table, protect, seed=seed, public=public)
    where = asked[4] or ""
    if asked[1]:
        return hidden.count(where)
    answer: Interval = getattr(hidden, asked[2].lower())(asked[3].strip('"'), where)
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
    return found


def secret(path: Path) -> int:
    """The secret in a file that its owner alone can read; made where there is none.

    Answers from two secrets could be laid over one another, and would be narrower than either.
    """
    from ..rng import draw_seed

    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        text = path.read_text(encoding="utf-8").strip()
        if not text.isdigit():
            raise InputError(
                f"{path} is not a secret of Sfumato's", remedy="name a file that does not exist yet"
            ) from None
        return int(text)
    except OSError as error:
        raise InputError(f"{path} cannot be made: {error}") from error
    seed = draw_seed()
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(f"{seed}\n")
    return seed
