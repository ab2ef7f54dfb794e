"""What columns are recognized as, by values, by names, and by the columns beside them."""

from __future__ import annotations

import random
from collections.abc import Callable
from importlib import import_module
from itertools import islice

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.data.recognize import KNOWABLE, PERSONAL, WHATS, recognize
from sfumato.data.recognize.codes import is_icd, order_of
from sfumato.data.recognize.names import inner_share, name_share
from sfumato.data.recognize.words import called, plain_name

N = 120


def column(make: Callable[[random.Random, int], object]) -> list[object]:
    rng = random.Random(5)
    return [make(rng, i) for i in range(N)]


def digits(rng: random.Random, size: int) -> str:
    return "".join(rng.choice("0123456789") for _ in range(size))


def what(name: str, values: list[object]) -> str:
    found = recognize(sf.table({name: values})).get(name)
    return found.what if found else ""


FIRST = ("Anna", "Peter", "Zuzanna", "Lukas", "Chloé", "Íñigo", "Giulia", "João", "Sanne", "Wanda")
LAST = ("Smith", "Müller", "Lefebvre", "García", "Rossi", "Teixeira", "Hoekstra", "Nowak", "Lind")
GOODS = (("table", "large"), ("chair", "small"), ("lamp", "medium"))
SICK = ("flu", "gout", "asthma")
RUSSIAN = "Иван Мария Ольга Сергей Анна Дмитрий Елена Николай Татьяна Алексей Павел Юлия Светлана"

SILENT: dict[str, list[object]] = {
    "name": column(lambda r, i: f"{r.choice(FIRST)} {r.choice(LAST)}"),
    "name, capitals": column(lambda r, i: f"{r.choice(LAST)}, {r.choice(FIRST)}".upper()),
    "name, Cyrillic": column(lambda r, i: r.choice(RUSSIAN.split())),
    "name, Chinese": column(
        lambda r, i: r.choice("王李张刘陈杨黄赵") + r.choice("伟芳娜敏静丽强磊军")
    ),
    "name, with title": column(lambda r, i: f"{r.choice(LAST)}, Mrs. {r.choice(FIRST)} (née Xq)"),
    "name, login": column(lambda r, i: f"{r.choice(FIRST)}.{r.choice(LAST)}".lower()),
    "name, login with initial": column(
        lambda r, i: f"{r.choice(LAST)}_{r.choice('abcdefgh')}{i % 30}".lower()
    ),
    "name, JSON": column(
        lambda r, i: f'{{"n":"{r.choice(FIRST)} {r.choice(LAST)}","dx":"{r.choice(SICK)}"}}'
    ),
    "name, glued": column(lambda r, i: f"{r.choice(FIRST)} {r.choice(LAST)}|F3{i % 3}"),
    "address": column(lambda r, i: f"{r.randrange(1, 99)} {r.choice(LAST)} Street"),
    "address, German": column(lambda r, i: f"{r.choice(LAST)}straße {r.randrange(1, 99)}"),
    "telephone": column(lambda r, i: f"+48 {digits(r, 3)} {digits(r, 3)} {digits(r, 3)}"),
    "telephone, at home": column(
        lambda r, i: f"0{r.randrange(1, 9)}{digits(r, 3)} / {digits(r, 6)}"
    ),
    "e-mail": column(lambda r, i: f"p{i}@mail.example"),
    "url": column(lambda r, i: f"https://example.org/{i}"),
    "ip-address": column(lambda r, i: f"10.0.{i}.7"),
    "device": column(lambda r, i: ":".join(f"{r.randrange(256):02x}" for _ in range(6))),
    "unique-code": column(lambda r, i: f"{r.getrandbits(128):032x}"),
    "unique-code, after a word": column(lambda r, i: f"PAT-{1000 + i}"),
    "free-text, sparse": column(
        lambda r, i: (
            f"Bruder {r.choice(FIRST)} ebenfalls krank, nicht anrufen" if i % 9 == 0 else None
        )
    ),
    "coordinate": column(lambda r, i: f"{r.uniform(47, 54):.4f}N"),
    "coordinate, minutes": column(lambda r, i: f"{r.randrange(47, 54)}°{r.randrange(60)}'12\"N"),
    "coordinate, point": column(
        lambda r, i: f"POINT({r.uniform(6, 9):.4f} {r.uniform(47, 9):.4f})"
    ),
    "coordinate, pair": column(lambda r, i: f"{r.uniform(47, 54):.5f}, {r.uniform(6, 9):.5f}"),
    "coordinate, geohash": column(
        lambda r, i: "u28" + "".join(r.choice("0123456789bcdefghjkmnpqrstuvwxyz") for _ in range(5))
    ),
    "postal-code": column(lambda r, i: f"{digits(r, 4)} {r.choice('ABC')}{r.choice('XYZ')}"),
    "plate": column(lambda r, i: f"A-{r.choice('ABC')}{r.choice('XYZ')} {r.randrange(1, 9999)}"),
    "date": column(lambda r, i: f"{r.randrange(1, 29)}. März {r.randrange(1940, 2000)}"),
    "date, mixed": column(
        lambda r, i: r.choice(("03.04.1980", f"1981-05-{i % 28 + 1:02d}", f"{i % 28 + 1}/7/82"))
    ),
    "date, compact": column(lambda r, i: int(f"19{r.randrange(40, 99)}0{r.randrange(1, 9)}17")),
    "date-time": column(lambda r, i: f"2020-03-{i % 28 + 1:02d} 1{i % 10}:0{i % 6}"),
    "free-text": column(lambda r, i: f"the brother of {r.choice(FIRST)} was ill, too ({i})"),
    "diagnosis": column(lambda r, i: r.choice(("E11.9", "I10", "J18.9", "N18.3", "F32.1"))),
    "year": column(lambda r, i: r.randrange(1940, 2006)),
    "ordinal": column(lambda r, i: r.choice(("never", "rarely", "often", "always"))),
    "measurement": column(lambda r, i: r.gauss(0, 1)),
}


