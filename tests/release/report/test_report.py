"""The report: complete and well-formed, the same bytes each time, and silent where it must be."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest

from sfumato.data.pair import Pair
from sfumato.data.table import Table, table
from sfumato.measurement import Rounding
from sfumato.protocols import Finding, Measurement
from sfumato.release.plan.plan import Input, Plan
from sfumato.release.records.evidence import Evidence
from sfumato.release.records.release import Private, Release
from sfumato.release.report import figures, sections
from sfumato.release.report.columns import FEWEST, Picture, gaps, pictures, shown
from sfumato.release.report.correlations import correlations
from sfumato.release.report.parts import number, percent, plain, printable
from sfumato.release.report.report import correlation_changes, render
from sfumato.release.report.risk import Sizes, riskiest, size_bins, sizes
from sfumato.release.report.spread import bars, intervals

SEED = 294_871_650_302_918_476_550
KEY = "k3y-of-the-keyed-hash"
PATH = "register-of-patients.csv"
PUBLIC = Rounding(400, SEED)
VOID = {"meta", "br", "img", "hr", "link", "input"}


class Page(HTMLParser):
    """Collects what a browser would see, and fails on tags that do not match."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] != "style":
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


def release_of(
    original: Table,
    masked: Table,
    *,
    rows: np.ndarray | None = None,
    measurements: Mapping[str, Measurement] | None = None,
    findings: Sequence[Finding] = (),
    **more: Any,
) -> Release:
    plan = Plan(input=Input(path=PATH))
    pair = Pair(original, masked, np.arange(masked.height) if rows is None else rows)
    records = {"original": original.height, "published": masked.height}
    evidence = Evidence(
        measurements=measurements or {}, findings=tuple(findings), records=records, **more
    )
    lineage = {"1-mdav": np.zeros(original.height, dtype=np.int64)}
    private = Private(SEED, {"1-hash": {"key": KEY}}, lineage, plan)
    return Release(pair, evidence, private, plan)


def people(n: int = 400) -> pl.DataFrame:
    rng = np.random.default_rng(3)
    age = rng.integers(20, 80, n)
    return pl.DataFrame(
        {
            "age": age,
            "town": rng.choice(["Arles", "Bonn", "Como"], n, p=[0.5, 0.3, 0.2]),
            "born": [dt.date(2020, 1, 1) - dt.timedelta(days=365 * int(a)) for a in age],
            "pay": rng.lognormal(7, 0.4, n),
            "cost": rng.normal(100, 20, n) + age,
            "ill": rng.choice(["flu", "cold"], n),
        }
    )


ROLES: dict[str, Any] = {"quasi": ["age", "town", "born"], "confidential": ["pay", "cost", "ill"]}


