"""What columns are recognized as, by values, by names, and by the columns beside them."""

from __future__ import annotations

import random
from collections.abc import Callable
from importlib import import_module
from itertools import islice

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.data.recognize import KNOWABLE, PERSONAL, WHATS, recognize
from sfumato.data.recognize.codes import is_icd, order_of
from sfumato.data.recognize.names import name_share
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


def test_remarks_that_come_back_are_still_remarks() -> None:
    mail = ["Elternzeit", "k.A.", "-", "E-Mail: a.huber@example.org", "langzeitkrank"]
    assert what("Bemerkungen / Größe", [*mail] * 100) == "free-text"
    assert what("Stand", [*mail] * 100) == "free-text"
    called_back = ["Elternzeit", "k.A.", "-", "Rückruf unter 0221/44 55 12"]
    assert what("Anmerkung", [*called_back] * 100) == "free-text"
    assert what("Anmerkung", ["Elternzeit", "k.A.", "Stufe 4"] * 100) == ""
    assert what("Tarif", ["EG 0815/12 33", "EG 0816/12 34", "EG 0817/12 35"] * 100) == ""
