"""What a column can be found to be, and what follows for the people in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class What(NamedTuple):
    """A kind of thing: in words, its number in the HIPAA list (0: none), and who may know it.

    45 CFR 164.514(b)(2)(i) (Lasko 2007, figure 1-1). `personal`: never to be published unmasked;
    `knowable`: others may know it of a person.
    """

    words: str
    item: int = 0
    personal: bool = False
    knowable: bool = False


WHATS: dict[str, What] = {
    "name": What("a person's name", 1, True, True),
    "address": What("an address", 2, True, True),
    "postal-code": What("a postal code", 2, False, True),
    "place": What("a place smaller than a state", 2, False, True),
    "region": What("a state, region or country", 0, False, True),
    "coordinate": What("a coordinate of a place", 2, True, True),
    "date": What("a date", 3, True, True),
    "date-time": What("a date with the time of day", 3, True, True),
    "date-part": What("a part of a date other than the year", 3, False, True),
    "year": What("a year", 3, False, True),
    "age": What("an age", 3, False, True),
    "telephone": What("a telephone number", 4, True, True),
    "fax": What("a fax number", 5, True, True),
    "e-mail": What("an e-mail address", 6, True, True),
    "national-number": What("a social security or national number", 7, True, True),
    "record-number": What("a record number", 8, True, True),
    "health-number": What("a health plan number", 9, True, True),
    "account": What("an account number", 10, True, True),
    "licence": What("a certificate or licence number", 11, True, True),
    "plate": What("a vehicle identifier or plate", 12, True, True),
    "device": What("a device identifier or serial number", 13, True, True),
    "url": What("a web address", 14, True, True),
    "ip-address": What("an internet address", 15, True, True),
    "biometric": What("a biometric identifier", 16, True, True),
    "photograph": What("a photograph", 17, True, True),
    "unique-code": What("a code that nearly every record has for itself", 18, True, True),
    "other-person": What("the number of another person", 18, False, True),
    "household": What("what ties people of one household together", 18, False, True),
    "free-text": What("text about people", 0, True, True),
    "trait": What("a trait that acquaintances and registers know"),
    "private": What("what a person would want kept private"),
    "diagnosis": What("a diagnosis"),
    "measurement": What("a measurement"),
    "likert": What("an item of a battery of questions"),
    "ordinal": What("categories in an order"),
    "target": What("an outcome that models predict"),
    "weight": What("a sampling weight"),
}
"""Everything that is recognized, by the word for it."""

PERSONAL = frozenset(what for what, told in WHATS.items() if told.personal)
"""What must never be published unmasked: names, contacts, numbers, coordinates, dates, texts."""
KNOWABLE = frozenset(what for what, told in WHATS.items() if told.knowable)
"""What others may know of a person: all that is personal, and ages, places, households."""


@dataclass(frozen=True)
class Found:
    """What a column seems to be, why, and how sure that is (0 to 1)."""

    column: str
    what: str
    why: str
    confidence: float

    @property
    def item(self) -> int:
        """Its number in the HIPAA list, 0 if none."""
        return WHATS[self.what].item

    @property
    def words(self) -> str:
        """What it is, in words."""
        return WHATS[self.what].words