def usual(n: int = 400) -> Release:
    """A release with something in every section."""
    original = table(people(n), **ROLES)
    frame = original.frame.with_columns(
        age=pl.format("[{}, {}]", pl.col("age") // 20 * 20, pl.col("age") // 20 * 20 + 19),
        pay=(pl.col("pay") / 100).round(0) * 100,
        town=pl.when(pl.col("town") == "Como").then(None).otherwise(pl.col("town")),
    )
    columns = [c.with_(generalized=c.name == "age") for c in original.schema]
    hidden = {"town": (original["town"] == "Como").to_numpy()}
    masked = original.with_columns(frame, columns, hidden)
    before = "the same figure before masking"
    measured = {
        "uniques": Measurement("uniques", 0.0, baseline=0.97, detail={"baseline": before}),
        "prosecutor-risk": Measurement(
            "prosecutor-risk", 0.2, baseline=1.0, detail={"baseline": before}
        ),
        "record-linkage": Measurement(
            "record-linkage",
            0.008,
            baseline=0.0025,
            interval=(0.0, 0.02),
            detail={"baseline": "a masked record guessed at random", "interval": "bounds by ties"},
        ),
        "ncp": Measurement("ncp", 0.0612),
    }
    steps = (
        {
            "use": "mondrian",
            "paper": "LeFevre 2006",
            "parameters": {"k": 5, "columns": []},
            "then": {"use": "generalize", "parameters": {}},
            "did": {"groups": 31, "suppressed cells": {"town": 12}},
        },
    )
    k = Finding(
        "k-anonymity", "k-anonymity", 5, 5, True, True, detail={"k_category": 5, "k_wildcard": 7}
    )
    linkage = Finding("record-linkage", "record-linkage", 0.008, 0.02, True, False)
    made = release_of(
        original,
        masked,
        measurements=measured,
        findings=(k, linkage),
        steps=steps,
        not_taken={"sse": "no column with numbers"},
        notes=("step 1 (mondrian): ill was left alone",),
    )
    return replace(made, rounding=PUBLIC)  # its figures are such as may be published


@pytest.fixture(scope="module")
def release() -> Release:
    return usual()


@pytest.fixture(scope="module")
def public(release: Release) -> str:
    return render(release, owner=False)


@pytest.fixture(scope="module")
def private(release: Release) -> str:
    return render(release, owner=True)


@pytest.mark.parametrize("owner", [False, True])
def test_page_stands_alone(owner: bool, public: str, private: str) -> None:
    text = private if owner else public
    page = Page(text)
    assert page.named("html") == [{"lang": "en"}]
    assert "http" not in text
    assert "@import" not in text
    assert not re.search(r"url\((?!#)", text)
    for tag in ("script", "link", "img", "iframe", "object", "image", "use"):
        assert page.named(tag) == []
    for _, attributes in page.tags:
        assert not any(key.startswith("on") or key == "src" for key in attributes)
    ids = [a["id"] for _, a in page.tags if "id" in a]
    assert len(ids) == len(set(ids))
    assert {a["href"][1:] for a in page.named("a") if a["href"]} <= set(ids)
    used = set(re.findall(r"url\(#([^)]+)\)", text))
    assert used <= set(ids)
    assert "@page" in text


def test_page_can_be_read_without_eyes(public: str) -> None:
    page = Page(public)
    drawn = page.named("svg")
    assert len(drawn) >= 8
    ids = {a["id"] for _, a in page.tags if "id" in a}
    for svg in drawn:
        assert svg["role"] == "img"
        assert set((svg["aria-labelledby"] or "").split()) <= ids
    tags = [tag for tag, _ in page.tags]
    assert tags.count("table") == tags.count("caption")
    assert tags.count("title") == len(drawn) + 1
    assert tags.count("h1") == 1
    assert all(head["scope"] in ("col", "row") for head in page.named("th"))


def test_same_release_same_bytes(public: str, private: str) -> None:
    assert render(usual(), owner=False) == public
    assert render(usual(), owner=True) == private


def test_verdict_speaks_first(public: str) -> None:
    text = Page(public).text
    assert "400 records published; every requirement was met." in text
    assert "20\u00a0% (1 in 5)" in text or "20 % (1 in 5)" in text
    said = [
        text.index(words) for words in ("every requirement was met", "What was required", "Terms")
    ]
    assert said == sorted(said)
    assert "at most 2 %" in text
    assert "read as a wildcard that may be any value, k is 7" in text
    assert "guessing finds" in text
    assert "LeFevre 2006" in text
    assert "no column with numbers" in text
    assert "ill was left alone" in text


def test_verdict_without_and_against_requirements() -> None:
    t = table(people(30), **ROLES)
    assert (
        "30 records published; nothing was required."
        in Page(render(release_of(t, t), owner=False)).text
    )
    broken = Finding("k-anonymity", "k-anonymity", 1, 5, False, True, broken=3, of=9)
    text = Page(render(release_of(t, t, findings=[broken]), owner=False)).text
    assert "1 of 1 requirement is not met." in text
    assert "✗ not met in 3 of 9 classes" in text
    assert "every requirement was met" not in text


def test_the_report_says_whether_findings_were_counted_on_the_file(release: Release) -> None:
    written = replace(release, evidence=replace(release.evidence, recounted=True))
    assert "Counted on the published file" in Page(render(written, owner=False)).text
    assert "Counted on the published file" not in Page(render(release, owner=False)).text


@pytest.mark.parametrize("owner", [False, True])
def test_no_secret_on_either_face(owner: bool, public: str, private: str) -> None:
    text = private if owner else public
    for secret in (str(SEED), f"{SEED:,}", hex(SEED)[2:], KEY, PATH):
        assert secret not in text
    assert str(dt.date.today().year) + "-" not in Page(text).text


def test_public_face_hides_what_the_owner_sees(public: str, private: str) -> None:
    for words in (
        "easiest to find",
        "Original row",
        "Keep private",
        "Missing in the original",
        "lineage",
    ):
        assert words in Page(private).text
        assert words not in Page(public).text


def with_outlier() -> tuple[Table, Table]:
    frame = people().with_columns(
        pay=pl.when(pl.int_range(pl.len()) == 17).then(987_654.0).otherwise("pay"),
        ill=pl.when(pl.int_range(pl.len()) < 4).then(pl.lit("kuru")).otherwise("ill"),
        born=pl.when(pl.int_range(pl.len()) == 9).then(dt.date(1893, 5, 6)).otherwise("born"),
    )
    original = table(frame, **ROLES)
    masked = original.with_columns(
        frame.with_columns(
            pay=pl.col("pay").clip(None, 3000),
            ill=pl.when(pl.col("ill") == "kuru").then(pl.lit("flu")).otherwise("ill"),
            born=pl.when(pl.col("born").dt.year() < 1930)
            .then(dt.date(1950, 1, 1))
            .otherwise("born"),
        ).select("pay", "ill", "born")
    )
    return original, masked


def test_public_face_draws_no_outlier_and_names_no_rare_value() -> None:
    original, masked = with_outlier()
    text = Page(render(release_of(original, masked), owner=False)).text
    full = Page(render(release_of(original, masked), owner=True)).text
    assert "kuru" in full
    assert "kuru" not in text
    found = {
        p.column.name: p for p in pictures(Pair.of(original, masked), gaps(masked), PUBLIC).drawn
    }
    full_found = pictures(Pair.of(original, masked), gaps(masked), None).drawn
    assert found["pay"].edges[-1] < 4000
    assert max(p.edges[-1] for p in full_found if p.column.name == "pay") > 987_654
    assert found["born"].edges[0] > (dt.date(1930, 1, 1) - dt.date(1970, 1, 1)).days
    ticks = [float(n.replace(",", "")) for n in re.findall(r"(?<![\d.])\d[\d,]*(?![\d.%])", text)]
    assert len(ticks) > 20
    assert max(ticks) < 10_000
    assert "1900" not in text


def test_public_bins_have_ten_originals_each() -> None:
    original, masked = with_outlier()
    n = original.height
    for picture in pictures(Pair.of(original, masked), gaps(masked), PUBLIC).drawn:
        counts = picture.original * n
        drawn = counts[~np.isnan(counts)]
        assert drawn.size
        assert (drawn >= FEWEST).all()
        np.testing.assert_allclose(drawn / 10, np.round(drawn / 10), atol=1e-9)
        if picture.form == "histogram":
            x = original[picture.column.name].to_numpy()
            true, _ = np.histogram(x, bins=picture.edges)
            assert (np.isnan(counts) | (true >= FEWEST)).all()
            assert (np.abs(counts - true)[~np.isnan(counts)] < 10).all()
            # Bins begin and end where the release does, whatever the original holds.
            shown_here = masked[picture.column.name].to_numpy()
            assert picture.edges[-2] <= np.percentile(shown_here, 99)


def test_a_rare_value_that_is_published_may_be_named() -> None:
    frame = pl.DataFrame({"q": ["common"] * 95 + ["rare"] * 5})
    t = table(frame, quasi=["q"])
    (picture,) = pictures(Pair.of(t, t), gaps(t), PUBLIC).drawn
    assert picture.names == ["common", "rare"]
    assert np.isnan(picture.original[1])
    assert picture.masked[1] == 0.05


def test_rounding_hides_the_rest() -> None:
    counts = np.array([9.0, 10.0, 14.0, 20.0, 996.0])
    drawn = np.array([shown(counts, Rounding(400, seed), "age") for seed in range(200)])
    assert np.isnan(drawn[:, :2]).all()
    assert (drawn[:, 3] == 20).all()
    # Fourteen are drawn as twenty in four of ten cases, 996 as 1,000 in six.
    assert 0.3 < (drawn[:, 2] == 20).mean() < 0.5
    assert 0.5 < (drawn[:, 4] == 1000).mean() < 0.7
    assert set(drawn[:, 4]) == {990.0, 1000.0}
    np.testing.assert_array_equal(shown(counts, None, "age"), counts)


NASTY = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</style></title><b>",
    'id="clip0" url(#clip1) 3.14159265',
    "a & b\u0000\u001b\n{{x}} datum['y'] 💡",
    "\u2028\u2029\u202e\ufffe\ue000 x" + "y" * 9000,
)


