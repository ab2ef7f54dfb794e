"""Other languages and scripts, families, numbers of others, dates, weights and labels."""

from __future__ import annotations

import random
from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from sfumato.data.recognize import recognize
from sfumato.data.schema import Role
from sfumato.data.table import Table
from sfumato.release.plan.guess import guess
from tests.data.recognize.far_files import FAR, far_file
from tests.data.recognize.scoring import own, total

N = 200


def what(content: dict[str, list[object]], name: str) -> str:
    found = recognize(sf.table(content)).get(name)
    return found.what if found else ""


def drawn(values: list[str], seed: int = 3) -> list[object]:
    rng = random.Random(seed)
    return [rng.choice(values) for _ in range(N)]


@pytest.mark.parametrize("code", FAR)
def test_files_in_further_languages(code: str) -> None:
    found = total(code, own([far_file(code), far_file(code, "silent")]))
    assert found.grave == 0, found.wrong
    assert found.kinds == found.columns, found.wrong
    named = own([far_file(code)])[0]
    assert named.roles == named.columns, named.wrong
    assert found.share("roles") >= 0.9, found.wrong


REMARKS = {
    "備考": [
        "夜間の連絡は長女の携帯へお願いします",
        "転倒歴があり歩行器を使用している",
        "特になし",
    ],
    "备注": ["患者的妻子每天下午来医院探望", "出院后搬到儿子家里居住", "无"],
    "메모": ["딸이 매일 저녁 병원에 온다", "이사 후 아들 집에서 지낸다", "없음"],
    "ملاحظات": ["يسكن مع عمه منذ الخريف", "ابنته تعمل في المستشفى نفسه", "لا"],
    "примечание": ["сестра просит звонить вечером", "переехал к дочери", "нет"],
    "σχόλια": ["μένει με την κόρη της", "να μην ενημερωθεί ο γιος", "τίποτα"],
}


@pytest.mark.parametrize("header", REMARKS)
def test_remarks_that_come_back_are_found_by_headers_in_other_scripts(header: str) -> None:
    assert what({header: drawn(REMARKS[header])}, header) == "free-text"
    assert what({header: drawn(REMARKS[header][:2])}, header) == "free-text"


def test_sentences_without_blanks_need_no_header() -> None:
    about, where = (
        ("長男", "近所の方", "主治医", "訪問看護師"),
        ("駅前", "港の近く", "山あい", "川沿い"),
    )
    texts = [
        f"{a}の話では{b}の家に{i}年ほど住んでいるそうです"
        for i in range(12)
        for a in about
        for b in where
    ]
    assert what({"v1": list(texts)}, "v1") == "free-text"
    assert what({"v1": drawn(["高血圧症", "糖尿病", "喘息", "健康"])}, "v1") != "free-text"
    blanks = ["Labour market policy", "Health and social care", "Local public transport"]
    assert what({"v1": drawn(blanks)}, "v1") != "free-text"


HEADERS = (
    "efternamn förnamn navn sukunimi isim soyadı imię nazwisko фамилия имя 姓 名 氏名 الاسم όνομα "
    "họ_tên שם नाम 성명 prezime příjmení vezetéknév"
)


@pytest.mark.parametrize("header", HEADERS.split())
def test_a_header_for_names_is_believed_in_any_language(header: str) -> None:
    assert what({header: drawn(["Qaxor", "Zirmel", "Udvoth", "Plonka", "Wexi"])}, header) == "name"


def words(size: int) -> list[str]:
    """Pronounceable words of no language."""
    rng = random.Random(8)
    made = {
        "".join(rng.choice("bdfgklmnprstvz") + rng.choice("aeiou") for _ in range(3)).capitalize()
        for _ in range(3 * size)
    }
    return sorted(made)[:size]


def test_words_beside_first_names_are_names() -> None:
    first = drawn(["Anna", "Peter", "Maria", "Lukas", "Julia", "Paul", "Eva", "Jan", "Ida", "Max",
                   "Nora", "Emil", "Lena", "Otto", "Clara"])  # fmt: skip
    odd = drawn([f"{word}x" for word in words(25)])
    assert what({"v1": first, "v2": odd}, "v2") == "name"
    assert what({"v1": drawn(["a", "b"]), "v2": odd}, "v2") == ""


def test_many_different_words_may_be_family_names() -> None:
    many = [f"{word}x" for word in words(80)]
    found = recognize(sf.table({"v1": drawn(many)}))["v1"]
    assert found.what == "name"
    assert found.confidence <= 0.5
    assert "v1" not in recognize(sf.table({"v1": drawn(many[:25])}))


