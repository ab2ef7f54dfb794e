"""Numbers that belong to one person or thing: national, health and account numbers, devices.

Where a number has check digits, they decide: python-stdnum knows how they are made.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module

from .view import ENOUGH, View

_NATIONAL = (
    "de.idnr at.vnr ch.ssn fr.nir fr.nif es.dni es.nie it.codicefiscale pt.nif pt.cc nl.bsn be.nn "
    "pl.pesel pl.nip gb.utr ie.pps dk.cpr se.personnummer no.fodselsnummer fi.hetu ee.ik lt.asmens "
    "lv.pvn cz.rc ro.cnp bg.egn hr.oib si.emso gr.amka tr.tckimlik il.idnr in_.aadhaar in_.pan "
    "cn.ric kr.rrn th.pin za.idnr br.cpf mx.curp mx.rfc cl.rut co.nit ec.ci ca.sin au.tfn nz.ird "
    "is_.kennitala"
)
_CHECKED: tuple[tuple[str, str], ...] = (
    *(("national-number", module) for module in _NATIONAL.split()),
    ("health-number", "gb.nhs"),
    ("account", "iban"),
    ("account", "no.kontonr"),
)
_SHAPES: tuple[tuple[str, str, str], ...] = (
    ("national-number", "us.ssn", r"\d{3}-\d{2}-\d{4}"),
    ("device", "imei", r"(?:01|35|86|9[89])-?\d{6}-?\d{6}-?\d"),
    ("account", "luhn", r"[3-6]\d{3}[ -]?\d{4}[ -]?\d{4}[ -]?\d{1,7}"),
)
_PLATES = (
    r"[A-ZÄÖÜ]{1,3}[- ][A-Z]{1,2}[- ]?\d{1,4}[EH]?",
    r"[A-Z]{2}-?\d{3}-?[A-Z]{2}",
    r"\d{4}[ -]?[B-DF-HJ-NP-TV-Z]{3}",
    r"[A-Z]{2}\d{2} ?[A-Z]{3}",
    r"[A-Z]{1,3}-\d{1,3}-[A-Z]{1,3}|\d{1,3}-[A-Z]{1,3}-\d{1,3}",
    r"[A-Z]{2}-[A-Z]{2}-\d{2}|\d{2}-\d{2}-[A-Z]{2}",
    r"[A-Z]{2,3} \d{2,5}[A-Z]{0,2}",
)
_VIN = r"[A-HJ-NPR-Z0-9]{9}[A-HJ-NPR-Z0-9]{2}[A-HJ-NPR-Z0-9]{2}\d{4}"
_DIGITS = r"[A-Z0-9][A-Z0-9 ./+-]{6,33}"
_TRIED = 150
_MOST = 0.9


@cache
def _validator(module: str) -> Callable[[str], bool]:
    loaded = import_module(f"stdnum.{module}")
    return loaded.is_valid  # type: ignore[no-any-return]


def _valid(module: str, tried: list[str]) -> float:
    """The share of values whose check digits are right; a first few that fail end the trial."""
    check = _validator(module)
    first = tried[:10]
    if sum(map(check, first)) < 0.7 * len(first):
        return 0.0
    return sum(map(check, tried)) / len(tried)


def checked(view: View) -> tuple[str, str] | None:
    """What the check digits of a column prove, and whose number it is; None where nothing."""
    texts = view.listed
    if len(texts) < ENOUGH or view.spread < 0.2 or view.share(_DIGITS) < _MOST:
        return None
    tried = texts[:: max(1, len(texts) // _TRIED)][:_TRIED]
    if sum(any(c.isdigit() for c in text) for text in tried) < _MOST * len(tried):
        return None
    for what, module, shape in _SHAPES:
        if view.share(shape) >= _MOST and _valid(module, tried) >= _MOST:
            return what, module
    lengths = {len(text) for text in tried}
    if max(lengths) - min(lengths) > 6:
        return None
    for what, module in _CHECKED:
        if _valid(module, tried) >= _MOST:
            return what, module
    return None


def plated(view: View) -> bool:
    """Whether values have the form of a plate or of a vehicle's number, and hardly come back."""
    if view.distinct < ENOUGH or view.spread < 0.5:
        return False
    return view.share(_VIN) >= _MOST or any(view.share(plate) >= _MOST for plate in _PLATES)