def test_text_from_data_is_escaped() -> None:
    original = table(
        pl.DataFrame({text: [text] * 30 + ["other"] * 30 for text in NASTY}),
        quasi=NASTY[:2],
        confidential=NASTY[2:],
    )
    numbers = {text: np.arange(60) for text in NASTY}
    odd = NASTY[0]
    step = {"use": odd, "paper": odd, "parameters": dict.fromkeys(NASTY, odd), "did": {odd: NASTY}}
    made = release_of(
        original,
        original,
        measurements={
            t: Measurement(t, 0.5, detail={"baseline": t, "interval": t}, baseline=0.1)
            for t in NASTY
        },
        findings=[Finding(t, t, 1, 2, False, True) for t in NASTY],
        steps=(step,),
        not_taken=dict.fromkeys(NASTY, odd),
        notes=NASTY,
    )
    heat = release_of(table(numbers, quasi=NASTY), table(numbers, quasi=NASTY))
    for one, owner in ((made, False), (made, True), (heat, False)):
        text = render(one, owner=owner)
        page = Page(text)
        for tag in ("script", "img", "b"):
            assert page.named(tag) == []
        for nasty in NASTY:
            assert " ".join(printable(nasty[:40]).split()) in page.text
        assert len(text) < 400_000
    assert text == render(heat, owner=False)