@pytest.mark.parametrize("nobody", ["0", "-1", "999", "none", "", "нет"])
@pytest.mark.parametrize("key", ["numbers", "texts"])
def test_numbers_of_others_among_stand_ins(tmp_path: Path, nobody: str, key: str) -> None:
    rng = random.Random(4)
    ids = [str(i) if key == "numbers" else f"K{i:03d}" for i in range(1001, 1001 + N)]
    lines = ["case_no,v2,n"]
    for i, one in enumerate(ids):
        lines.append(f"{one},{rng.choice(ids) if i % 2 else nobody},{rng.randrange(4)}")
    path = tmp_path / "x.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = recognize(sf.read(path))
    assert found["v2"].what == "other-person"
    assert "n" not in found


def test_an_age_among_running_numbers_is_no_number_of_another() -> None:
    content: dict[str, list[object]] = {
        "id": list(range(1, 101)),
        "age": [18 + i % 73 for i in range(100)],
    }
    assert what(content, "age") == "age"


FAMILIES = "haushalt ménage hogar famiglia gezin rodzina familj hushåll семья 世帯 عائلة v9"


@pytest.mark.parametrize("header", FAMILIES.split())
def test_codes_of_families(header: str) -> None:
    rng = random.Random(6)
    codes: list[object] = [f"F{i // 3:03d}" for i in range(N)]
    born: list[object] = [1940 + rng.randrange(60) for _ in codes]
    assert what({header: codes, "birth_year": born}, header) == "household"


def test_codes_that_come_back_with_one_birthday_are_a_persons() -> None:
    codes: list[object] = [f"P{i // 3:03d}" for i in range(N)]
    born: list[object] = [f"19{40 + i // 3 % 60}-03-{i // 3 % 28 + 1:02d}" for i in range(N)]
    assert what({"v1": codes, "v2": born}, "v1") == "record-number"


FORMS = {
    "%m/%d/%Y %H:%M": "{m:02}/{d:02}/{y} {h:02}:41",
    "%d.%m.%Y %H:%M:%S": "{d:02}.{m:02}.{y} {h:02}:41:07",
    "ISO, zoned": "{y}-{m:02}-{d:02}T{h:02}:41+02:00",
    "French": "{d} {fr} {y}",
    "German": "{d}. {de} {y}",
    "month": "{m}/{y}",
    "month, named": "{de} {y}",
    "month, ISO": "{y}-{m:02}",
    "compact": "{y}{m:02}{d:02}",
}
FRENCH = "janvier février mars avril mai juin juillet août septembre octobre novembre décembre"
GERMAN = "Januar Februar März April Mai Juni Juli August September Oktober November Dezember"


def moments(form: str) -> list[str]:
    rng = random.Random(9)
    made = []
    for _ in range(60):
        m = rng.randrange(12)
        told = {"d": rng.randrange(1, 29), "m": m + 1, "y": rng.randrange(1950, 2020)}
        both = {"fr": FRENCH.split()[m], "de": GERMAN.split()[m]}
        made.append(form.format(**told, **both, h=rng.randrange(24)))
    return made


@pytest.mark.parametrize("form", FORMS)
def test_dates_are_drafted_and_read_as_dates(tmp_path: Path, form: str) -> None:
    path = tmp_path / "x.csv"
    path.write_text(
        "v1,n\n" + "".join(f"{t},{i % 7}\n" for i, t in enumerate(moments(FORMS[form])))
    )
    plan = sf.Plan.parse(sf.draft_plan(path))
    assert (plan.columns["v1"].kind, plan.columns["v1"].role) == ("date", "quasi")
    read = sf.read(path, kinds={"v1": "date"}, dates=plan.input.dates)
    assert read["v1"].dtype in (pl.Date, pl.Datetime("us"), pl.Datetime("us", "UTC"))
    assert read["v1"].null_count() == 0


