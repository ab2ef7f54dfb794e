"""The bricks of the report: escaped text, numbers as people read them, tables that stay small."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...texts import one_line, printable

_FEW = 12
"""Items of a list that are written out; the rest are counted."""
_LONGEST = 160
"""Characters of one text from the data; the rest is counted too."""
_DEEPEST = 3
_NOTHING = 1e-9
"""Smaller figures are the rounding of the machine."""


class Markup(str):
    """HTML that is ready: everything else is escaped when it joins a page."""

    __slots__ = ()


def esc(value: object) -> Markup:
    """Text as HTML; `Markup` as it is.

    >>> esc("<b>&"), esc(Markup("<b>"))
    ('&lt;b&gt;&amp;', '<b>')
    """
    return value if isinstance(value, Markup) else Markup(html.escape(printable(str(value))))


def join(parts: Iterable[object], between: str = "") -> Markup:
    """Parts, escaped where they need it, side by side."""
    return Markup(between.join(esc(part) for part in parts))


def tag(name: str, /, *children: object, **attributes: str) -> Markup:
    """One element. A trailing underscore in an attribute's name is left out, others become hyphens.

    >>> tag("p", "a < b", class_="note")
    '<p class="note">a &lt; b</p>'
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{html.escape(printable(value))}"'
        for key, value in attributes.items()
    )
    return Markup(f"<{name}{written}>{join(children)}</{name}>")


def paragraphs(texts: Iterable[object], **attributes: str) -> Markup:
    """One paragraph for each text that is not empty."""
    return join(tag("p", text, **attributes) for text in texts if str(text))


def table(
    caption: str,
    head: Sequence[str],
    rows: Iterable[Sequence[object]],
    numeric: Sequence[int] = (),
    look: str = "",
) -> Markup:
    """A table with a caption; first cells head their rows, `numeric` ones stand to the right."""

    def cell(name: str, j: int, content: object, **more: str) -> Markup:
        return tag(name, content, **({"class_": "number"} if j in numeric else {}), **more)

    top = join(cell("th", j, title, scope="col") for j, title in enumerate(head))
    body = join(
        tag(
            "tr",
            *(
                cell("th", j, content, scope="row") if j == 0 else cell("td", j, content)
                for j, content in enumerate(row)
            ),
        )
        for row in rows
    )
    inside = tag(
        "table",
        tag("caption", caption),
        tag("thead", tag("tr", top)),
        tag("tbody", body),
        **({"class_": look} if look else {}),
    )
    # A wide table scrolls inside its frame: the page itself never does, on a phone either.
    return tag("div", inside, class_="scroll", role="region", aria_label=caption, tabindex="0")


def definitions(pairs: Iterable[tuple[object, object]]) -> Markup:
    """A list of terms and what they stand for."""
    return tag("dl", *(join((tag("dt", term), tag("dd", meaning))) for term, meaning in pairs))


def number(value: float) -> str:
    """A number with at most four significant digits; whole ones in full.

    >>> [number(x) for x in (7998.0, 0.012345, 7.12e-6, 1e-16, float("nan"))]
    ['7,998', '0.01235', '0.0000071', 'about 0', 'not a number']
    """
    if math.isnan(value):
        return "not a number"
    if math.isinf(value):
        return "infinite" if value > 0 else "minus infinite"
    if 0 < abs(value) < _NOTHING:
        return "about 0"
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{int(value):,}"
    if abs(value) < 1e-3:
        return f"{value:.{1 - math.floor(math.log10(abs(value)))}f}"
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e15 else f"{value:.4g}"


def percent(share: float) -> str:
    """A share as a percentage: enough digits that a small one is not mistaken for none.

    >>> [percent(x).replace("\\xa0", " ") for x in (0.2, 0.9753, 0.0005, 0.0, 0.99996)]
    ['20 %', '97.5 %', '0.05 %', '0 %', '99.996 %']
    """
    value = 100.0 * share
    if not math.isfinite(value):
        return number(value)
    # What is next to 0 or to 100 must not be rounded to it.
    near = min(abs(value), abs(100.0 - value))
    if 0 < near < _NOTHING:
        near = 0.0
    digits = 1 if near >= 1 or near == 0 else 1 - math.floor(math.log10(near))
    text = f"{value:.{digits}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return f"{text}\u00a0%"


def count(many: int, one: str, several: str = "") -> str:
    """A number with its noun.

    >>> count(1, "record"), count(2000, "record"), count(2, "class", "classes")
    ('1 record', '2,000 records', '2 classes')
    """
    return f"{many:,} {one if many == 1 else several or one + 's'}"


def one_in(share: float) -> str:
    """A chance as "1 in n", where that is how one would say it."""
    if not 0 < share <= 0.5:
        return ""
    return f"1 in {number(float(round(1 / share)))}"


def listed(names: Sequence[str], most: int = _FEW) -> str:
    """Names in a row, the rest of a long list counted.

    >>> listed(["a", "b"]), listed(["a", "b", "c"], most=1)
    ('a, b', 'a and 2 more')
    """
    shown = ", ".join(clipped(one_line(name), 60) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most:,} more"


def clipped(text: object, most: int = _LONGEST) -> str:
    """A text of bounded length; what was cut is counted."""
    plain = str(text)
    if len(plain) <= most:
        return plain
    return f"{plain[:most]}… ({len(plain) - most:,} more characters)"


def plain(value: Any, depth: int = 0) -> str:
    """A parameter or a fact as a reader would write it, never longer than a few lines.

    >>> plain({"age": 1, "zip": [5, 3]}), plain(0.05), plain(True), plain(())
    ('age: 1; zip: (5, 3)', '0.05', 'yes', 'none')
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None or value == "":
        return "not given"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return number(value)
    if isinstance(value, Mapping | list | tuple | set | frozenset):
        return _collection(value, depth)
    if hasattr(value, "tolist"):
        return plain(value.tolist(), depth)
    return clipped(value)


def _collection(value: Any, depth: int) -> str:
    if not value:
        return "none"
    many = len(value)
    if depth >= _DEEPEST:
        return count(many, "entry", "entries")
    if isinstance(value, Mapping):
        parts = [f"{clipped(k, 60)}: {plain(v, depth + 1)}" for k, v in list(value.items())[:_FEW]]
    else:
        ordered = sorted(value, key=str) if isinstance(value, set | frozenset) else list(value)
        parts = [plain(v, depth + 1) for v in ordered[:_FEW]]
    between = "; " if isinstance(value, Mapping) else ", "
    text = between.join(parts) + (f"{between}and {many - _FEW:,} more" if many > _FEW else "")
    return f"({text})" if depth and not isinstance(value, str) else text