def test_owner_sees_the_riskiest_rows() -> None:
    frame = pl.DataFrame({"q": ["a"] * 20 + ["alone"] + ["b"] * 3 + ["a"] * 6})
    original = table(frame, quasi=["q"])
    order = np.random.default_rng(0).permutation(30)
    made = release_of(original, original.take(order), rows=order)
    found = riskiest(made.pair, sizes(made))
    assert [(r.row, r.before, r.after) for r in found[:4]] == [
        (20, 1, 1),
        (21, 3, 3),
        (22, 3, 3),
        (23, 3, 3),
    ]
    assert len(found) == 10
    page = Page(render(made, owner=True))
    assert re.search(r"Risk ?20 ?21 ?1 ?1 ?100 %", page.text)
    assert "1-mdav" in page.text


def test_records_without_an_original_have_no_row() -> None:
    t = table({"q": ["a", "b"]}, quasi=["q"])
    found = riskiest(Pair(t, t, np.array([-1, 1])), Sizes(np.array([1, 1]), np.array([1, 1])))
    assert [r.row for r in found] == [1]
    assert riskiest(Pair(t, t, None), Sizes(np.array([1, 1]), np.array([1, 1]))) == []


def test_class_sizes_are_binned_by_records() -> None:
    before, after = np.array([1] * 12 + [2] * 8), np.array([20] * 20)
    found = size_bins(Sizes(before, after), None)
    assert found is not None
    assert found.names == ["1", "2", "3–4", "5–9", "10–19", "20–49"]
    np.testing.assert_allclose(found.before, [0.6, 0.4, 0, 0, 0, 0])
    np.testing.assert_allclose(found.after, [0, 0, 0, 0, 0, 1])
    hidden = size_bins(Sizes(before, after), PUBLIC)
    assert hidden is not None
    np.testing.assert_allclose(hidden.after, found.after)
    assert np.isnan(hidden.before[1:]).all()  # eight records, and none
    assert size_bins(Sizes(None, None), None) is None


def test_intervals_are_spread_over_their_width() -> None:
    original = table({"x": [0, 5, 10, 19, 29, 40]}, quasi=["x"])
    labels = pl.Series("x", ["[0, 9]", "[0, 9]", "[10, 29]", "15", ">=30", "*", None, "[10, 29]"])
    found = intervals(labels, original)
    np.testing.assert_allclose(found.over(np.array([0.0, 10, 20, 30, 40])), [2, 2, 1, 1])
    assert found.unread == 0
    assert intervals(pl.Series("x", ["?", "3"]), original).unread == 1


def test_dates_are_spread_over_their_days() -> None:
    days = [dt.date(2020, 1, 1), dt.date(2020, 1, 4)]
    original = table({"x": days}, quasi=["x"])
    found = intervals(pl.Series("x", ["[2020-01-01, 2020-01-04]"] * 4), original)
    first = (days[0] - dt.date(1970, 1, 1)).days
    np.testing.assert_allclose(found.over(np.arange(first, first + 5.0)), [1, 1, 1, 1])