@pytest.mark.parametrize("case", SILENT)
def test_values_decide_where_names_are_silent(case: str) -> None:
    assert what("v7", SILENT[case]) == case.partition(",")[0]


@pytest.mark.parametrize(
    ("module", "make", "expected"),
    [
        ("gb.nhs", lambda r: digits(r, 10), "health-number"),
        ("nl.bsn", lambda r: digits(r, 9), "national-number"),
        ("br.cpf", lambda r: digits(r, 11), "national-number"),
        ("iban", lambda r: f"DE{digits(r, 2)}5001051754{digits(r, 8)}", "account"),
        ("imei", lambda r: "35" + digits(r, 13), "device"),
        ("luhn", lambda r: "4" + digits(r, 15), "account"),
    ],
)
def test_check_digits_prove_a_number(
    module: str, make: Callable[[random.Random], str], expected: str
) -> None:
    valid = import_module(f"stdnum.{module}").is_valid
    rng = random.Random(2)
    drawn = (make(rng) for _ in range(20_000))
    right = list(islice(filter(valid, drawn), 60))
    assert len(right) == 60
    assert what("v7", list(right)) == expected
    wrong = [number[:-1] + str((int(number[-1]) + 1) % 10) for number in right]
    assert what("v7", list(wrong)) != expected


HEADERS = {
    "name": "surname Nachname nom apellidos cognome apelido achternaam nazwisko",
    "address": "street Straße adresse dirección indirizzo morada straat ulica",
    "postal-code": "postcode PLZ code_postal código_postal CAP cod_postal postcode kod_pocztowy",
    "telephone": "phone Telefon téléphone teléfono cellulare telemóvel telefoon telefon",
    "coordinate": "latitude Breitengrad longitude latitud latitudine lat lengtegraad szerokość_geo",
    "place": "city Wohnort ville municipio comune concelho woonplaats miejscowość",
    "region": "country Bundesland pays país nazione nacionalidade provincie województwo",
    "age": "age Alter âge edad età idade leeftijd wiek",
    "date": "date_of_birth Geburtsdatum date_naissance fecha data_nascita nascimento "
    "geboortedatum data_urodzenia",
    "trait": "sex Geschlecht profession estado_civil sesso profissão beroep zawód",
    "private": "income Einkommen revenu ingresos reddito rendimento inkomen dochód",
    "record-number": "patient_id Patientennummer numéro_patient id_paciente numero_paziente "
    "id_utente patient_nr numer_pacjenta",
    "other-person": "mother_id Mutter-ID id_mère id_madre id_della_madre id_da_mãe moeder_nr "
    "id_matki",
    "household": "household_id Haushalt ménage hogar nucleo_familiare agregado_familiar "
    "huishouden gospodarstwo_id",
    "free-text": "comments Bemerkungen commentaires observaciones osservazioni comentários "
    "opmerkingen uwagi",
    "weight": "sampling_weight Gewichtung pondération ponderación pesatura ponderação weging waga",
    "diagnosis": "diagnosis Diagnose diagnostic diagnóstico diagnosi doença ziekte rozpoznanie",
    "account": "account_no Kontonummer compte_bancaire cuenta_bancaria conto_corrente conta_id "
    "rekeningnummer numer_rachunku",
}


