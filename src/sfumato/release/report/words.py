"""What the report says about each figure, in words that need no textbook."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from ...errors import UnknownName
from ...measurement import SAMPLED, Measurement
from ...registry import find
from .parts import clipped, number, one_in, percent


@dataclass(frozen=True)
class Words:
    """How a measure is presented."""

    title: str
    about: Literal["risk", "utility"]
    share: bool
    """Whether the figure is a share of 1, to be read as a percentage."""
    meaning: str


_KNOWN = {
    "exposure": (
        "Found by three columns",
        "Share of people whom some set of at most three published columns singles out.",
    ),
    "withstand": (
        "Attacks, beyond the control",
        "What the best of all attacks gets of people in the data beyond people who are not, at "
        "most.",
    ),
    "class-sizes": (
        "Smallest class",
        "Records in the smallest group that shares its quasi-identifiers: this is the k of "
        "k-anonymity.",
    ),
    "uniques": (
        "Records that stand alone",
        "Share of records whose quasi-identifiers no other record has.",
    ),
    "prosecutor-risk": (
        "Highest re-identification risk",
        "Chance of picking the right record of a person known to be in the file, for the record "
        "at most risk.",
    ),
    "journalist-risk": (
        "Highest risk, population known",
        "The same chance for an intruder who knows only that the person is in the population.",
    ),
    "marketer-risk": (
        "Expected share re-identified",
        "Share of records that an intruder who matches everybody would get right, on average.",
    ),
    "record-linkage": (
        "Record linkage",
        "Share of original records whose nearest published record is their own.",
    ),
    "sse": (
        "Squared change (SSE/SST)",
        "Squared change of the numbers relative to their variation: 0 is no change, 100\u00a0% "
        "is as if every value were its column's mean.",
    ),
    "mean-difference": (
        "Change of the means",
        "How far the columns' means moved on average, in standard deviations.",
    ),
    "variance-difference": (
        "Change of the variances",
        "How far the columns' variances moved on average, relative to the original.",
    ),
    "correlation-difference": (
        "Change of the correlations",
        "How far the correlations between columns moved on average, on their scale from −1 to 1.",
    ),
    "ncp": (
        "Detail lost (NCP)",
        "How much of its column's range a published quasi-identifier leaves open on average: 0 "
        "is exact, 100\u00a0% is suppressed. Of a set: the share of all items that are not "
        "published, though somebody of its class has them.",
    ),
    "utility-kept": (
        "Utility kept",
        "What the published items of the sets are worth, as a share of what all items of the "
        "original sets are worth.",
    ),
    "items-kept": (
        "Items kept",
        "Share of the items of the original sets that are published, each worth the same.",
    ),
    "discernibility": (
        "Discernibility",
        "Each record counts the records that it cannot be told from; the sum over all records.",
    ),
    "average-class-size": (
        "Average class size",
        "Records per class, divided by k where a k was given.",
    ),
    "marginals": (
        "Change of the two-way tables",
        "How far the tables of every two columns moved on average: 0 is no change, 100\u00a0% is "
        "no overlap. It compares every kind of masking, and a random sample is not at 0 either.",
    ),
    "distribution-distance": (
        "Distance of distributions",
        "How far the columns' distributions moved on average: 0 is no change, 1 is no overlap.",
    ),
}


_SHARES = ("variance-difference", "ncp", "marginals")
"""Measures without a unit that are shares all the same."""


def words(name: str) -> Words:
    """How a measure is presented: in the words above, or else its own."""
    try:
        entry = find(name, "measure", "attack")
    except UnknownName:
        return Words(name, "risk", False, "A measure that is not registered here.")
    declared = entry.load()
    title, meaning = _KNOWN.get(name, (name, entry.summary))
    return Words(title, declared.about, declared.unit == "%" or name in _SHARES, meaning)


def figure(name: str, value: float) -> str:
    """The figure of a measure as it is read."""
    if name == "sse":  # it is a percentage already
        return percent(value / 100.0)
    return percent(value) if words(name).share else number(value)


def is_before(measurement: Measurement) -> bool:
    """Whether its baseline is the figure before masking (else chance, or a bound)."""
    return "before" in str(measurement.detail.get("baseline", ""))


def baseline_words(measurement: Measurement) -> str:
    """What the baseline of a measurement is."""
    if is_before(measurement):
        return "before"
    return str(measurement.detail.get("baseline", "")).strip() or "baseline"


@dataclass(frozen=True)
class Headline:
    """One of the few figures that a reader takes away."""

    title: str
    value: str
    aside: str
    sentence: str


_LOSSES = (
    "marginals",
    "utility-kept",
    "items-kept",
    "ncp",
    "sse",
    "correlation-difference",
    "distribution-distance",
    "mean-difference",
)

_KEPT = ("utility-kept", "items-kept")


def said(m: Measurement, *, owner: bool) -> list[str]:
    """What a measurement says in words beside its figure; more to the owner.

    >>> said(Measurement("suda", 0.5, detail={"says": ["2 records are unique by age"]}), owner=True)
    ['2 records are unique by age']
    """
    return [*m.detail.get("says", ()), *(m.private.get("says", ()) if owner else ())]


def drawn(m: Measurement, sampled: int) -> str:
    """Of how many records a figure is, where not all could be looked at: `sampled` were drawn, or 0
    where all were.

    >>> drawn(Measurement("ncp", 0.1, detail={SAMPLED: 50_000}), 50_000)
    'of 50,000 records drawn'
    """
    return f"of {m.detail[SAMPLED]:,} records drawn" if sampled and SAMPLED in m.detail else ""


def headlines(measured: Mapping[str, Measurement], sampled: int = 0) -> list[Headline]:
    """At most six figures: three of risk, three of loss, each with what it means."""
    risk = [name for name in ("exposure", "prosecutor-risk", "record-linkage") if name in measured]
    loss = [name for name in _LOSSES if name in measured]
    # A measure that sees nothing of this masking (NCP of averaged numbers) says 0, or that all is
    # kept: others go first.
    loss.sort(key=lambda name: abs(measured[name].value - (name in _KEPT)) < 1e-9)
    return [_headline(measured[name], sampled) for name in (*risk, *loss[:3])]


def _headline(m: Measurement, sampled: int) -> Headline:
    known = words(m.name)
    value = figure(m.name, m.value)
    aside = ""
    if m.baseline is not None and m.name != "sse":
        base = figure(m.name, m.baseline)
        aside = f"before masking: {base}" if is_before(m) else f"by chance alone: {base}"
    if one := m.detail.get("confidential together"):
        # Under a zero in large figures stands whom it does not speak of.
        column = clipped(one["columns"][0], 60)
        aside = f"with one exact value of {column} as well: {figure(m.name, one['share'])}"
    if m.name in _CONDITIONAL:
        sentence = _CONDITIONAL[m.name](m, value)
    else:
        sentence = _SENTENCES[m.name].format(value) if m.name in _SENTENCES else known.meaning
    aside = "; ".join(filter(None, (drawn(m, sampled), aside)))
    return Headline(known.title, value, aside, sentence)


def _prosecutor(m: Measurement, value: str) -> str:
    odds = one_in(m.value)
    chance = f"{value} ({odds})" if odds else value
    return (
        "Someone who knows that a person is in the file, and knows that person's "
        f"quasi-identifiers, picks the right record with a chance of at most {chance}."
    )


def _uniques(m: Measurement, value: str) -> str:
    if m.value == 0:
        return "No published record stands alone: each shares its quasi-identifiers with another."
    return (
        f"{value} of the published records have quasi-identifiers that no other record has. "
        "Whoever knows those of such a person finds the record."
    )


def _linkage(m: Measurement, value: str) -> str:
    sentence = (
        "Someone who holds the original values and takes the nearest published record finds the "
        f"right one for {value} of the people"
    )
    if m.baseline is None or m.baseline <= 0 or is_before(m):
        return f"{sentence}."
    return f"{sentence}; guessing finds {percent(m.baseline)}."


def _ncp(m: Measurement, value: str) -> str:
    if m.value == 0:
        return (
            "Every quasi-identifier is published as precisely as it was recorded; this figure "
            "does not see values that were changed."
        )
    return (
        f"A published quasi-identifier leaves open {value} of its column's range on average: "
        "0\u00a0% is the original value, 100\u00a0% says nothing."
    )


def _correlation(m: Measurement, value: str) -> str:
    worst = m.detail.get("largest")
    if isinstance(worst, int | float) and worst < 1e-9:
        return "The correlations between the columns that are published as numbers did not move."
    most = f", at most by {number(float(worst))}" if isinstance(worst, int | float) else ""
    moved = f"Correlations between columns moved by {value} on average{most}"
    return f"{moved}, on their scale from −1 to 1."


_CONDITIONAL = {
    "prosecutor-risk": _prosecutor,
    "uniques": _uniques,
    "record-linkage": _linkage,
    "ncp": _ncp,
    "correlation-difference": _correlation,
}
_SENTENCES = {
    "utility-kept": "The published parts of the sets hold {} of what the original sets are worth, "
    "by the utilities of their items.",
    "items-kept": "{} of the items of the original sets are published; the others were left out to "
    "protect people.",
    "sse": "The squared change of the numbers is {} of their variation: 0\u00a0% is no change, "
    "100\u00a0% is as if every value were replaced by the mean.",
}

_GLOSSARY = {
    "quasi-identifier": "A column that does not name a person but may single one out together with "
    "others, and that an intruder may know from elsewhere: age, sex, place.",
    "confidential": "A column that an intruder would like to learn: a diagnosis, an income.",
    "class": "All records that share their published quasi-identifiers (an equivalence class). "
    "Whoever looks for one of its people cannot tell its records apart. A missing value counts as "
    "a value of its own.",
    "k-anonymity": "Every class has at least k people; a record is a person, unless people have "
    "several.",
    "l-diversity": "Every class holds at least l well-represented confidential values.",
    "t-closeness": "In every class the confidential values are spread nearly as in the whole file: "
    "their distance from it is at most t.",
    "unique": "A record that is alone in its class.",
    "re-identification risk": "The chance of picking a person's record: 1 divided by the size of "
    "the class. The highest is that of the smallest class.",
    "record linkage": "An attack: somebody who holds the original values looks for the nearest "
    "published record.",
    "missing and suppressed": "A missing value was never there. A suppressed value was taken out "
    "to protect somebody.",
    "generalized": "Published less precisely: an interval, a group, a set of values instead of the "
    "value.",
    "masked": "What steps did to the data, and the data that came out. Here also: the release.",
    "NCP": "Normalized certainty penalty: the share of its column's range that a published value "
    "leaves open.",
    "SSE/SST": "Sum of squared errors by sum of squares in total: squared change relative to "
    "variation.",
    "percentile": "The 1st percentile is the value that 1 % of the records lie below; the 99th, "
    "99 %.",
}


def glossary(text: str) -> list[tuple[str, str]]:
    """The terms that a report uses, with their meanings."""
    used = text.lower()
    return [
        (term, meaning)
        for term, meaning in _GLOSSARY.items()
        if any(part in used for part in term.lower().split(" and "))
    ]