@pytest.mark.parametrize("far", [1, 20, 4_000, 900_000, 3_652_058])
@pytest.mark.parametrize("first", [True, False])
def test_dates_at_the_ends_of_the_calendar_are_drawn(far: int, first: bool) -> None:
    end = dt.date.min if first else dt.date.max
    days = [end, end + dt.timedelta(far if first else -far)] * 20
    before = table({"x": days}, quasi=["x"])
    (picture,) = pictures(Pair.of(before, before), gaps(before), None).drawn
    assert picture.original.sum() == pytest.approx(1.0)
    assert figures.column_chart(picture).marks


def test_sets_are_spread_over_their_members() -> None:
    original = table({"c": ["a", "b", "b", "c"]}, quasi=["c"])
    found = bars(pl.Series("c", ["{a, b}", "b", "*", "c"]), original, 9)
    assert dict(zip(found.names, found.masked.tolist(), strict=True)) == {
        "a": 0.5,
        "b": 1.5,
        "c": 1.0,
    }
    assert dict(zip(found.names, found.original.tolist(), strict=True)) == {"a": 1, "b": 2, "c": 1}
    assert found.spread
    assert found.published.tolist() == [False, True, True]


def test_nodes_of_a_tree_stand_for_themselves() -> None:
    from sfumato.poset.trees.sources import Prefix

    codes = [f"{a}{b}" for a in "123" for b in "0123"]
    original = table({"zip": codes}, quasi=["zip"], posets={"zip": Prefix(lengths=(2, 1))})
    published = original.schema["zip"].poset
    assert published is not None
    tree = published.bind(codes)
    wide = tree.lub(["10", "13"])
    labels = [wide] * 4 + ["20", "21", tree.lub(["22", "23"]), "23"] + ["30"] * 4
    found = bars(pl.Series("zip", labels), original, 9)
    counted = dict(zip(found.names, zip(found.original, found.masked, strict=True), strict=True))
    assert counted[wide] == (4, 4)
    assert counted[tree.lub(["22", "23"])] == (4, 4)
    assert counted["30"] == (1, 4)
    assert not found.spread


def test_measured_correlations_are_those_drawn() -> None:
    t = table(people(), **ROLES)
    names = ["age", "pay", "cost"]
    before = [[1.0, 0.1234, 0.5], [0.1234, 1.0, None], [0.5, None, 1.0]]
    after = [[1.0, 0.2, 0.4], [0.2, 1.0, 0.1], [0.4, 0.1, 1.0]]
    measured = Measurement(
        "correlation-difference",
        0.1,
        detail={"columns": names},
        private={"original": before, "masked": after},
    )
    taken = {"correlation-difference": measured}
    found = correlations(Pair.of(t, t), Evidence(measurements=taken), PUBLIC)
    assert found is not None
    assert found.names == ["age", "pay", "cost"]
    assert found.before[0, 1] in (0.1, 0.2)  # one decimal in public, of 400 records
    assert np.isnan(found.before[1, 2])


def test_correlations_that_one_record_makes_are_said_to_be_left_out(release: Release) -> None:
    said = str(correlation_changes(release, Rounding(400, 1, tail=50.0)))
    assert "They are not told" in said
    assert "They are not told" not in str(correlation_changes(release, Rounding(400, 1)))


def test_correlations_of_undecided_columns_are_drawn() -> None:
    t = table({"a": [float(i) for i in range(40)], "b": [float(i % 7) for i in range(40)]})
    assert {str(column.role) for column in t.schema} == {"undecided"}
    found = correlations(Pair.of(t, t), Evidence(measurements={}), None)
    assert found is not None
    assert found.names == ["a", "b"]


def test_counted_correlations_agree_with_numpy() -> None:
    t = table(people(), **ROLES)
    found = correlations(Pair.of(t, t), Evidence(measurements={}), None)
    assert found is not None
    i, j = found.names.index("age"), found.names.index("cost")
    true = np.corrcoef(t["age"].to_numpy(), t["cost"].to_numpy())[0, 1]
    assert found.before[i, j] == pytest.approx(true)
    assert found.after[i, j] == pytest.approx(true)


def test_correlation_of_a_handful_is_left_empty_in_public() -> None:
    few = [float(i) if i < 7 else None for i in range(100)]
    t = table({"a": few, "b": few, "c": range(100), "d": range(100)}, quasi=["a", "b", "c", "d"])
    found = correlations(Pair.of(t, t), Evidence(measurements={}), PUBLIC)
    assert found is not None
    a, c, d = (found.names.index(name) for name in "acd")
    assert np.isnan(found.before[a, c])
    assert found.before[c, d] == 1
    full = correlations(Pair.of(t, t), Evidence(measurements={}), None)
    assert full is not None
    assert full.before[a, c] == pytest.approx(1)


