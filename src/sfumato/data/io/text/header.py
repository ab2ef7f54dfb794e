"""Whether the first line of a file holds names or the first record.

Judged by types: a cell that looks like the values below it (a number over numbers, a date over
dates, a text that occurs again) is a value, and a word over numbers is a name. To take a person's
values for names would publish them with every release, so that a draw counts as a record.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import NamedTuple

import polars as pl

from .. import numbers
from ..cells.sentinels import MISSING_WORDS
from ..dates import looks_like_date

_JUDGED = 5_000
_FEWEST = 3
_TYPED = 0.9
_REPEATS = 0.5
_ENOUGH = 10
_RARE = 0.005
# Names of columns are hardly ever numbers; a person may well have a value that nobody else has.
_NUMBER_OVER_NUMBERS, _COMES_AGAIN, _WORD_OVER_NUMBERS = -4, -3, 3
_NUMBER = re.compile(numbers.NUMBERISH)
_FAMILIAR = re.compile(
    r"(?i)(.*[ _.-])?(id|name|names|age|sex|gender|date|time|year|code|city|town|zip|country|state"
    r"|type|kind|class|group|value|status|text|note|notes|title|email|phone|address|nr|no|number"
    r"|name|vorname|nachname|alter|geschlecht|ort|datum|nom|prenom|prénom|ville|sexe|nombre"
    r"|apellido|sexo|fecha|ciudad|nome|cognome|naam|imie|imię|nazwisko)"
)
_CODED = r"[@\d]"


class Verdict(NamedTuple):
    """Whether the first line holds names, and what is to be said about it."""

    header: bool
    note: str = ""


def find_header(cells: pl.DataFrame) -> Verdict:
    """Judge the first line of a frame of raw text.

    >>> find_header(pl.DataFrame({"0": ["age", "31", "40"], "1": ["sex", "f", "m"]})).header
    True
    >>> find_header(pl.DataFrame({"0": ["52", "31", "40"], "1": ["f", "f", "m"]})).header
    False
    """
    first = ["" if cell is None else cell.strip() for cell in cells.row(0)]
    below = cells.slice(1, _JUDGED)
    votes = [_vote(cell, series) for cell, series in zip(first, below, strict=True)]
    if _counting(first):
        votes = [0 if _is_number(cell) else vote for cell, vote in zip(first, votes, strict=True)]
    names = sum(vote for vote in votes if vote > 0)
    values = -sum(vote for vote in votes if vote < 0)
    if not names and not values:
        return _undecided(first) if below.height else Verdict(True)
    if names > values and not values and names < _WORD_OVER_NUMBERS:
        return _undecided(first)
    if names > values:
        return Verdict(True, _DOUBT.format("names", "false") if values else "")
    if names:
        return Verdict(False, _DOUBT.format("a record", "true"))
    return Verdict(
        False,
        "the first line holds a record and no names (its cells look like those below), so that "
        "the columns are called column_1 and so on; header = true overrules it",
    )


_DOUBT = "the first line was taken for {}, but it could be otherwise; header = {} overrules it"


def is_second_line(records: pl.DataFrame) -> bool:
    """Whether the first record goes on naming the columns: in all that hold numbers or dates, two
    at least, it has words that none of them has again.

    >>> is_second_line(pl.DataFrame({"0": ["years", "31", "40"], "1": ["kg", "70", "81.5"]}))
    True
    """
    if records.height < _FEWEST:
        return False
    below = records.slice(1, _JUDGED)
    told = [_names_again(cell, series) for cell, series in zip(records.row(0), below, strict=True)]
    typed = [said for said in told if said is not None]
    return len(typed) > 1 and all(typed)


def _names_again(cell: str | None, below: pl.Series) -> bool | None:
    """Whether a cell over numbers or dates is a word and no value; None over anything else."""
    present = below.drop_nulls().str.strip_chars()
    present = present.filter(~present.str.to_lowercase().is_in(list(MISSING_WORDS)))
    if len(present) < _FEWEST - 1:
        return None
    if max(_share(present, date=False), _share(present, date=True)) < _TYPED:
        return None
    word = (cell or "").strip()
    if not word or word.lower() in MISSING_WORDS or _is_number(word) or looks_like_date(word):
        return False
    return not bool((present == word).any())


SECOND = (
    "the second line holds words over columns of numbers, as a second line of names does, and was "
    "left out; header = true reads it as a record"
)


def _undecided(first: list[str]) -> Verdict:
    """Nothing but words over words: names as a rule, since a file without them is rare."""
    named = [cell for cell in first if cell]
    if len(set(named)) < len(named):
        return Verdict(False, _DOUBT.format("a record", "true"))
    if any(_FAMILIAR.fullmatch(cell) for cell in first):
        return Verdict(True)
    return Verdict(
        True,
        "the first line was taken for names, though nothing tells it from a record; header = false "
        "overrules it",
    )


def _vote(cell: str, below: pl.Series) -> int:
    """More than 0 for a name, less for a value, 0 where the cell says nothing."""
    if not cell or cell.lower() in MISSING_WORDS:
        return 0
    present = below.drop_nulls().str.strip_chars()
    present = present.filter(~present.str.to_lowercase().is_in(list(MISSING_WORDS)))
    number, date = _is_number(cell), looks_like_date(cell)
    if present.is_empty():
        return _COMES_AGAIN if number or date else 0
    if number or date:
        alike = (present == cell).any() or _share(present, date=date) >= _TYPED
        return _NUMBER_OVER_NUMBERS if alike else 0
    typed = max(_share(present, date=False), _share(present, date=True))
    if (present == cell).any():
        # A word among numbers that comes again may be a name in files that were put together.
        familiar = _FAMILIAR.fullmatch(cell) is not None
        return 0 if typed >= _REPEATS else -1 if familiar else _COMES_AGAIN
    return _WORD_OVER_NUMBERS if typed >= _TYPED else _vote_on_words(cell, present)


def _vote_on_words(cell: str, present: pl.Series) -> int:
    """A word over words that come again is a name, unless it comes again itself; a code is a value
    among codes of its form, and a word without digits a name over them."""
    if len(present) >= _ENOUGH and present.n_unique() <= _REPEATS * len(present):
        lone = int((present.value_counts()["count"] == 1).sum())
        return 1 if lone > _RARE * len(present) else 2
    form = _form(pl.Series([cell]))[0]
    alike = int((_form(present) == form).sum()) / len(present)
    coded = int(present.str.contains(_CODED).sum()) / len(present)
    if re.search(_CODED, cell):
        return _COMES_AGAIN if alike >= _REPEATS else 0
    return 2 if coded >= _TYPED else 0


def _form(texts: pl.Series) -> pl.Series:
    """What a text looks like: runs of letters as a, runs of digits as 9."""
    return texts.str.replace_all(r"\p{L}+", "a").str.replace_all(r"\d+", "9")


def _is_number(cell: str) -> bool:
    return _NUMBER.match(cell) is not None


def _share(present: pl.Series, *, date: bool) -> float:
    """The share of values that look like numbers, or like dates."""
    sample = present.head(200).to_list()
    fits = looks_like_date if date else _is_number
    return sum(map(fits, sample)) / len(sample)


def _counting(first: list[str]) -> bool:
    """Whether the numbers of a line count on, as years or questions do in names of columns."""
    found = [int(cell) for cell in first if numbers.is_whole(cell)]
    return len(found) > 2 and all(b - a == 1 for a, b in pairwise(found))