@pytest.mark.parametrize("expected", HEADERS)
def test_names_of_columns_in_eight_languages(expected: str) -> None:
    words = HEADERS[expected].split()
    assert len(words) == 8
    assert {word for word in words if called(plain_name(word))[:1] != [expected]} == set()


def test_codes_of_sex_and_job_are_no_diagnoses() -> None:
    for codes in (("A11", "A34"), ("B12", "B19", "C11", "C34", "D41"), ("N10", "E78", "N39")):
        assert what("v7", column(lambda r, i, codes=codes: r.choice(codes))) == ""
    assert is_icd(["A11", "E11"], named=True) is False  # A11 is no category of the list
    assert is_icd(["E11", "I10"], named=True)


def test_an_order_is_read_from_words_and_bands() -> None:
    assert order_of(["hoch", "niedrig", "mittel"]) == ["niedrig", "mittel", "hoch"]
    assert order_of(["65+", "18-39", "<18", "40-64"]) == ["<18", "18-39", "40-64", "65+"]
    assert order_of(["2 - gut", "1 - schlecht", "3 - sehr gut"]) == [
        *("1 - schlecht", "2 - gut", "3 - sehr gut")
    ]
    assert order_of(["red", "green", "blue"]) is None
    assert order_of(["low", "high", "unknown"]) is None


def test_coordinates_beside_each_other_need_no_name() -> None:
    north, east = column(lambda r, i: r.uniform(47, 54)), column(lambda r, i: r.uniform(6, 14))
    found = recognize(sf.table({"v1": north, "v2": east}))
    assert [one.what for one in found.values()] == ["coordinate", "coordinate"]
    x, y = (
        column(lambda r, i: r.randrange(380_000, 420_000)),
        column(lambda r, i: 5_800_000 + i * 9),
    )
    found = recognize(sf.table({"x": x, "y": y}))
    assert [one.what for one in found.values()] == ["coordinate", "coordinate"]
    near = recognize(sf.table({"score_a": north, "score_b": column(lambda r, i: r.gauss(0, 1))}))
    assert {one.what for one in near.values()} == {"private"}


def test_numbers_of_others_are_found_by_the_key() -> None:
    ids = [f"K{i:04d}" for i in range(N)]
    other = column(lambda r, i: r.choice(ids) if i % 3 else None)
    found = recognize(sf.table({"nr": ids, "v2": other, "v3": [i % 4 for i in range(N)]}))
    assert found["v2"].what == "other-person"
    numbers = recognize(
        sf.table({"case_id": list(range(N)), "children": [i % 4 for i in range(N)]})
    )
    assert numbers["children"].what == "trait"


def test_batteries_and_weights() -> None:
    items = {f"q{i}": column(lambda r, j: r.randrange(1, 6)) for i in range(6)}
    found = recognize(sf.table({**items, "wt": column(lambda r, i: r.uniform(0.5, 2))}))
    assert {found[name].what for name in items} == {"likert"}
    assert found["wt"].what == "weight"
    weights = {f"wt{i}": column(lambda r, j: r.uniform(0.5, 2)) for i in range(3)}
    chosen = recognize(sf.table({**weights, "final_wt": column(lambda r, i: r.uniform(1, 2))}))
    assert max(chosen.values(), key=lambda one: one.confidence).column == "final_wt"
    assert all("final_wt" in chosen[name].why for name in weights)
    body = recognize(sf.table({"weight": column(lambda r, i: r.gauss(74, 11))}))
    assert body["weight"].what == "measurement"


def test_codes_under_running_names_are_no_battery() -> None:
    def codes(most: int) -> list[object]:
        return column(lambda r, i: r.randrange(1, most + 1))

    mixed = {f"v{i}": codes(most) for i, most in enumerate((2, 4, 5, 9, 3, 6, 2, 7))}
    assert not any(one.what == "likert" for one in recognize(sf.table(mixed)).values())
    races = {f"race_{i}": codes(2) for i in range(6)}
    assert {one.what for one in recognize(sf.table(races)).values()} == {"trait"}
    alike = {f"v{i}": codes(5) for i in range(8)}
    assert {one.what for one in recognize(sf.table(alike)).values()} == {"likert"}


