"""The vocabularies of the synthetic discharge register: names, places and diagnoses.

Kept apart from the arithmetic so that the register can be read, and changed, as a set of tables.
Everything here is invented; shares and weights are plausible, and estimate nothing.
"""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

# First names run from old-fashioned to recent: the year of birth chooses the region of the list.
_FEMALE = """
Edith Mabel Hazel Doris Irene Norma Joyce Carol Judith Sandra Linda Diane Brenda Denise Lisa
Michelle Kimberly Heather Melissa Nicole Amanda Ashley Brittany Samantha Kayla Alexis Madison
Chloe Ava Aria
"""
_MALE = """
Chester Clarence Elmer Harold Ernest Ralph Eugene Gerald Roger Larry Dennis Gary Douglas Keith
Craig Todd Scott Jeffrey Brian Jason Justin Brandon Tyler Kyle Austin Logan Mason Caleb Liam Kai
"""
FEMALE_NAMES, MALE_NAMES = _FEMALE.split(), _MALE.split()
OLDEST_NAMES_YEAR, NEWEST_NAMES_YEAR = 1915, 2024

# Surnames are made of two parts, so that a short vocabulary yields a few hundred.
_HEADS = "Ash Bram Cald Dunn Elm Farr Grim Hal Kell Lang Marl North Oak Pem Rav Stan"
_TAILS = "berry brook croft dale field gate ham holt low mere ridge stead ton wick"
SURNAMES = [head + tail for tail, head in product(_TAILS.split(), _HEADS.split())]

ETHNICITIES = ("White", "Black", "Hispanic", "Asian", "Native American", "Other")


class Area(NamedTuple):
    """A three-digit postal area."""

    prefix: str
    share: float  # of all households
    codes: int  # number of five-digit codes
    wealth: float  # in standard deviations
    ethnicity: tuple[float, float, float, float, float, float]  # weights, as ETHNICITIES


AREAS = (
    Area("003", 0.24, 48, 0.3, (58, 11, 14, 12, 1, 4)),
    Area("004", 0.11, 30, 0.9, (74, 4, 6, 13, 1, 2)),
    Area("213", 0.20, 44, -0.5, (33, 46, 13, 4, 1, 3)),
    Area("343", 0.15, 36, -0.3, (36, 13, 43, 3, 2, 3)),
    Area("345", 0.08, 24, 0.6, (62, 6, 22, 6, 1, 3)),
    Area("517", 0.12, 40, 0.0, (84, 5, 6, 2, 1, 2)),
    Area("518", 0.07, 28, -0.4, (79, 2, 8, 1, 8, 2)),
    Area("519", 0.03, 18, -0.9, (60, 2, 7, 1, 28, 2)),
)

# Ages (years) at which the mix of reasons for admission changes. Those admitted on the day they
# are born are a band of their own.
NEWBORN_BELOW = 1.0 / 365.25
AGE_BANDS = (NEWBORN_BELOW, 15.0, 30.0, 50.0, 65.0, 80.0)


class Reason(NamedTuple):
    """A principal diagnosis: who is admitted with it, and what then follows."""

    code: str
    bands: tuple[float, float, float, float, float, float, float]  # weight in each age band
    women: float = 0.5  # their share, were both sexes equally many
    winter: float = 1.0  # factor in the cold half of the year
    smoker: float = 1.0  # factor for smokers
    severity: float = 0.0  # in standard deviations
    stay: float = 3.0  # typical days
    procedure: float = 0.0  # added to log charges
    arrival: tuple[float, float, float] = (5, 25, 70)  # elective, urgent, emergency


_PLANNED, _MIXED, _EMERGENCY = (85, 13, 2), (30, 40, 30), (1, 12, 87)

