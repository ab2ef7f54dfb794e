"""The Safe Harbor rules for one value at a time."""

from __future__ import annotations

import datetime as dt
import re

SMALL = {
    *("036", "059", "063", "102", "203", "556", "692", "790", "821", "823"),
    *("830", "831", "878", "879", "884", "890", "893"),
}

PATTERNS = {
    "e-mail": r"\w@\w+\.\w",
    "social security": r"\d{3}-\d{2}-\d{4}",
    "telephone": r"\d{3}[ .-]\d{3}[ .-]\d{4}",
    "web": r"https?://",
    "internet": r"\d+\.\d+\.\d+\.\d+",
    "full date": r"\d{4}-\d{2}-\d{2}",
    "five-digit ZIP": r"^\d{5}(-\d{4})?$",
}
"""What must not be read in any cell of a release."""


def zip_area(code: str | None, small: set[str] = SMALL) -> str | None:
    if code is None:
        return None
    if not re.fullmatch(r"\d{5}(-\d{4})?", code):
        return "*"
    return "000" if code[:3] in small else code[:3]


def year(day: dt.date | None, released: int) -> str | None:
    if day is None:
        return None
    oldest = released - 90
    return f"<={oldest}" if day.year <= oldest else str(day.year)


def age(years: float | None) -> float | None:
    return None if years is None else (90 if years > 89 else years)