def test_few_values_point_to_nobody() -> None:
    few: list[object] = [("a", "b", "c")[i % 3] for i in range(N)]
    for name in ("licence_class", "phone", "address", "device_id"):
        assert what(name, few) not in PERSONAL
    assert what("contact", [("cellular", "unknown")[i % 2] for i in range(N)]) == ""


@pytest.mark.parametrize(
    "words",
    [
        "Ibuprofen Metformin Ramipril Simvastatin Pantoprazol Bisoprolol Warfarin Losartan Insulin",
        "Buchhalter Schreiner Verkäufer Landwirt Rentner Ingenieur Lehrerin Krankenpfleger Koch",
        "managing consulting engineering teaching nursing farming mining trading printing testing",
    ],
)
def test_other_words_are_no_names(words: str) -> None:
    listed, _ = name_share(words.split())
    assert listed < 0.3
    assert what("v7", column(lambda r, i: r.choice(words.split()))) != "name"


def test_what_is_personal_is_knowable() -> None:
    assert PERSONAL < KNOWABLE <= set(WHATS)
    assert {"age", "place", "household", "other-person"} <= KNOWABLE - PERSONAL
    assert {"name", "telephone", "coordinate", "date", "free-text"} <= PERSONAL


CELLS = st.one_of(
    st.lists(st.none() | st.integers(-(2**62), 2**62), min_size=3, max_size=3),
    st.lists(st.none() | st.floats(), min_size=3, max_size=3),
    st.lists(st.none() | st.booleans(), min_size=3, max_size=3),
    st.lists(st.none() | st.text(max_size=8), min_size=3, max_size=3),
    st.lists(st.none() | st.dates(), min_size=3, max_size=3),
    st.lists(st.lists(st.text(max_size=3), max_size=3), min_size=3, max_size=3),
)


@given(
    st.dictionaries(st.text(min_size=1, max_size=6), CELLS, min_size=1, max_size=4), st.booleans()
)
def test_any_table_is_looked_at(content: dict[str, list[object]], long: bool) -> None:
    frame = pl.DataFrame(content, strict=False)
    table = sf.table(pl.concat([frame] * 40) if long else frame)
    found = recognize(table)
    assert set(found) <= set(table.names)
    assert all(one.what in WHATS and 0 < one.confidence <= 1 for one in found.values())


def test_it_looks_at_values_and_leaves_the_table_alone() -> None:
    frame = pl.DataFrame({"a": [None, None], "b": [["x"], []], "c": [1.0, float("nan")]})
    table = sf.table(frame)
    recognize(table)
    assert table.frame.equals(sf.table(frame).frame)
    assert recognize(sf.table({"name": pl.Series([], dtype=pl.String)}))["name"].what == "name"


def test_remarks_that_come_back_are_still_text_about_people() -> None:
    texts = ["Sohn ruft morgen wieder an", "o.B.", "Nachbarin bringt den Befund von Dr. Mayer"]
    found = recognize(sf.table({"Bemerkung": texts * 50, "note": ["good", "fair", "poor"] * 50}))
    assert found["Bemerkung"].what == "free-text"
    assert "note" not in found or found["note"].what not in PERSONAL


def test_sentences_about_people_are_text_however_often_they_come_back() -> None:
    spoken = ["mein Chef Herr Müller ist furchtbar", "nichts", "Ich heisse Petra und bin Lehrerin"]
    labels = ["Some college, but no degree", "Never worked for pay before", "Doctor or professor"]
    found = recognize(sf.table({"q_7": spoken * 50, "q_8": labels * 50}))
    assert found["q_7"].what == "free-text"
    assert "q_8" not in found or found["q_8"].what != "free-text"


def test_titles_and_initials_are_people() -> None:
    carers = ["Mrs. Haugland", "B. Wambui", "Dr Patel", "Herr Özil"]
    found = recognize(sf.table({"c": carers * 30, "Namn": ["Åkerlund", "Söderqvist", "Sjöö"] * 40}))
    assert {found["c"].what, found["Namn"].what} == {"name"}


def test_a_wage_is_no_longitude() -> None:
    wages = [21_000 + 137 * i for i in range(100)]
    found = recognize(sf.table({"lön": wages, "lon": [7 + i / 977 for i in range(100)]}))
    assert "lön" not in found or found["lön"].what != "coordinate"
    assert found["lon"].what == "coordinate"