def test_missing_and_suppressed_are_two_counts(public: str) -> None:
    release = usual()
    lost = int((release.pair.original["town"] == "Como").sum())
    assert re.search(rf"town ?quasi-identifier ?nominal ?values ?0 ?{lost} \(", Page(public).text)
    assert f"0 published cells are missing and {lost} are suppressed" in Page(public).text


EDGES = {
    "all text": table(
        pl.DataFrame({"a": ["one", "two"] * 8, "b": ["x y z"] * 16}),
        kinds={"a": "text", "b": "text"},
        quasi=["a"],
        confidential=["b"],
    ),
    "one record": table(people(1), **ROLES),
    "five records": table(people(5), **ROLES),
    "no records": table(people(3).clear(), **ROLES),
    "no roles": table(people(20)),
    "all missing": table(
        pl.DataFrame(
            {"n": [None] * 30, "c": [None] * 30, "d": [None] * 30, "s": [None] * 30},
            schema={"n": pl.Float64, "c": pl.String, "d": pl.Date, "s": pl.List(pl.String)},
        ),
        quasi=["n", "c", "d", "s"],
    ),
    "constant": table({"n": [7] * 30, "x": [0.0] * 30, "c": ["a"] * 30}, quasi=["n", "x", "c"]),
    "odd numbers": table(
        {"x": [float("inf"), float("nan"), -1e300, 1e300] * 9, "big": [2**62, -(2**62)] * 18},
        quasi=["x", "big"],
    ),
    "sets and ordinals": table(
        {"s": [["a", "b"], ["b"], [], None] * 9, "o": ["lo", "hi", "mid", None] * 9},
        kinds={"o": "ordinal"},
        categories={"o": ["lo", "mid", "hi"]},
        quasi=["s", "o"],
    ),
    "old dates": table({"d": [dt.date(1, 1, 1), dt.date(9999, 12, 31)] * 20}, quasi=["d"]),
    "times": table({"d": [dt.datetime(2020, 1, 1, 5), dt.datetime(2021, 1, 1)] * 20}, quasi=["d"]),
}


@pytest.mark.parametrize("case", EDGES)
@pytest.mark.parametrize("owner", [False, True])
def test_odd_tables_give_a_report(case: str, owner: bool) -> None:
    t = EDGES[case]
    page = Page(render(release_of(t, t), owner=owner))
    assert f"{t.height:,} record" in page.text
    assert "No measure was taken." in page.text


def test_all_suppressed_and_unread_labels_are_told() -> None:
    original = table({"n": range(40), "c": ["a", "b"] * 20}, quasi=["n", "c"])
    frame = pl.DataFrame({"n": ["*"] * 35 + ["[0, 39]"] * 4 + ["??"], "c": ["*"] * 39 + ["??"]})
    columns = [c.with_(generalized=True) for c in original.schema]
    masked = original.with_columns(frame, columns)
    text = Page(render(release_of(original, masked), owner=False)).text
    assert "1 published labels are no intervals and are not drawn." in text
    assert "87.5 % suppressed in the release" in text


def test_wide_tables_stay_small() -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({f"column_{i}": rng.normal(size=50) for i in range(1000)})
    t = table(frame, quasi=[f"column_{i}" for i in range(500)])
    facts = {f"column_{i}": {"level": i} for i in range(1000)}
    step = {"use": "global-recoding", "parameters": {"levels": facts}, "did": facts}
    text = render(release_of(t, t, steps=(step,)), owner=False)
    assert len(text) < 250_000
    page = Page(text).text
    assert "488 more columns left out of the pictures" in page
    assert "960 more columns are not listed." in page


def _shapes(chart: figures.Chart, name: str) -> list[dict[str, str]]:
    """The attributes of all shapes of one kind, from SVG that must be well-formed."""
    page = ElementTree.fromstring(figures.svg(chart, "k", "a < b", "& c"))
    assert page.get("role") == "img"
    return [dict(shape.attrib) for shape in page.iter() if shape.tag == name]


