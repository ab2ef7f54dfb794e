"""Patterns of labels: text with placeholders in braces, which are replaced and nothing more."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

_PLACE = re.compile(r"\{([^{}]*)\}")


def check_pattern(pattern: str, known: Sequence[str]) -> str:
    """The pattern; `ValueError` unless it names at least one placeholder, and known ones only.

    >>> check_pattern("{low}-{high}", ["low", "high"])
    '{low}-{high}'
    """
    listed = ", ".join(f"{{{name}}}" for name in known)
    for name in _PLACE.findall(pattern):
        if name not in known:
            raise ValueError(f"{{{name}}} is no placeholder; there are {listed}")
    rest = _PLACE.sub("", pattern)
    if "{" in rest or "}" in rest:
        raise ValueError(f"a brace stands alone; placeholders are {listed}")
    if rest == pattern:
        raise ValueError(f"it gives one label to all; name at least one of {listed}")
    return pattern


def filled(pattern: str, words: Mapping[str, str]) -> str:
    """The pattern with the placeholders' words; braces within these stay as they are.

    >>> filled("{low}-{high}", {"low": "{high}", "high": "9"})
    '{high}-9'
    """
    return _PLACE.sub(lambda found: words[found[1]], pattern)


def names_placeholder(pattern: str, name: str) -> bool:
    """Whether a pattern has that placeholder."""
    return name in _PLACE.findall(pattern)