def test_numbers_that_come_back_with_one_person() -> None:
    """Whatever they are called: a device's, a card's, a subject's."""
    rng = np.random.default_rng(3)
    who = rng.permutation(np.repeat(np.arange(60), 20))
    columns = {
        "v1": (1001 + who).tolist(),
        "imp": (35_000_000_000_000 + who * 7919).tolist(),
        "sex": [("f", "m")[w % 2] for w in who],
        "birthyr": (1940 + (who * 7) % 60).tolist(),
        "shop": rng.integers(0, 40, who.size).tolist(),
    }
    found = recognize(sf.table(columns))
    assert found["v1"].what == found["imp"].what == "record-number"
    assert "shop" not in found
    # The same numbers of households: their members differ.
    columns["sex"] = rng.choice(["f", "m"], who.size).tolist()
    columns["birthyr"] = rng.integers(1940, 2000, who.size).tolist()
    assert "v1" not in recognize(sf.table(columns))


_PEOPLE = 400
_LETTERS = "ACDEFHKN"
_SHAPES = {
    "Irish": lambda i: f"V{100_000 + i}",
    "Irish, in two": lambda i: f"V10 {1000 + i}",
    "Dutch": lambda i: f"{1000 + i}{_LETTERS[i % 8]}{_LETTERS[i // 8 % 8]}",
    "Polish": lambda i: f"10-{i:03d}",
    "Swiss": lambda i: f"CH-{1000 + i}",
    "household": lambda i: f"H{i:04d}",
    "diagnosis": lambda i: f"{'MSTYXCFD'[i % 8]}1{i // 8 % 10}.{i // 80}",
    "digits": lambda i: f"{i:05d}",
    "number": lambda i: 10_000 + i,
    "mixed": lambda i: f"{_LETTERS[i % 8]}{i}x{_LETTERS[i % 5]}",
}


def _claims(shape: str, *, own: bool) -> dict[str, list[object]]:
    """Three claims a person, or as many records that share a code and no person."""
    rng = np.random.default_rng(5)
    who = np.repeat(np.arange(_PEOPLE), 3)
    person = who if own else rng.permutation(who)
    sex = rng.choice(["f", "m"], _PEOPLE)
    born = rng.integers(1935, 2005, _PEOPLE)
    towns = [f"{a}{n} {m}AB" for a in ("L", "EC", "BH", "G") for n in range(1, 6) for m in (1, 2)]
    home = rng.integers(0, len(towns), _PEOPLE)
    return {
        "c1": [_SHAPES[shape](i) for i in who],
        "c2": [towns[home[i]] for i in person],
        "zip": [f"{10_000 + 37 * home[i]}" for i in person],
        "sex": sex[person].tolist(),
        "birthyr": born[person].tolist(),
        "line": rng.choice(["car", "home", "life"], who.size).tolist(),
    }


@pytest.mark.parametrize("shape", _SHAPES)
def test_a_code_whose_records_are_one_persons_is_a_number_whatever_it_looks_like(
    shape: str,
) -> None:
    claims = _claims(shape, own=True)
    found = recognize(sf.table(claims))
    assert found["c1"].what == "record-number"
    assert found["c2"].what == found["zip"].what == "postal-code"
    del claims["birthyr"]
    assert recognize(sf.table(claims))["c1"].what == "record-number"
    # Of records that only share the code nothing is said but what it looks like.
    shared = recognize(sf.table(_claims(shape, own=False)))
    assert "c1" not in shared or shared["c1"].what != "record-number"


def test_a_code_that_looks_postal_is_a_persons_if_sex_alone_says_so() -> None:
    claims = _claims("Irish", own=True)
    few = {name: claims[name] for name in ("c1", "sex", "line")}
    assert recognize(sf.table(few))["c1"].what == "record-number"
    few["sex"] = _claims("Irish", own=False)["sex"]
    assert recognize(sf.table(few))["c1"].what == "postal-code"


def test_an_illness_of_one_sex_is_still_an_illness() -> None:
    codes = [f"{letter}1{i}.{j}" for letter in "MSTYXCFD" for i in range(4) for j in (0, 1)]
    rng = np.random.default_rng(5)
    drawn = rng.integers(0, len(codes), 2000)
    columns = {
        "c1": [codes[i] for i in drawn],
        "sex": [("f", "m")[i % 2] for i in drawn],
        "ward": [f"W{i % 4}" for i in drawn],
        "birthyr": rng.integers(1940, 2000, drawn.size).tolist(),
    }
    assert recognize(sf.table(columns))["c1"].what == "diagnosis"
    del columns["birthyr"]
    assert recognize(sf.table(columns))["c1"].what == "diagnosis"


