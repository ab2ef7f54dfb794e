"""Names of months in many languages, so that a date with one can be read."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

import polars as pl

_ENGLISH = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
# January to December; forms of one month are parted by a stroke. Accents and case do not matter.
_NAMES = """
january february march april may june july august september/sept october november december
januar/janner februar/feber marz/maerz/mrz april mai juni juli august september oktober november
dezember
janvier/janv fevrier/fevr mars avril/avr mai juin juillet/juil aout septembre/sept octobre novembre
decembre
enero/ene febrero marzo abril/abr mayo junio julio agosto/ago septiembre/setiembre octubre noviembre
diciembre/dic
gennaio/gen febbraio marzo aprile maggio/mag giugno/giu luglio/lug agosto settembre/set ottobre/ott
novembre dicembre
janeiro fevereiro/fev marco abril maio junho julho agosto setembro outubro/out novembro
dezembro/dez
januari februari maart/mrt april mei juni juli augustus september oktober/okt november december
stycznia/styczen/sty lutego/luty/lut marca/marzec kwietnia/kwiecien/kwi maja/maj
czerwca/czerwiec/cze lipca/lipiec/lip sierpnia/sierpien/sie wrzesnia/wrzesien/wrz
pazdziernika/pazdziernik/paz listopada/listopad/lis grudnia/grudzien/gru
januari februari mars april maj juni juli augusti september oktober november december
januar februar marts/mars april maj/mai juni juli august september oktober november
desember/des/december
tammikuuta/tammikuu/tammi helmikuuta/helmikuu/helmi maaliskuuta/maaliskuu/maalis
huhtikuuta/huhtikuu/huhti toukokuuta/toukokuu/touko kesakuuta/kesakuu/kesa heinakuuta/heinakuu/heina
elokuuta/elokuu/elo syyskuuta/syyskuu/syys lokakuuta/lokakuu/loka marraskuuta/marraskuu/marras
joulukuuta/joulukuu/joulu
ocak/oca subat/sub mart nisan/nis mayis haziran/haz temmuz/tem agustos eylul/eyl ekim/eki kasim/kas
aralik/ara
ledna/leden unora/unor brezna/brezen dubna/duben kvetna/kveten cervna/cerven cervence/cervenec
srpna/srpen zari rijna/rijen listopadu prosince/prosinec
januar februar marcius aprilis majus junius julius augusztus szeptember oktober november december
ianuarie/ian februarie martie aprilie mai iunie/iun iulie/iul august septembrie octombrie noiembrie
decembrie
января/январь/янв февраля/февраль/фев марта/март/мар апреля/апрель/апр мая/маи июня/июнь/июн
июля/июль/июл августа/август/авг сентября/сентябрь/сен октября/октябрь/окт ноября/ноябрь/ноя
декабря/декабрь/дек
січня/січень лютого/лютии березня/березень квітня/квітень травня/травень червня/червень
липня/липень серпня/серпень вересня/вересень жовтня/жовтень листопада/листопад грудня/грудень
ιανουαριου/ιανουαριος/ιαν φεβρουαριου/φεβρουαριος/φεβ μαρτιου/μαρτιος/μαρ απριλιου/απριλιος/απρ
μαιου/μαιος/μαι ιουνιου/ιουνιος/ιουν ιουλιου/ιουλιος/ιουλ αυγουστου/αυγουστος/αυγ
σεπτεμβριου/σεπτεμβριος/σεπ οκτωβριου/οκτωβριος/οκτ νοεμβριου/νοεμβριος/νοε
δεκεμβριου/δεκεμβριος/δεκ
يناير فبراير مارس ابريل مايو يونيو يوليو اغسطس سبتمبر اكتوبر نوفمبر ديسمبر
januari februari maret april mei juni juli agustus september oktober november desember
"""
_WORD = r"(\p{L}{3,})\.?"
# "3.", "1er" and "19 de" before a month, "de" and a comma before a year.
_DAY = r"^(\d{1,2})(?:\.|er|st|nd|rd|th|[º°ª])?(?:[ -]de|[ -]of)?[ -]?"


def plain(word: str) -> str:
    """A word in lower case and without accents."""
    folded = unicodedata.normalize("NFKD", word.casefold().replace("ı", "i").replace("ł", "l"))
    return "".join(c for c in folded if unicodedata.category(c)[0] != "M")


@lru_cache(maxsize=1)
def known() -> dict[str, str]:
    """Every name and its English beginning.

    >>> known()["marz"], known()[plain("Août")]
    ('mar', 'aug')
    """
    names = _NAMES.split()
    forms = {short: short for short in _ENGLISH}
    for i, month in enumerate(names):
        forms |= {plain(form): _ENGLISH[i % 12] for form in month.split("/")}
    return forms


def has_month(text: str) -> bool:
    """Whether a text holds the name of a month and a digit."""
    if not any(map(str.isdigit, text)):
        return False
    words = "".join(c if c.isalpha() or unicodedata.category(c)[0] == "M" else " " for c in text)
    return any(plain(word) in known() for word in words.split() if len(word) > 2)


def in_english(series: pl.Series) -> pl.Series:
    """Cells such as "3. Mai 2019" and "19 de marzo de 2019" as "3 may 2019".

    >>> in_english(pl.Series(["3. Mai 2019", "1er août 2020", "März 2019"])).to_list()
    ['3 may 2019', '1 aug 2020', 'mar 2019']
    """
    words = series.str.extract(_WORD, 1)
    begun = words.is_in(["de", "of", "der", "the"]).any()
    short = {word: known().get(plain(word)) for word in words.drop_nulls().unique().to_list()}
    if begun or not any(short.values()):
        return series
    head, tail = series.str.extract(rf"^(.*?){_WORD}", 1), series.str.extract(rf"{_WORD}(.*)$", 2)
    month = words.replace_strict(short, default=None, return_dtype=pl.String)
    day = head.str.replace(rf"{_DAY}$", "${1} ")
    year = tail.str.replace(r"^,?[ -]?(?:de[l]? )?", " ").str.replace(r" ?(?:г\.?|года)$", "")
    made = day + month + year
    return pl.select(pl.coalesce(made, series)).to_series().alias(series.name)
