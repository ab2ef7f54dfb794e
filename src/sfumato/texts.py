"""Names and values of others on a terminal, a page or a line: shown, never obeyed."""

from __future__ import annotations

import json
import re
from typing import Any

# What moves a cursor or clears a screen (controls, of which a lone \r overwrites its line), turns
# text about (bidirectional overrides), is not seen at all, or cannot be encoded.
UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb"
    "\ufffe\uffff\ud800-\udfff\U000e0000-\U000e007f]|\r(?!\n)"
)

_BREAKS = re.compile(r"[ \t\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]+")


def printable(text: str) -> str:
    """The text with every character that cannot be shown as a replacement character.

    >>> printable("a\\x00b\\u202ec")
    'a\ufffdb\ufffdc'
    """
    return UNPRINTABLE.sub("\ufffd", text)


def one_line(text: str) -> str:
    """The same on one line, for comments and notes: nothing of it may begin a line of its own.

    >>> one_line("age\\n[[steps]]")
    'age [[steps]]'
    """
    return printable(_BREAKS.sub(" ", text).strip(" "))


def json_text(content: Any, **options: Any) -> str:
    """JSON whose texts a terminal shows as well: JSON itself escapes only the oldest controls.

    >>> json_text(["ü", chr(0x9B) + "2J"])
    '["ü", "\\\\u009b2J"]'
    """
    text = json.dumps(content, ensure_ascii=False, **options)
    return UNPRINTABLE.sub(lambda found: json.dumps(found.group())[1:-1], text)


def escaped(quoted: str) -> str:
    r"""A quoted text of TOML with what cannot be shown as escapes.

    >>> escaped('"' + chr(0x202E) + '"')
    '"\\u202e"'
    """
    return UNPRINTABLE.sub(_escape, quoted)


def _escape(found: re.Match[str]) -> str:
    sign = ord(found.group())
    return f"\\u{sign:04x}" if sign < 0x10000 else f"\\U{sign:08x}"
