"""The clinical half of the synthetic register: diagnoses, laboratory values, stay and outcome.

The columns hang together through a few latent causes. Kidney function bends creatinine, urea
nitrogen, potassium and haemoglobin into one curve; glucose control drives HbA1c to saturation;
severity rises at both ends of sodium. Linear summaries miss these, so a masking method that keeps
only means and correlations can be told from one that keeps the shape.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.data.generators import _words as words

Floats = npt.NDArray[np.float64]
Reals = npt.NDArray[np.floating[Any]]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

CODES = tuple(words.MEANINGS)
CODE_INDEX = {code: index for index, code in enumerate(CODES)}

# Decimal places as a laboratory prints them (mmol/L, mg/dL, %, g/dL, 10^3/uL).
DECIMALS = {
    "sodium": 0,
    "potassium": 1,
    "creatinine": 2,
    "bun": 0,
    "glucose": 0,
    "hba1c": 1,
    "hemoglobin": 1,
    "wbc": 1,
    "albumin": 1,
}
_METABOLIC_PANEL = ("sodium", "potassium", "creatinine", "bun", "glucose")
_BLOOD_COUNT = ("hemoglobin", "wbc")


@dataclass(frozen=True)
class Patients:
    """What is known of each patient before the diagnosis: one array element per record."""

    age: Floats  # years at admission
    female: Flags
    smoker: Flags
    wealth: Floats  # of the neighbourhood, in standard deviations
    winter: Flags
    weekend: Flags

    def __len__(self) -> int:
        return int(self.age.size)


@dataclass(frozen=True)
class Illness:
    """Diagnoses (one row per code of CODES, one column per record) and their latent causes."""

    reason: Ints  # index into REASONS
    codes: Flags
    kidney: Floats  # filtration rate, mL/min
    sugar: Floats  # average glucose of the past months, mg/dL
    sodium: Floats
    severity: Floats

    def has(self, *codes: str) -> Flags:
        """Records with any of these codes."""
        return _any(self.codes, codes)


def _any(codes: Flags, names: tuple[str, ...]) -> Flags:
    return np.asarray(codes[[CODE_INDEX[name] for name in names]].any(axis=0), dtype=np.bool_)


def choose(rng: np.random.Generator, weights: Floats, cell: Ints) -> Ints:
    """Draw a column of *weights* for each record, from the row that *cell* gives it.

    One search over all rows laid end to end: no matrix of records by choices is ever built. A
    choice of weight zero is never drawn.
    """
    cumulative = np.cumsum(weights, axis=1)
    cumulative /= cumulative[:, -1:]
    rows, choices = weights.shape
    ends = (cumulative + np.arange(rows)[:, None]).ravel()
    # Just below one, lest cell + u round up into the next row.
    point = cell + rng.random(cell.size) * (1.0 - 2.0**-40)
    return np.asarray(np.searchsorted(ends, point, side="right") - cell * choices, dtype=np.int64)


def bernoulli(rng: np.random.Generator, logit: Reals) -> Flags:
    """A true/false draw for each record with the given log-odds."""
    return rng.random(logit.size) < sigmoid(logit)


def sigmoid(x: Reals) -> Floats:
    """The logistic curve, written with tanh because that cannot overflow."""
    return np.asarray(0.5 + 0.5 * np.tanh(0.5 * x), dtype=np.float64)


def _reason(rng: np.random.Generator, who: Patients) -> Ints:
    """The principal diagnosis, by age band, sex, season and smoking."""
    bands = len(words.AGE_BANDS) + 1
    weights = np.empty((bands, 2, 2, 2, len(words.REASONS)))
    for column, reason in enumerate(words.REASONS):
        sex = np.array([1.0 - reason.women, reason.women])
        season = np.array([1.0, reason.winter])
        habit = np.array([1.0, reason.smoker])
        weights[..., column] = (
            np.array(reason.bands)[:, None, None, None]
            * sex[:, None, None]
            * season[:, None]
            * habit
        )
    band = np.searchsorted(words.AGE_BANDS, who.age, side="right")
    cell = np.ravel_multi_index(
        (band, who.female.astype(int), who.winter.astype(int), who.smoker.astype(int)),
        (bands, 2, 2, 2),
    )
    return choose(rng, weights.reshape(-1, len(words.REASONS)), cell)


def _keep_most_important(codes: Flags) -> None:
    """Drop accompanying diagnoses, least important first, down to MOST_DIAGNOSES (in place)."""
    crowded = np.flatnonzero(codes.sum(axis=0) > words.MOST_DIAGNOSES)
    part = codes[:, crowded]
    excess = part.sum(axis=0) - words.MOST_DIAGNOSES
    for code in words.COMORBIDITIES:
        row = CODE_INDEX[code]
        dropped = part[row] & (excess > 0)
        part[row] &= ~dropped
        excess -= dropped
    codes[:, crowded] = part


def fall_ill(rng: np.random.Generator, who: Patients) -> Illness:
    """Diagnoses and latent causes: diabetes leads to hypertension, both to kidney disease."""
    n = len(who)
    reason = _reason(rng, who)
    codes = np.zeros((len(CODES), n), dtype=np.bool_)
    principal = np.array([CODE_INDEX[r.code] for r in words.REASONS], dtype=np.int64)
    codes[principal[reason], np.arange(n)] = True

    def has(*names: str) -> Flags:
        return _any(codes, names)

    def add(name: str, logit: Reals, among: Flags) -> Flags:
        row: Flags = codes[CODE_INDEX[name]]
        row |= among & bernoulli(rng, logit)
        return row

    adult = who.age >= 18.0
    decades = (who.age - 50.0) / 10.0
    delivery = has(*words.DELIVERIES)
    metabolic = rng.standard_normal(n) - 0.3 * who.wealth
    frailty = rng.standard_normal(n)

    obese = add("E66.9", -1.9 + 0.8 * metabolic, adult)
    diabetes = add(
        "E11.9", -2.3 + 0.38 * decades + 0.9 * metabolic + 0.7 * obese - 1.5 * delivery, adult
    )
    high = add("I10", -1.0 + 0.5 * decades + 1.2 * diabetes + 0.5 * obese - 1.0 * delivery, adult)
    add("E78.5", -1.6 + 0.25 * decades + 0.8 * diabetes + 0.7 * high, adult)
    add("Z79.4", -1.2 + 0.4 * metabolic, diabetes)

    # Filtration falls with age and, much more in some than in others, with sugar and pressure;
    # the soft floor keeps it positive without piling records up on one value.
    damage = (16.0 * diabetes + 10.0 * high) * rng.standard_gamma(1.2, n)
    raw = 112.0 - 8.0 * np.maximum(who.age - 25.0, 0.0) / 10.0 - damage
    raw += 12.0 * rng.standard_normal(n) - 42.0 * has("N17.9")
    kidney = 7.0 + 14.0 * np.logaddexp(0.0, raw / 14.0)
    codes[CODE_INDEX["N18.6"]] = adult & (kidney < 16.0) & ~has("N17.9")
    add("N18.3", 0.22 * (50.0 - kidney), adult & ~has("N18.6"))
    failing = has("N18.3", "N18.6")

    sugar = 98.0 + 7.0 * metabolic + 6.0 * rng.standard_normal(n)
    sugar += diabetes * (22.0 + 42.0 * rng.standard_gamma(1.4, n))

    heart = add("I25.1", -2.6 + 0.45 * decades + 0.7 * high + 0.6 * who.smoker, adult)
    add("I50.9", -4.2 + 0.5 * decades + 0.9 * heart + 0.7 * failing + 0.3 * frailty, adult)
    add("I48.9", -3.7 + 0.6 * decades + 0.6 * has("I50.9"), adult)
    add("J44.9", -4.0 + 0.4 * decades + 2.0 * who.smoker, adult & ~has("J44.1"))
    add("F17.2", np.full(n, 0.3), who.smoker)
    add("F32.9", -2.6 + 0.3 * frailty + 0.3 * who.female, adult)
    add("F41.9", -2.7 + 0.5 * who.female + 1.2 * has("F32.9"), adult)
    add("E03.9", -3.6 + 0.2 * decades + 1.2 * who.female, adult)
    add("K21.9", -2.4 + 0.15 * decades + 0.4 * obese, adult)
    add("D64.9", -3.0 + 0.2 * decades + 1.5 * failing + 1.5 * has("K92.2", "C18.9"), adult)
    add("P59.9", -1.6 + 1.4 * has("P07.3"), has("Z38.0", "P07.3"))
    codes[CODE_INDEX["Z37.0"]] = delivery

    # Sodium strays to either side (long tails); heart failure and sugar pull it down.
    stray = 1.9 * rng.standard_t(4.0, n) * np.where(adult, 1.0, 0.6)
    stray *= 1.0 + 0.25 * np.maximum(decades, 0.0)
    sodium = 139.8 + stray - 1.3 * has("I50.9") - 0.016 * (sugar - 100.0)
    sodium = 139.0 + 18.0 * np.tanh((sodium - 139.0) / 18.0)
    add("E87.1", 1.5 * (131.5 - sodium), np.ones(n, dtype=np.bool_))
    _keep_most_important(codes)

    mean = np.array([r.severity for r in words.REASONS])[reason]
    burden = codes.sum(axis=0) - 1.0
    severity = mean + 0.45 * frailty + 0.08 * burden
    severity += 1.6 * (1.0 - np.exp(-0.5 * ((sodium - 139.0) / 6.0) ** 2))
    return Illness(reason, codes, kidney, sugar, sodium, severity)


def laboratory(rng: np.random.Generator, who: Patients, ill: Illness) -> dict[str, Floats]:
    """All laboratory values, complete and at the precision of DECIMALS."""
    n = len(who)

    def normal(sd: float) -> Floats:
        return sd * rng.standard_normal(n)

    newborn = who.age < words.NEWBORN_BELOW
    grown = 0.35 + 0.65 * np.minimum(who.age / 18.0, 1.0)
    infected = ill.has(*words.INFECTIONS)
    loss = 90.0 / ill.kidney  # hyperbolic: small while the kidney works, steep when it fails
    excess = np.maximum(ill.sugar - 60.0, 0.0) / 100.0
    # In sepsis the white count is mostly very high, but in some it collapses.
    collapsed = ill.has("A41.9") & (rng.random(n) < 0.15)

    labs = {
        "sodium": ill.sodium + normal(0.6),
        "potassium": 3.85 + 0.17 * loss - 0.02 * (ill.sodium - 139.0) + normal(0.32),
        "creatinine": (0.72 + 0.2 * ~who.female) * grown * loss * np.exp(normal(0.08)),
        "bun": 12.5 * grown * loss**0.75 * np.exp(0.12 * ill.severity + normal(0.18)),
        "glucose": ill.sugar * np.exp(0.05 * ill.severity + normal(0.11)),
        "hba1c": 4.0 + 8.8 * excess / (excess + 1.4) + normal(0.25),
        "hemoglobin": 13.7
        + 1.5 * (~who.female & (who.age >= 15.0))
        + 3.2 * newborn
        - 6.0 * np.exp(-ill.kidney / 28.0)
        - 0.3 * ill.severity
        - 1.3 * ill.has("D64.9")
        - 2.4 * ill.has("K92.2")
        - 1.4 * ill.has(*words.DELIVERIES)
        + normal(0.7),
        "wbc": np.exp(
            2.0
            + 0.42 * infected
            + 0.4 * newborn
            + 0.1 * who.smoker
            + 0.08 * ill.severity
            - 1.5 * collapsed
            + normal(0.25)
        ),
        "albumin": 4.1
        - 0.3 * ill.severity
        - 0.04 * np.maximum(who.age - 40.0, 0.0) / 10.0
        - 0.3 * infected
        + normal(0.28),
    }
    # The least that an analyser reports, far from where the values lie.
    return {name: np.maximum(values, 0.1).round(DECIMALS[name]) for name, values in labs.items()}


def unmeasured(rng: np.random.Generator, who: Patients, ill: Illness) -> dict[str, Flags]:
    """Which laboratory values were never taken: the sicker the patient, the fewer."""
    n = len(who)
    young = who.age < 15.0
    panel = bernoulli(rng, -4.2 - 0.5 * ill.severity + 1.4 * young)
    count = bernoulli(rng, -4.3 - 0.4 * ill.severity + 0.8 * young)
    lost = {name: panel | (rng.random(n) < 0.003) for name in _METABOLIC_PANEL}
    lost |= {name: count | (rng.random(n) < 0.003) for name in _BLOOD_COUNT}
    # Long-term sugar is asked for where diabetes is known or suspected.
    ask = -1.9 + 3.6 * ill.has("E11.9") + 0.012 * (ill.sugar - 100.0) - 2.0 * young
    lost["hba1c"] = ~bernoulli(rng, ask)
    lost["albumin"] = panel | bernoulli(rng, -2.4 - 0.6 * ill.severity)
    return lost


def arrival(rng: np.random.Generator, who: Patients, ill: Illness) -> Ints:
    """Elective (0), urgent (1) or emergency (2); few elective admissions at the weekend."""
    weekday = np.array([reason.arrival for reason in words.REASONS], dtype=np.float64)
    weights = np.concatenate([weekday, weekday * np.array([0.15, 1.0, 1.0])])
    return choose(rng, weights, ill.reason + len(words.REASONS) * who.weekend)


def stay(rng: np.random.Generator, who: Patients, ill: Illness) -> Ints:
    """Days in hospital: overdispersed counts, longer with age, severity and diagnoses."""
    typical = np.array([reason.stay for reason in words.REASONS])[ill.reason]
    burden = ill.codes.sum(axis=0) - 1.0
    centre = (ill.severity - 0.2) * 0.28 + 0.004 * (who.age - 50.0) + 0.04 * burden
    mean = typical * np.exp(centre)
    return np.asarray(rng.poisson(mean * rng.standard_gamma(3.0, len(who)) / 3.0), dtype=np.int64)


def bill(rng: np.random.Generator, ill: Illness, days: Ints) -> Floats:
    """Charges in dollars, to the cent: log-normal given stay, procedure and diagnoses."""
    procedure = np.array([reason.procedure for reason in words.REASONS])[ill.reason]
    burden = ill.codes.sum(axis=0) - 1.0
    centre = 8.35 + 0.72 * np.log1p(days) + procedure + 0.05 * burden + 0.1 * ill.severity
    found: Floats = np.exp(centre + 0.32 * rng.standard_normal(days.size)).round(2)
    return found


def readmission(
    rng: np.random.Generator, who: Patients, ill: Illness, labs: dict[str, Floats], days: Ints
) -> Flags:
    """Back within thirty days: curved in sodium and age, with two interactions.

    A linear model sees little of it. What remains after masking of the curves (sodium, HbA1c) and
    of the interactions (a weak heart with weak kidneys; severe illness sent home early) decides
    how well a model trained on the masked register predicts.
    """
    weak_kidney = sigmoid(4.0 * (labs["creatinine"] - 1.5))
    imbalance = np.minimum(((labs["sodium"] - 139.0) / 6.0) ** 2, 3.0)
    low_albumin = 3.8 - labs["albumin"]
    logit = (
        -3.05
        + 1.6 * imbalance
        + 2.6 * ill.has("I50.9") * weak_kidney
        + 1.2 * np.maximum(labs["hba1c"] - 8.0, 0.0)
        + 2.2 * low_albumin * (days <= 3)
        + 0.5 * ((who.age - 55.0) / 20.0) ** 2 * (who.age >= 18.0)
        - 0.2 * who.wealth
        - 0.8 * ill.has("Z38.0", *words.DELIVERIES)
    )
    return bernoulli(rng, logit)