REASONS = (
    Reason("Z38.0", (90, 0, 0, 0, 0, 0, 0), 0.5, 1, 1, -1.2, 2.0, -1.2, (5, 90, 5)),
    Reason("P07.3", (8, 0, 0, 0, 0, 0, 0), 0.5, 1, 1, 0.8, 14, 0.6, (2, 60, 38)),
    Reason("J21.9", (0, 12, 0, 0, 0, 0, 0), 0.5, 3, 1, 0.0, 2.8),
    Reason("A09", (0, 14, 5, 3, 2, 2, 3), 0.5, 0.8, 1, -0.4, 2.2),
    Reason("J45.9", (0, 22, 6, 4, 3, 1, 1), 0.52, 1.4, 1.6, -0.2, 2.4),
    Reason("K35.8", (0, 16, 12, 6, 3, 1, 0), 0.44, 1, 1, -0.2, 2.2, 0.6, _EMERGENCY),
    Reason("O80", (0, 0, 48, 20, 0, 0, 0), 1, 1, 1, -0.9, 1.9, -0.3, _MIXED),
    Reason("O82", (0, 0, 15, 10, 0, 0, 0), 1, 1, 1, -0.4, 3.4, 0.4, _MIXED),
    Reason("S06.0", (0, 10, 8, 4, 2, 2, 3), 0.37, 1, 1, -0.1, 1.6, 0, _EMERGENCY),
    Reason("S82.8", (0, 9, 10, 8, 5, 3, 2), 0.41, 1.2, 1, -0.2, 3.0, 0.6),
    Reason("S72.0", (0, 0, 0, 1, 4, 11, 26), 0.63, 1.2, 1, 0.6, 6.0, 0.8),
    Reason("F32.9", (0, 4, 16, 13, 7, 3, 1), 0.57, 1.1, 1.3, -0.3, 6.5, -0.5),
    Reason("F10.2", (0, 0, 6, 12, 9, 2, 0), 0.33, 1, 1.9, 0.1, 4.0, -0.3),
    Reason("J18.9", (0, 8, 4, 6, 9, 14, 19), 0.47, 2.0, 1.3, 0.5, 4.6),
    Reason("J44.1", (0, 0, 0, 2, 9, 11, 7), 0.5, 1.6, 4.0, 0.5, 4.2),
    Reason("A41.9", (0, 3, 4, 8, 14, 18, 21), 0.47, 1.2, 1.1, 1.4, 6.8, 0.5, _EMERGENCY),
    Reason("N39.0", (0, 3, 4, 4, 4, 8, 14), 0.71, 0.9, 1, 0.1, 3.4),
    Reason("L03.1", (0, 3, 5, 8, 8, 6, 5), 0.44, 0.8, 1.2, -0.1, 3.5),
    Reason("I21.4", (0, 0, 0, 5, 13, 14, 11), 0.37, 1.1, 1.8, 0.8, 3.6, 1.0),
    Reason("I50.9", (0, 0, 0, 3, 10, 18, 26), 0.47, 1.2, 1.2, 0.9, 4.9, 0.1),
    Reason("I48.9", (0, 0, 0, 2, 6, 10, 9), 0.47, 1, 1, 0.2, 2.9, 0.2),
    Reason("I63.9", (0, 0, 0, 3, 8, 13, 15), 0.47, 1.1, 1.4, 0.9, 4.8, 0.4, _EMERGENCY),
    Reason("K80.2", (0, 0, 5, 8, 8, 6, 3), 0.62, 1, 1, -0.3, 2.5, 0.6, _MIXED),
    Reason("K92.2", (0, 0, 2, 4, 6, 8, 10), 0.44, 1, 1.2, 0.6, 3.8, 0.2),
    Reason("N17.9", (0, 0, 1, 4, 8, 11, 13), 0.44, 1, 1, 0.9, 4.9, 0.1),
    Reason("M17.1", (0, 0, 0, 3, 17, 19, 5), 0.58, 1, 0.8, -0.6, 2.3, 1.0, _PLANNED),
    Reason("M16.1", (0, 0, 0, 2, 10, 11, 4), 0.52, 1, 0.8, -0.5, 2.4, 1.0, _PLANNED),
    Reason("C34.9", (0, 0, 0, 1, 5, 7, 3), 0.47, 1, 5.0, 0.8, 5.6, 0.6, _MIXED),
    Reason("C50.9", (0, 0, 0.1, 3, 4, 3, 1), 0.98, 1, 1, -0.2, 2.0, 0.7, _PLANNED),
    Reason("C18.9", (0, 0, 0, 2, 6, 7, 5), 0.47, 1, 1.1, 0.4, 6.0, 0.8, (60, 25, 15)),
    Reason("R07.9", (0, 2, 5, 12, 14, 9, 6), 0.5, 1, 1.2, -0.5, 1.4, -0.2),
)
DELIVERIES = ("O80", "O82")
INFECTIONS = ("A41.9", "J18.9", "N39.0", "L03.1", "K35.8", "J44.1", "J21.9")

# Accompanying diagnoses, least important first: where a record has more than MOST_DIAGNOSES,
# these give way in this order. Z37.0, which tells of the birth, always goes with a delivery.
_ACCOMPANYING = """
K21.9 F41.9 E78.5 E03.9 F17.2 P59.9 E66.9 Z79.4 E87.1 D64.9 J44.9 I25.1 N18.3 I10 E11.9 N18.6
"""
COMORBIDITIES = tuple(_ACCOMPANYING.split())
MOST_DIAGNOSES = 8

#: What each ICD-10 code of the register means, in the order of the codes.
MEANINGS: dict[str, str] = {
    "A09": "Gastroenteritis",
    "A41.9": "Sepsis",
    "C18.9": "Colon cancer",
    "C34.9": "Lung cancer",
    "C50.9": "Breast cancer",
    "D64.9": "Anaemia",
    "E03.9": "Hypothyroidism",
    "E11.9": "Type 2 diabetes",
    "E66.9": "Obesity",
    "E78.5": "Hyperlipidaemia",
    "E87.1": "Hyponatraemia",
    "F10.2": "Alcohol dependence",
    "F17.2": "Nicotine dependence",
    "F32.9": "Depressive episode",
    "F41.9": "Anxiety disorder",
    "I10": "Hypertension",
    "I21.4": "Myocardial infarction",
    "I25.1": "Coronary heart disease",
    "I48.9": "Atrial fibrillation",
    "I50.9": "Heart failure",
    "I63.9": "Stroke",
    "J18.9": "Pneumonia",
    "J21.9": "Bronchiolitis",
    "J44.1": "COPD, acute",
    "J44.9": "COPD",
    "J45.9": "Asthma",
    "K21.9": "Gastro-oesophageal reflux",
    "K35.8": "Appendicitis",
    "K80.2": "Gallstones",
    "K92.2": "Gastrointestinal bleeding",
    "L03.1": "Cellulitis",
    "M16.1": "Arthrosis of hip",
    "M17.1": "Arthrosis of knee",
    "N17.9": "Acute kidney failure",
    "N18.3": "Chronic kidney disease, stage 3",
    "N18.6": "End-stage kidney disease",
    "N39.0": "Urinary infection",
    "O80": "Delivery",
    "O82": "Caesarean delivery",
    "P07.3": "Preterm infant",
    "P59.9": "Neonatal jaundice",
    "R07.9": "Chest pain",
    "S06.0": "Concussion",
    "S72.0": "Fracture of hip",
    "S82.8": "Fracture of leg",
    "Z37.0": "Single live birth",
    "Z38.0": "Liveborn infant",
    "Z79.4": "Long-term use of insulin",
}