def test_words_for_nobody_among_dates_are_missing(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    cells = moments("{d:02}.{m:02}.{y}")
    cells[7] = cells[30] = "unbekannt"
    path.write_text("gestorben,n\n" + "".join(f"{t},{i % 7}\n" for i, t in enumerate(cells)))
    plan = sf.Plan.parse(sf.draft_plan(path))
    assert plan.columns["gestorben"].kind == "date"
    assert plan.input.sentinels == {"gestorben": ("unbekannt",)}
    read = sf.read(path, kinds={"gestorben": "date"}, sentinels=plan.input.sentinels)
    assert read["gestorben"].null_count() == 2


def test_seconds_with_a_telling_name_are_dates(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    rows = "".join(f"{1_500_000_000 + 86_500 * i},{i % 5}\n" for i in range(60))
    path.write_text("created_at,n\n" + rows)
    plan = sf.Plan.parse(sf.draft_plan(path))
    assert plan.columns["created_at"].kind == "date"
    assert plan.input.dates == {"created_at": "%s"}
    assert sf.read(path, dates=plan.input.dates)["created_at"].dt.year().min() == 2017


@pytest.mark.parametrize(
    "form",
    [
        "昭和{e}年{m}月{d}日",
        "S{e}.{m}.{d}",
        "{d:02}.{m:02}.{s:02}",
        "{m}月{d}日{y}年",
        "{d}/{m}/25{s:02}",
    ],
)
def test_dates_that_nobody_can_read_are_not_published(tmp_path: Path, form: str) -> None:
    rng = random.Random(2)
    path = tmp_path / "x.csv"
    lines = ["birth date,n"]
    for i in range(80):
        y = rng.randrange(1940, 1988)
        d, m = rng.randrange(1, 29), rng.randrange(1, 13)
        lines.append(f"{form.format(d=d, m=m, y=y, e=y - 1925, s=y % 100)},{i % 5}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    table = sf.read(path)
    made = {one.name: one for one in guess(table, from_file=True)}["birth date"]
    assert made.kind == "date" or made.role == Role.IDENTIFIER


WEIGHTS = (
    "gew gewicht_trans vikt vægt waga_koncowa pond poids_final wt wgt_a w_design hh_wt "
    "expansion_factor"
)


@pytest.mark.parametrize("header", [*WEIGHTS.split(), "Hochrechnungsfaktor"])
def test_words_for_weights(header: str) -> None:
    rng = random.Random(1)
    assert (
        what({header: [round(rng.lognormvariate(0, 0.3), 4) for _ in range(N)]}, header) == "weight"
    )


def test_the_draft_names_every_weight_and_says_that_distinct_ones_are_keys() -> None:
    rng = random.Random(1)
    content = {
        name: [rng.lognormvariate(0, 0.3) for _ in range(N)] for name in ("wt_a", "wt_b", "wt_c")
    }
    text = sf.draft_plan(sf.table(content))
    assert "others are wt_b, wt_c" in text
    assert text.count("another weight beside wt_a") == 4
    assert "whoever knows it finds the person" in text


def test_a_mean_of_one_suggests_a_weight() -> None:
    rng = random.Random(1)
    raw = [rng.lognormvariate(0, 0.5) for _ in range(N)]
    normed: list[object] = [v * N / sum(raw) for v in raw]
    assert what({"v1": normed}, "v1") == "weight"
    assert what({"v1": [v + 0.3 for v in raw]}, "v1") == "measurement"
    assert what({"w1_income": [v * 1000 for v in raw]}, "w1_income") != "weight"


def test_short_names_of_coordinates_need_degrees_and_no_accent() -> None:
    rng = random.Random(1)
    degrees: list[object] = [rng.uniform(1, 60) for _ in range(N)]
    assert what({"lon": degrees}, "lon") == "coordinate"
    assert what({"lön": degrees}, "lön") != "coordinate"
    assert what({"lat": [v * 9 for v in degrees]}, "lat") != "coordinate"
    assert what({"how_long": [rng.randrange(1, 60) for _ in range(N)]}, "how_long") != "coordinate"


def test_labels_are_understood_like_names() -> None:
    content: dict[str, list[object]] = {
        "v1": drawn(["1", "2"]),
        "v2": [20 + i % 60 for i in range(N)],
        "v3": drawn(["Qaxor", "Zirmel", "Udvoth", "Plonka"]),
        "v4": [1000 + i * 7 % 3000 for i in range(N)],
    }
    labels = {"v1": "Sex of respondent", "v2": "Age of respondent", "v3": "Last name",
              "v4": "Net monthly income"}  # fmt: skip
    table = sf.table(content)
    schema = table.schema
    for name, label in labels.items():
        schema = schema.with_column(schema[name].with_(label=label))
    labelled: Table = table.with_schema(schema)
    found = {name: one.what for name, one in recognize(labelled).items()}
    assert found == {"v1": "trait", "v2": "age", "v3": "name", "v4": "private"}
    assert "name" not in {one.what for one in recognize(table).values()}