def test_charts_are_well_formed() -> None:
    release = usual()
    found = pictures(release.pair, gaps(release.pair.masked), PUBLIC).drawn
    assert {p.form for p in found} == {"histogram", "dates", "bars"}
    for picture in found:
        chart = figures.column_chart(picture)
        drawn = np.count_nonzero(~np.isnan(picture.original))
        if picture.form == "bars":
            drawn += np.count_nonzero(~np.isnan(picture.masked))
        assert len(_shapes(chart, "rect")) == drawn
        assert len(_shapes(chart, "text")) >= 2
    moved = correlations(release.pair, release.evidence, PUBLIC)
    assert moved is not None
    many = len(moved.names)
    assert len(_shapes(figures.correlation_chart(moved), "rect")) == many * (many - 1) / 2


def test_bars_are_as_long_as_their_shares() -> None:
    release = usual()
    bins = size_bins(sizes(release), PUBLIC)
    assert bins is not None
    chart = figures.sizes_chart(bins)
    for colour, shares in ((figures.BEFORE, bins.before), (figures.AFTER, bins.after)):
        tall = [float(s["height"]) for s in _shapes(chart, "rect") if s["fill"] == colour]
        wanted = shares[~np.isnan(shares)]
        scale = max(tall) / wanted.max() if wanted.max() else 1.0
        np.testing.assert_allclose(tall, wanted * scale, atol=0.02)
    for picture in pictures(release.pair, gaps(release.pair.masked), PUBLIC).drawn:
        chart = figures.column_chart(picture)
        side = "width" if picture.form == "bars" else "height"
        long = [float(s[side]) for s in _shapes(chart, "rect") if s["fill"] == figures.BEFORE]
        wanted = picture.original[~np.isnan(picture.original)]
        np.testing.assert_allclose(long, wanted * max(long) / wanted.max(), atol=0.02)
        assert max(long) <= max(chart.width, chart.height)


def test_risks_lie_where_their_shares_are() -> None:
    risks = [figures.Risk("a", 1.0, 0.25), figures.Risk("b", None, 0.5, 0.1)]
    assert "nan" not in str(figures.risk_chart([figures.Risk("a", math.nan, 0.2, math.nan)]))
    chart = figures.risk_chart(risks)
    assert [float(s["cx"]) / chart.width for s in _shapes(chart, "circle")] == [1.0]
    places = [float(s["d"][1:].split()[0]) / chart.width for s in _shapes(chart, "path")]
    assert places == pytest.approx([0.25, 0.5], abs=1e-4)
    chance = [s for s in _shapes(chart, "line") if s["stroke"] == figures.CHANCE]
    assert [float(s["x1"]) / chart.width for s in chance] == pytest.approx([0.1], abs=1e-4)


@pytest.mark.parametrize("ends", [(0.0, 3.0), (-1e-7, 1e-7), (19_000.0, 19_003.0), (5.0, 5.0)])
@pytest.mark.parametrize("form", ["histogram", "dates"])
def test_narrow_and_empty_histograms_are_drawn(ends: tuple[float, float], form: str) -> None:
    column = usual().pair.masked.schema.quasi[0]
    nothing = np.full(3, np.nan)
    edges = np.linspace(*ends, 4)
    chart = figures.column_chart(Picture(column, form, nothing, nothing, edges))  # type: ignore[arg-type]
    assert _shapes(chart, "rect") == []


def test_import_is_light() -> None:
    import subprocess
    import sys

    heavy = "[m for m in ('altair', 'vl_convert', 'scipy.stats', 'pandas') if m in sys.modules]"
    code = f"import sfumato.release.report.report, sys; print({heavy})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_numbers_are_not_rounded_to_nothing() -> None:
    assert percent(1e-6).replace("\u00a0", " ") == "0.0001 %"
    assert percent(1 - 1e-6).replace("\u00a0", " ") == "99.9999 %"
    assert percent(float("nan")) == "not a number"
    assert number(float("-inf")) == "minus infinite"
    assert number(1234567.8) == "1,234,568"
    assert plain({"a": list(range(20))}).endswith("and 8 more)")


def test_a_criterion_is_told_in_plain_numbers_even_if_a_measure_is_called_by_its_name() -> None:
    """`no-attack` is a criterion in a currency, and an alias of a measure in percent."""
    limit = Finding("no-attack", "the expected gain", 1.0, 1.5, met=True, at_least=False)
    assert sections._value(limit, limit.limit) == "1.5"
    assert sections._value(replace(limit, requirement="paying-attacks"), 1.0) == percent(1.0)