def test_a_persons_number_is_found_beside_that_of_a_case() -> None:
    claims = _claims("number", own=True)
    twice = {name: [one for one in values for _ in "12"] for name, values in claims.items()}
    twice["c3"] = [f"x{i // 2}" for i in range(len(twice["c1"]))]
    found = recognize(sf.table(twice))
    assert found["c1"].what == found["c3"].what == "record-number"


def test_codes_without_names_in_them_are_none() -> None:
    wards = [f"ward-{i % 40}_b" for i in range(N)]
    goods = [f'{{"item":"{g}","size":"{s}{i % 9}"}}' for i in range(40) for g, s in GOODS]
    assert inner_share(wards) == (0.0, 0.0)
    assert what("v7", [*wards, *wards]) != "name"
    assert what("v7", [*goods, *goods]) != "name"


REMARKS = {
    "German": "Vater unbekannt, angeblich der Müller vom Oberbach|lebt seit dem Brand bei der Tante"
    "|keine|wurde nach der Taufe ins Heim gebracht",
    "English": "lives with the aunt since spring|none|was seen again after the fall at home",
    "French": "vit avec la grand-mère depuis mars|rien|est retourné chez son oncle en mai",
    "Spanish": "vive con la abuela desde marzo|nada|fue visto de nuevo en el pueblo",
    "Polish": "mieszka u ciotki i jest chory|brak|był ponownie widziany we wsi",
}
LABELS = (
    "Strongly agree|Neither agree nor disagree|Strongly disagree|Do not know",
    "Never been married|Married, living together|Widowed or divorced|Child under 18 never married",
    "Some college but no degree|High school graduate|Less than 1st grade",
    "Professional, scientific and technical services|Public administration|Retail trade",
    "Transport and moving machine operators|Precision production, craft and repair|Sales",
)


def few(texts: str) -> list[object]:
    return column(lambda rng, _: rng.choice(texts.split("|")))


@pytest.mark.parametrize("language", REMARKS)
def test_remarks_are_text_about_people_however_few_they_are(language: str) -> None:
    assert what("x1", few(REMARKS[language])) == "free-text"


@pytest.mark.parametrize("texts", LABELS)
def test_labels_of_categories_are_no_remarks(texts: str) -> None:
    assert what("x1", few(texts)) != "free-text"


@pytest.mark.parametrize("name", ["Anm.", "Bem.", "NB", "pozn.", "uwagi", "obs.", "note", "rem."])
def test_short_words_for_remarks(name: str) -> None:
    assert what(name, few("zieht im Mai um|kennt den Arzt gut|-")) == "free-text"


@pytest.mark.parametrize(
    "name", ["Vertrauen in die Polizei", "Wahlabsicht", "vote intention", "trust_country", "creat"]
)
def test_opinions_and_illnesses_are_confidential(name: str) -> None:
    assert what(name, column(lambda rng, _: rng.randrange(40, 120))) == "private"


def test_labels_of_a_file_tell_opinions() -> None:
    frame = sf.table({"v7": column(lambda rng, _: rng.randrange(1, 6))})
    for label in (
        "Trust in the country's parliament",
        "Vertrauen: Bundesland",
        "Voted in the state",
    ):
        told = frame.with_columns([], [frame.schema["v7"].with_(label=label)])
        assert recognize(told)["v7"].what == "private", label


def test_values_that_name_illnesses_are_diagnoses() -> None:
    assert what("plan_b", few("aucun|asthme|allergie aux noix|diabète")) == "diagnosis"
    assert what("plan_b", few("bus|train|asthme|bike|on foot")) != "diagnosis"


def test_an_address_among_words_makes_a_remark_however_often_it_comes_back() -> None:
    mail = ["Elternzeit", "k.A.", "-", "E-Mail: a.huber@example.org", "langzeitkrank"]
    assert what("Bemerkungen / Größe", [*mail] * 100) == "free-text"
    assert what("Stand", [*mail] * 100) == "free-text"
    called_back = ["Elternzeit", "k.A.", "-", "Rückruf unter 0221/44 55 12"]
    assert what("Anmerkung", [*called_back] * 100) == "free-text"
    assert what("Anmerkung", ["Elternzeit", "k.A.", "Stufe 4"] * 100) == ""
    assert what("Tarif", ["EG 0815/12 33", "EG 0816/12 34", "EG 0817/12 35"] * 100) == ""
