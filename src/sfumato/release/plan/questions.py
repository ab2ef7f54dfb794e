"""Five questions about the purpose of a release, and what their answers say: the terminal asks them
one by one, the studio on one page."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ...data.schema import SET_ASIDE, Role
from ...errors import InputError
from .purpose import Purpose

_YES = {"y": True, "yes": True, "true": True, "n": False, "no": False, "false": False}
ALL, NONE = "all", "none"


@dataclass(frozen=True)
class Question:
    """One of them."""

    key: str
    """Of the purpose."""
    asks: str
    reason: str
    default: str
    """What stands there before anybody answers."""
    unchanged: Mapping[str, Any]
    """What the default says."""
    taken: Callable[[str], dict[str, Any]]
    """What an answer says; an error where it cannot be understood."""

    def said(self, answer: str) -> dict[str, Any]:
        """What an answer says, which may be the default, whatever names it holds."""
        if answer.strip() == self.default.strip():
            return dict(self.unchanged)
        return self.taken(answer)


def open_columns(roles: Mapping[str, Role]) -> list[str]:
    """The columns that may be published."""
    return [name for name, role in roles.items() if role not in SET_ASIDE]


def questions(purpose: Purpose, roles: Mapping[str, Role]) -> list[Question]:
    """The five, with what is known so far as their defaults; `roles` are those of all columns."""
    names = [*roles]
    open_ = open_columns(roles)
    target = purpose.target or next((n for n, role in roles.items() if role == Role.TARGET), "")
    known = purpose.attackers or tuple(n for n, role in roles.items() if role == Role.QUASI)

    def checked(**words: Any) -> dict[str, Any]:
        Purpose.of(words).checked(names)
        return words

    def published(asked: Iterable[str]) -> None:
        if gone := [name for name in asked if name in names and name not in open_]:
            raise InputError(
                f"{', '.join(gone)} will not be published", remedy=f"one of {', '.join(open_)}"
            )

    def uses(said: str) -> dict[str, Any]:
        if _is(said, ALL, names):
            return {"uses": []}
        given = _listed(said) or [_names(use) for use in said.split(";") if use.strip(" ,")]
        published(name for use in given for name in use)
        return checked(uses=given)

    def predicted(said: str) -> dict[str, Any]:
        if _is(said, NONE, names):
            return {"target": ""}
        name = said if said in names else said.strip()
        published([name])
        return checked(target=name)

    def attackers(said: str) -> dict[str, Any]:
        return checked(attackers=[] if _is(said, NONE, names) else _names(said))

    return [
        Question(
            "uses",
            "Which columns will be analysed, alone or together?",
            "What is not analysed may get coarse. age; income,region for two analyses; all where "
            "you do not know: every pair of columns.",
            "; ".join(",".join(use) for use in purpose.uses) or ALL,
            {"uses": purpose.uses},
            uses,
        ),
        Question(
            "target",
            "Which column will a model predict from the others?",
            "Then what models learn is kept first. none where there is no such model.",
            target or NONE,
            {"target": target},
            predicted,
        ),
        Question(
            "attackers",
            "Which columns may others know of a person?",
            "By these people are looked for: what neighbours, colleagues and registers know. "
            "Rather one too many.",
            ",".join(known) or NONE,
            {"attackers": known},
            attackers,
        ),
        Question(
            "one-to-one",
            "Must every row stay the row of one person (yes or no)?",
            "Only where rows will be joined with other data of yours. Records drawn from a model "
            "protect best, and are nobody's.",
            "yes" if purpose.one_to_one else "no",
            {"one-to-one": purpose.one_to_one},
            lambda said: {"one-to-one": _yes(said)},
        ),
        Question(
            "perturb",
            "May values change at random (yes or no)?",
            "Averages and models stand it well. After no, values get coarser, or the mean of a "
            "group.",
            "yes" if purpose.perturb else "no",
            {"perturb": purpose.perturb},
            lambda said: {"perturb": _yes(said)},
        ),
    ]


def answered(purpose: Purpose, given: Mapping[str, Any], names: Iterable[str]) -> Purpose:
    """The purpose with what the answers say."""
    kept = tuple(map(tuple, given.get("uses", purpose.uses))) == purpose.uses
    words = {k: v for k, v in purpose.plan_words().items() if k != "weights" or kept}
    return Purpose.of({**words, **given}).checked(names)


def _names(said: str) -> list[str]:
    """Names by commas, or as TOML where they hold some."""
    if found := _listed(said):
        return [name for use in found for name in use]
    return [name.strip() for name in said.split(",") if name.strip()]


def _listed(said: str) -> list[list[str]]:
    """Lists of names as TOML writes them; nothing where it is no such list."""
    try:
        found = tomllib.loads(f"value = {said}").get("value")
    except tomllib.TOMLDecodeError:
        return []
    if not isinstance(found, list):
        return []
    groups = [[one] if isinstance(one, str) else one for one in found]
    good = all(isinstance(use, list) and all(isinstance(n, str) for n in use) for use in groups)
    return groups if good else []


def _is(said: str, word: str, names: Iterable[str]) -> bool:
    """Whether it is this word, and no column's name."""
    return said.strip().lower() == word and said.strip() not in names


def _yes(said: str) -> bool:
    word = said.strip().lower()
    if word not in _YES:
        raise InputError(f"{said!r} is neither yes nor no", remedy="answer yes or no")
    return _YES[word]
