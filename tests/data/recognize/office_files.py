"""Personnel files of people who do not exist: other things, and other forms of the same things.

Numbers point to other numbers, names stand in one cell, coordinates have degrees and minutes, dates
the names of months, and most remarks are empty.
"""

from __future__ import annotations

import random

from tests.data.recognize.people_files import ROWS, PeopleFile, Truth
from tests.data.recognize.people_words import KIN, LANGUAGES

_ID = "identifier"
OFFICE: dict[str, Truth] = {
    "number": Truth("nominal or integer", _ID, True),
    "name": Truth("nominal", _ID, True),
    "manager": Truth("nominal or integer", _ID, True),
    "hired": Truth("date or nominal", "quasi or identifier", True),
    "employer": Truth("nominal", "quasi or identifier"),
    "salary": Truth("integer or continuous or nominal", "confidential"),
    "band": Truth("ordinal", "confidential or quasi"),
    "phone": Truth("nominal", _ID, True),
    "home": Truth("nominal", "identifier or quasi", True),
    "nationality": Truth("nominal", "quasi"),
    "religion": Truth("nominal", "quasi or confidential"),
    "party": Truth("nominal", "confidential or quasi"),
    "height": Truth("integer", "quasi or confidential"),
    "body": Truth("integer or continuous", "quasi or confidential"),
    "size": Truth("integer", "quasi"),
    "content": Truth("ordinal", "confidential or quasi"),
    "licence": Truth("nominal", _ID, True),
    "session": Truth("nominal", _ID, True),
    "address": Truth("nominal", _ID, True),
    "remarks": Truth("nominal or text", _ID, True),
    "died": Truth("date", "quasi or identifier", True),
    "left": Truth("boolean", "target or confidential or quasi"),
    "postal": Truth("nominal", "quasi or identifier", True),
}
HEADERS = {
    "en": "Employee No,Full name,Manager No,Hire date,Employer,Gross salary,Salary band,Mobile,"
    "Home location,Nationality,Religion,Party,Height,Weight,Household size,Job satisfaction,"
    "Driving licence,Session,IP address,Remarks,Date of death,Churned,Zip code",
    "de": "Personalnummer,Name,Vorgesetzter Nr,Eintrittsdatum,Arbeitgeber,Bruttogehalt,"
    "Gehaltsgruppe,Handynummer,Koordinaten,Staatsangehörigkeit,Religion,Partei,Körpergröße,"
    "Gewicht,Haushaltsgröße,Zufriedenheit,Führerscheinnummer,Sitzung,IP-Adresse,Anmerkung,"
    "Sterbedatum,Gekündigt,Postleitzahl",
    "fr": "Numéro d'employé,Nom complet,Numéro du supérieur,Date d'embauche,Employeur,Salaire brut,"
    "Tranche de salaire,Portable,Coordonnées,Nationalité,Religion,Parti politique,Taille,Poids,"
    "Taille du ménage,Satisfaction,Permis de conduire,Session,Adresse IP,Remarques,Date de décès,"
    "A quitté,Code postal",
    "es": "Número de empleado,Nombre completo,Número del jefe,Fecha de contratación,Empresa,"
    "Salario bruto,Tramo salarial,Móvil,Coordenadas,Nacionalidad,Religión,Partido político,Altura,"
    "Peso,Tamaño del hogar,Satisfacción,Carné de conducir,Sesión,Dirección IP,Comentarios,"
    "Fecha de defunción,Abandono,Código postal",
    "it": "Matricola dipendente,Nome e cognome,Matricola responsabile,Data di assunzione,"
    "Datore di lavoro,Retribuzione lorda,Fascia di reddito,Cellulare,Coordinate,Nazionalità,"
    "Religione,Partito,Altezza,Peso,Numero componenti famiglia,Soddisfazione,Patente,Sessione,"
    "Indirizzo IP,Note,Data di decesso,Dimesso,CAP",
    "pt": "Número de funcionário,Nome completo,Número do chefe,Data de contratação,Empregador,"
    "Salário bruto,Escalão de rendimento,Telemóvel,Coordenadas,Nacionalidade,Religião,Partido,"
    "Altura,Peso,Dimensão do agregado,Satisfação,Carta de condução,Sessão,Endereço IP,Observações,"
    "Data de óbito,Saiu,Código postal",
    "nl": "Personeelsnummer,Volledige naam,Personeelsnummer leidinggevende,Datum indiensttreding,"
    "Werkgever,Brutosalaris,Salarisschaal,Mobiel nummer,Coördinaten,Nationaliteit,Godsdienst,"
    "Politieke partij,Lengte,Gewicht,Huishoudgrootte,Tevredenheid,Rijbewijsnummer,Sessie,IP-adres,"
    "Opmerking,Overlijdensdatum,Vertrokken,Postcode",
    "pl": "Numer pracownika,Imię i nazwisko,Numer przełożonego,Data zatrudnienia,Pracodawca,"
    "Wynagrodzenie brutto,Przedział dochodu,Telefon komórkowy,Współrzędne,Obywatelstwo,Wyznanie,"
    "Partia,Wzrost,Waga,Wielkość gospodarstwa,Zadowolenie,Prawo jazdy,Sesja,Adres IP,Uwagi,"
    "Data zgonu,Odszedł,Kod pocztowy",
}
MONTHS = {
    "en": "January,March,May,August,October,December",
    "de": "Januar,März,Mai,August,Oktober,Dezember",
    "fr": "janvier,mars,mai,août,octobre,décembre",
    "es": "enero,marzo,mayo,agosto,octubre,diciembre",
    "it": "gennaio,marzo,maggio,agosto,ottobre,dicembre",
    "pt": "janeiro,março,maio,agosto,outubro,dezembro",
    "nl": "januari,maart,mei,augustus,oktober,december",
    "pl": "stycznia,marca,maja,sierpnia,października,grudnia",
}
OFTEN = {
    "en": "never,rarely,sometimes,often,always",
    "de": "nie,selten,manchmal,oft,immer",
    "fr": "jamais,rarement,parfois,souvent,toujours",
    "es": "nunca,raramente,a veces,a menudo,siempre",
    "it": "mai,raramente,a volte,spesso,sempre",
    "pt": "nunca,raramente,às vezes,frequentemente,sempre",
    "nl": "nooit,zelden,soms,vaak,altijd",
    "pl": "nigdy,rzadko,czasami,często,zawsze",
}


