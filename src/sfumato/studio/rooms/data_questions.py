"""What a draft asks before anything else, as questions with a button for each answer."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from typing import Any

from ...errors import InputError
from ...release.plan.doubts import Question, answered
from ...release.plan.doubts import asked as asks
from ...release.plan.editing import edited, inserted
from ...release.report.parts import Markup, clipped, listed, tag
from ...texts import one_line
from ..asked import Asked
from ..desk import digest
from ..widgets import button, form, hidden, select
from .data_look import Look, key, section


def questions(asked: Asked, look: Look) -> Markup:
    """Those that are still open."""
    shown = [found for one in look.questions if (found := _question(asked, look, one))]
    if not shown:
        return Markup("")
    return tag(
        "section",
        tag("h2", "Please answer", id="questions"),
        *(tag("section", *parts, class_="question") for parts in shown),
        class_="card",
        aria_labelledby="questions",
    )


def _question(asked: Asked, look: Look, one: Question) -> tuple[object, ...]:
    names = [clipped(one_line(name), 60) for name in one.columns]
    values = listed([f"“{value}”" for value in one.values])
    many = len(one.values) > 1

    def answers(*controls: object) -> Markup:
        return form(
            asked, "data/answer", hidden("question", digest(one.line)[:16]),
            tag("div", *controls, class_="row"),
        )  # fmt: skip

    def answer(words: str, value: str, about: str, look: str = "") -> Markup:
        return button(words, look=look, name="answer", value=value, aria_label=f"{words}: {about}")

    if one.about == "stand-in":
        stand = "Do they stand" if many else "Does it stand"
        said = f"{names[0]} holds {values}. {stand} for a missing value?"
        yes, no = "Yes, missing", "No, a value like others"
        return (tag("p", said), answers(answer(yes, "yes", said), answer(no, "no", said)))
    if one.about == "missing":
        said = f"{values} in {names[0]} {'are' if many else 'is'} taken for a missing value."
        return (tag("p", said), answers(answer("Right", "no", said)))
    if one.about == "repeated":
        said = (
            f"{names[0]} and {names[1]} tell nearly the same: what is hidden in one can be read in "
            "the other."
        )
        leave = answer(f"Leave {names[0]} out", "yes", said)
        return (tag("p", said), answers(leave, answer("Keep both", "no", said)))
    if one.about == "person":
        said = "Which of these tells who a record is about, from one release to the next?"
        options = [(key(name), shown) for name, shown in zip(one.columns, names, strict=True)]
        # Who is told apart best is the likeliest.
        distinct = {one.name: one.found.get("distinct", 0) for one in look.columns}
        likely = max(one.columns, key=lambda name: distinct.get(name, 0))
        chosen = select("person", options, key(likely), id="which-person", aria_label=said)
        none = answer("None of them", "no", said)
        return (tag("p", said), answers(chosen, answer("This one", "yes", said), none))
    if one.about == "encoding":
        said = f"{one.line.lstrip('# ')}. Are all names and words spelt as they should be?"
        return (tag("p", said), answers(answer("Yes, they are", "no", said)))
    return ()


def answer(asked: Asked, look: Look) -> None:
    """The plan with an answer, which is not asked again."""
    found = asked.one("question")
    for one in look.questions:
        if digest(one.line)[:16] == found:
            break
    else:
        raise InputError("this was answered already", remedy="look at the page again")
    yes = asked.one("answer") == "yes"
    change = _changes(one, asked) if yes else None

    def changed(text: str) -> str:
        if not asks(text, one.line):
            return text
        return answered(change(text) if change else text, one.line)

    what = clipped(one_line(", ".join(one.columns)) or "a question", 60)
    asked.desk.edit(f"answered: {what}", changed, asked.seen)


def _changes(one: Question, asked: Asked) -> Callable[[str], str]:
    if one.about == "stand-in":
        return lambda text: missing(text, one.columns[0], one.values)
    if one.about == "repeated":
        words = {"use": "drop", "columns": [one.columns[0]]}
        return lambda text: inserted(text, 0, words)
    if one.about == "person":
        name = next((n for n in one.columns if key(n) == asked.one("person")), None)
        if name is None:
            raise InputError("choose one of the columns")
        return lambda text: edited(text, ("input", "person"), name)
    return lambda text: text


def missing(text: str, name: str, values: tuple[str, ...]) -> str:
    """The plan's text with values that mean missing in a column."""
    now: Any = section(text, "input").get("sentinels", {})
    every = {"*": now} if isinstance(now, list) and now else dict(now or {})
    before = every.get(name, [])
    listed_ = before if isinstance(before, list) else [before]
    every[name] = [*listed_, *(one for one in map(_value, values) if one not in listed_)]
    return edited(text, ("input", "sentinels"), every)


def _value(word: str) -> Any:
    """A word of a file as a sentinel: a number where it is one."""
    try:
        found = tomllib.loads(f"value = {word}")["value"]
    except tomllib.TOMLDecodeError:
        return word
    return found if isinstance(found, int | float) and not isinstance(found, bool) else word
