"""Encodings are told apart by the letters of the languages that are written in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from sfumato.data.io import read_with_notes
from sfumato.data.io.text.encodings import guess_encodings
from sfumato.release.plan.draft import draft_plan

WRITTEN = {
    "příjmení;město;Šimůnek;Třebíč;Růžičková;zaměstnaný": ("cp1250", "iso-8859-2"),
    "nazwisko;płeć;Wiśniewska;Łódź;mężczyzna;średnie": ("cp1250", "iso-8859-2"),
    "név;születési idő;Szűcs;Győr;nős;középfokú": ("cp1250", "iso-8859-2"),
    "Straße;Größe;Müller;Köln;Jäger;männlich": ("cp1252", "iso-8859-15"),
    "prénom;âge;Françoise;Béziers;élève;infirmière": ("cp1252", "iso-8859-15"),
    "año;Muñoz;Peña;José;Málaga;población": ("cp1252", "iso-8859-15"),
    "kön;ålder;Växjö;Sjöberg;Håkansson;sjuksköterska": ("cp1252", "iso-8859-15"),
    "soyadı;yaş;İstanbul;Şahin;Çelik;doğum tarihi": ("cp1254", "iso-8859-9"),
    "фамилия;возраст;Петрова;Екатеринбург;мужской": ("cp1251", "koi8-r", "cp866"),
    "ФАМИЛИЯ;ПЕТРОВА;МОСКВА;МУЖСКОЙ": ("cp1251", "koi8-r"),
    "επώνυμο;ηλικία;Αθήνα;Παπαδόπουλος;γυναίκα": ("cp1253", "iso-8859-7"),
    "pavardė;amžius;Šiauliai;Žemaitis;Kęstutis": ("cp1257", "iso-8859-13"),
    "氏名;年齢;東京都;サトウ;会社員;ひらがな": ("shift_jis", "euc_jp"),
    "姓名;年龄;王伟;北京;医生;未婚": ("gbk",),
    "姓名;年齡;王偉;台北;醫生;未婚": ("big5",),
    "이름;나이;서울;김철수;회사원": ("euc_kr",),
}
PAIRS = [(words, name) for words, names in WRITTEN.items() for name in names]


@pytest.mark.parametrize(("words", "name"), PAIRS)
def test_a_few_words_tell_the_encoding(words: str, name: str) -> None:
    raw = ("id;" + words + "\n").encode(name)
    assert raw.decode(next(guess_encodings(raw)).name) == raw.decode(name)


def test_what_no_encoding_allows_is_read_byte_by_byte(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b\n\x81\x8d\x8f\x90\x9d\xff,1\n")
    assert read_with_notes(path)[0].height == 1


def test_a_draft_asks_first_whether_the_encoding_is_right(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = "".join(f"{i};Růžička;{20 + i % 50}\n" for i in range(60))
    path.write_bytes(("id;příjmení;věk\n" + rows).encode("cp1250"))
    text = draft_plan(path, path=path.name)
    first = text.split("Please check first:")[1].splitlines()[1]
    assert "encoding: cp1250" in first
    assert "příjmení" in first
    assert 'encoding = "cp1250"' in text
    assert "příjmení = {" in text or '"příjmení" = {' in text