def _employee(code: str, rng: random.Random, number: int, numbers: list[int]) -> dict[str, str]:
    """One record, by concept."""
    words = LANGUAGES[code]
    first, last = (rng.choice(text.split(",")) for text in (words.first, words.last))
    note = rng.choice(words.notes.split("|"))
    low = rng.randrange(10, 60, 10)
    day, year = rng.randrange(1, 29), rng.randrange(1985, 2024)
    kin = rng.choice(KIN[code].split(","))
    return {
        "number": str(number),
        "name": f"{last}, {first}" if code in ("en", "de") else f"{first} {last}",
        "manager": str(rng.choice(numbers)),
        "hired": f"{day} {rng.choice(MONTHS[code].split(','))} {year}",
        "employer": f"{rng.choice(words.last.split(','))} {rng.choice(('AG', 'Ltd', 'SA', 'BV'))}",
        "salary": f"{rng.randrange(1500, 9000)} €",
        "band": f"{low}-{low + 9}",
        "phone": f"+{rng.randrange(30, 50)} {rng.randrange(100, 999)} {rng.randrange(10**6)}",
        "home": f"{int(abs(words.north))}°{rng.randrange(60)}'{rng.randrange(60)}\"N "
        f"{int(abs(words.east))}°{rng.randrange(60)}'{rng.randrange(60)}\"E",
        "nationality": rng.choice(("DE", "FR", "PL", "IT", "ES", "NL")),
        "religion": rng.choice(("1", "2", "3", "4")),
        "party": rng.choice(("A", "B", "C", "D")),
        "height": str(round(rng.gauss(171, 9))),
        "body": f"{rng.gauss(74, 12):.0f}",
        "size": str(rng.randrange(1, 7)),
        "content": rng.choice(OFTEN[code].split(",")),
        "licence": f"{rng.choice('ABCDE')}{rng.randrange(10**7, 10**8)}",
        "session": f"{rng.getrandbits(128):032x}",
        "address": ".".join(str(rng.randrange(1, 255)) for _ in range(4)),
        "remarks": note.format(k=kin, f=first, l=last, y=year) if rng.random() < 0.15 else "",
        "died": f"{year}-0{rng.randrange(1, 10)}-{day:02d}" if rng.random() < 0.1 else "",
        "left": rng.choice("01"),
        "postal": str(rng.randrange(10, 90) * 1000 + rng.randrange(30)),
    }


def office(code: str, seed: int) -> PeopleFile:
    """A personnel file in a language."""
    rng = random.Random(f"{code}/office/{seed}")
    numbers = rng.sample(range(100_000, 999_999), ROWS)
    people = [_employee(code, rng, number, numbers) for number in numbers]
    headers = HEADERS[code].split(",")
    if len(headers) != len(OFFICE):
        raise ValueError(f"{code}: {len(headers)} headers for {len(OFFICE)} columns")
    named = dict(zip(headers, OFFICE, strict=True))
    columns = {header: [one[concept] for one in people] for header, concept in named.items()}
    truth = {header: OFFICE[concept] for header, concept in named.items()}
    return PeopleFile(f"{code}-office", columns, truth)
