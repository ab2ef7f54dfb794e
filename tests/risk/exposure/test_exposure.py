"""Exposure: columns that name people, sets that single them out, and columns that give others
back."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.data.pair import Pair
from sfumato.data.table import Table
from sfumato.errors import ReleaseRefused, SchemaError
from sfumato.measurement import Measurement
from sfumato.protocols import Context
from sfumato.risk.exposure import singled
from sfumato.risk.exposure.exposure import Exposure
from sfumato.risk.exposure.given_back import right_guesses
from tests.oracle.singled import worst

pytestmark = pytest.mark.exposure


def expose(
    original: Table, masked: Table, rows: Any = "same", seed: int = 0, **more: Any
) -> Measurement:
    rows = np.arange(masked.height) if isinstance(rows, str) else rows
    rng = np.random.default_rng(seed)
    return Exposure(**more).measure(Context(Pair(original, masked, rows), rng))


def equal(column: str, person: Any, record: Any) -> bool:
    return bool(person == record)


@given(
    cells=st.lists(st.tuples(*[st.integers(0, 3)] * 4), min_size=1, max_size=40),
    seed=st.integers(0, 4),
)
def test_the_worst_set_is_that_of_every_person_beside_every_record(
    cells: list[tuple[int, ...]], seed: int
) -> None:
    frame = {f"c{j}": [f"v{row[j]}" for row in cells] for j in range(4)}
    table = sf.table(frame, quasi=list(frame))
    order = np.random.default_rng(seed).permutation(len(cells))
    found = expose(table, table.take(order), order, seed)
    people = table.frame.to_dicts()
    own = np.argsort(order)
    assert found.value == worst(people, [people[i] for i in order], own, list(frame), equal)


def unit(values: list[float]) -> float:
    return math.gcd(*(round(10 * value) for value in values)) / 10


@given(
    values=st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), min_size=4, max_size=40),
)
def test_numbers_agree_within_their_tolerance(values: list[tuple[int, int]]) -> None:
    frame = {f"x{j}": [row[j] / 10 for row in values] for j in range(2)}
    table = sf.table(frame, quasi=list(frame))
    noisy = table.with_columns([(table[n] + 0.1).round(1).alias(n) for n in frame], [])
    near = {}
    for name in frame:
        low, high = (float(table[name].quantile(q) or 0) for q in (0.25, 0.75))
        near[name] = max((high - low) / 100, unit(noisy[name].to_list()) / 2)

    def agrees(column: str, person: float, record: float) -> bool:
        return abs(person - record) <= near[column] + 1e-9

    found = expose(table, noisy)
    everyone = list(range(len(values)))
    # Who lies beyond what is published is looked for at its end.
    ends = {n: (noisy[n].min(), noisy[n].max()) for n in frame}
    people = [
        {n: min(max(v, ends[n][0]), ends[n][1]) for n, v in row.items()}
        for row in table.frame.to_dicts()
    ]
    expected = worst(people, noisy.frame.to_dicts(), everyone, list(frame), agrees)
    shares = [one["share"] for one in found.detail.get("singled out", [])]
    assert max(shares, default=0.0) == pytest.approx(expected)


def test_labels_cover_whom_they_may_stand_for() -> None:
    table = sf.table({"age": [20, 21, 40, 41, 60], "sex": list("ffmmf")}, quasi=["age", "sex"])
    release = sf.protect(
        table, sf.method("mondrian", k=2), seed=1, require={"exposure": {"at-most": 1.0}}
    )
    assert release.evidence["exposure"].value == 0.0
    only = table.with_columns(
        [pl.Series("age", ["[20, 41]"] * 4 + ["60"])],
        [table.schema["age"].with_(generalized=True)],
    )
    assert expose(table, only).value == pytest.approx(1 / 5)


def test_a_sample_and_a_search_by_order_find_what_all_records_show(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(3)
    frame = {f"c{j}": rng.integers(0, 12, 600).astype(str).tolist() for j in range(5)}
    frame["x"] = np.round(rng.normal(size=600), 2).tolist()
    table = sf.table(frame, quasi=list(frame))
    whole = expose(table, table)
    monkeypatch.setattr(singled, "_FIRST", 64)
    assert expose(table, table).value == whole.value
    monkeypatch.setattr(singled, "_CELLS", 600 * 100)
    for seed in range(5):
        found = expose(table, table, seed=seed).value
        assert found == pytest.approx(whole.value, abs=0.02)


def test_just_inside_and_just_outside_the_limit() -> None:
    """Of 100 people five or six stand alone; all others have a twin."""
    for lone, passes in ((5, True), (6, False)):
        twins = (100 - lone) // 2
        codes = [f"t{i // 2}" for i in range(2 * twins)] + [f"a{i}" for i in range(100 - 2 * twins)]
        n = len(codes)
        assert n == 100
        table = sf.table({"region": codes, "pay": [1.5] * n}, quasi="region", confidential="pay")
        found = expose(table, table)
        assert found.value == pytest.approx((100 - 2 * twins) / 100)
        if passes and found.value > 0.05:
            continue
        met = found.value <= 0.05
        require = {"exposure": {"at-most": 0.05}}
        step = sf.method("top-bottom-coding", columns=["pay"], top=2.0)
        if met:
            sf.protect(table, step, seed=1, require=require)
        else:
            with pytest.raises(ReleaseRefused, match="region"):
                sf.protect(table, step, seed=1, require=require)


def test_a_limit_on_record_linkage_excuses_as_many() -> None:
    codes = [f"t{i // 2}" for i in range(90)] + [f"a{i}" for i in range(10)]
    table = sf.table({"region": codes, "pay": [1.5] * 100}, quasi="region", confidential="pay")
    step = sf.method("top-bottom-coding", columns=["pay"], top=2.0)
    with pytest.raises(ReleaseRefused, match="exposure"):
        sf.protect(table, step, seed=1)
    release = sf.protect(table, step, seed=1, require={"record-linkage": 0.9})
    assert [f.limit for f in release.evidence.findings if f.requirement == "exposure"] == [0.9]


def test_what_is_accepted_is_shown() -> None:
    frame = {"lat": [f"a{i % 19}" for i in range(38)], "lon": [f"b{i // 19}" for i in range(38)]}
    table = sf.table({**frame, "x": ["a"] * 38}, quasi=["lat", "lon", "x"])
    found = expose(table, table)
    assert found.value == 1.0
    excused = expose(table, table, accept=[["lat", "lon"]])
    assert excused.value == 0.0
    assert excused.detail["accepted"] == [{"columns": ["lat", "lon"], "share": 1.0}]


def test_names_in_sets_or_written_otherwise_are_still_names() -> None:
    table = sf.table({"who": NAMES * 4, "sex": ["f", "m"] * 50}, quasi=["who", "sex"])
    sets = table.with_columns(
        [pl.Series("who", [f"{{{NAMES[i % 25]}, {NAMES[(i + 1) % 25]}}}" for i in range(100)])],
        [table.schema["who"].with_(generalized=True)],
    )
    assert "who" in expose(table, sets).detail["because"]
    for change in (str.upper, lambda name: f"{name} ", lambda name: ", ".join(name.split()[::-1])):
        other = table.with_columns([pl.Series("who", [change(name) for name in table["who"]])], [])
        assert "who" in expose(table, other).detail["because"]
    star = table.with_columns(
        [pl.Series("who", ["*"] * 100)], [table.schema["who"].with_(generalized=True)]
    )
    assert not expose(table, star).detail["refuses"]


def test_a_trifle_of_noise_is_none() -> None:
    rng = np.random.default_rng(0)
    frame = {"lat": rng.uniform(47, 54, 300), "lon": rng.uniform(7, 14, 300)}
    table = sf.table(frame, confidential=["lat", "lon"])
    noisy = table.with_columns([table[name] + 1e-9 for name in frame], [])
    assert expose(table, noisy).detail["refuses"]


def test_rounded_numbers_are_compared_by_their_unit() -> None:
    rng = np.random.default_rng(1)
    frame = {f"x{j}": rng.integers(0, 100_000, 400).tolist() for j in range(3)}
    table = sf.table(frame, quasi=list(frame))
    rounded = table.with_columns(
        [((table[name] / 10_000).round(0) * 10_000).cast(pl.Int64).alias(name) for name in frame],
        [],
    )

    def agrees(column: str, person: int, record: int) -> bool:
        return abs(person - record) <= 5000

    expected = worst(
        table.frame.to_dicts(), rounded.frame.to_dicts(), range(400), list(frame), agrees
    )
    assert expected > 0.05
    assert expose(table, rounded).value == pytest.approx(expected)


def test_keys_stored_as_floats_are_keys() -> None:
    table = sf.table({"ref": [10_000.0 + i for i in range(99)] + [None]}, insensitive="ref")
    assert "ref" in expose(table, table).detail["because"]


def test_rounded_numbers_are_given_back_too() -> None:
    income = np.random.default_rng(2).integers(0, 40, 1000) * 500
    table = sf.table({"income": income, "tax": income // 5}, quasi="income", confidential="tax")
    rounded = (table["income"] / 10_000).round(0) * 10_000
    coarse = table.with_columns([rounded.cast(pl.Int64).alias("income")], [])
    assert "tax gives back income" in expose(table, coarse).detail["because"]


def test_drawn_dates_and_numbers_are_not_somebodys() -> None:
    rng = np.random.default_rng(3)
    days = pl.Series("day", rng.integers(0, 1000, 600)).cast(pl.Date)
    table = sf.table({"day": days, "x": rng.integers(0, 20_000, 600)}, quasi=["day", "x"])
    fresh = pl.Series("day", rng.integers(0, 1000, 600)).cast(pl.Date)
    drawn = table.with_columns([fresh, pl.Series("x", rng.integers(0, 20_000, 600))], [])
    assert not expose(table, drawn, None).detail["refuses"]


def test_what_an_intruder_knows_is_told_in_either_way_and_checked() -> None:
    rng = np.random.default_rng(0)
    frame = {"sex": ["f", "m"] * 100, "a": rng.normal(size=200), "b": rng.normal(size=200)}
    table = sf.table(frame, quasi="sex", confidential=["a", "b"])
    step = sf.method("mondrian")
    both = {"exposure": {"known-to": ["a"]}, "confidential-known-to": ["b"]}
    with pytest.raises(ReleaseRefused) as refused:
        sf.protect(table, step, seed=1, require=both)
    assert "a and b" in str(refused.value)
    with pytest.raises(SchemaError, match="aa"):
        sf.protect(table, step, seed=1, require={"exposure": {"known-to": ["aa"]}})
    with pytest.raises(sf.SfumatoError, match="at-most"):
        sf.protect(table, step, seed=1, require={"exposure": {"at-least": 0.5}})


def test_confidential_numbers_do_not_refuse_unless_known() -> None:
    rng = np.random.default_rng(0)
    frame = {"sex": ["f", "m"] * 100, "lab": np.round(rng.normal(size=200), 4).tolist()}
    table = sf.table(frame, quasi="sex", confidential="lab")
    found = expose(table, table)
    assert found.value == 0.0
    assert not found.detail["refuses"]
    (alone,) = (one for one in found.detail["confidential"] if one["columns"] == ["lab"])
    assert alone["share"] > 0.2
    assert expose(table, table, known_to=["lab"]).value > 0.2


def test_one_exact_value_beside_what_is_published_is_counted() -> None:
    """Sixty pairs of office and pay, each two people's; then each one person's."""
    frame = {
        "office": [f"o{i % 6}" for i in range(120)],
        "pay": [1000 * (i // 12) for i in range(120)],
        "grade": ["a", "b"] * 60,
        "hidden": [f"p{i}" for i in range(120)],
    }
    table = sf.table(frame, quasi=["office", "hidden"], confidential=["pay", "grade"])
    masked = table.with_columns([pl.Series("hidden", [f"z{i}" for i in range(120)])])
    found = expose(table, masked).detail
    assert not found["confidential"]  # neither value alone finds anybody
    together = found["confidential together"]
    # Nobody knows pseudonyms; two share each office and pay.
    assert (together["columns"], together["with"], together["share"]) == (["pay"], ["office"], 0.0)
    once = np.array([i for i in range(120) if i % 12 < 6])
    assert expose(table.take(once), masked.take(once)).detail["confidential together"] == {
        "columns": ["pay"],
        "with": ["office"],
        "share": 1.0,
    }
    assert "confidential together" not in expose(table, masked, None).detail


def test_columns_that_only_the_release_has_are_named() -> None:
    frame = {"town": ["a", "b"] * 30, "pay": list(range(60))}
    table = sf.table(frame, quasi="town", confidential="pay")
    other = sf.table({"place": frame["town"], "pay": frame["pay"]}, quasi="place", others="quasi")
    assert expose(table, other).detail["not in the original"] == ["place"]
    notes = sf.assess(table, other, align="position", measures="exposure").notes
    assert any("only the original has them: town" in note for note in notes)
    assert any("only the release has them: place; if they were renamed" in n for n in notes)
    assert not [note for note in sf.assess(table, table).notes if "not comparable" in note]


NAMES = [
    f"{first} {last}"
    for first in ("Anna", "José", "Marie", "John", "Giulia")
    for last in ("Schmidt", "García", "Dubois", "Miller", "Rossi")
]


@pytest.mark.parametrize("role", ["quasi", "confidential", "insensitive", "target"])
def test_names_are_refused_whatever_their_role(role: str) -> None:
    table = sf.table({"who": NAMES * 4, "sex": ["f", "m"] * 50}, quasi="sex", others=role)
    found = expose(table, table)
    assert found.detail["refuses"]
    assert "who" in found.detail["because"]
    assert not expose(table, table, accept=["who"]).detail["refuses"]


def test_a_key_is_refused_and_a_pseudonym_is_not() -> None:
    table = sf.table(
        {"code": [f"Q{i:04d}x" for i in range(100)], "sex": ["f", "m"] * 50},
        quasi="sex",
        household="code",
    )
    assert "code" in expose(table, table).detail["because"]
    release = sf.protect(
        table, [sf.method("pseudonymize", columns=["code"]), sf.method("mondrian")], seed=1
    )
    assert "code" in release.table.names
    assert not release.evidence["exposure"].detail["refuses"]


def test_a_column_that_gives_back_a_masked_one_is_refused() -> None:
    """Population density tells the area that was generalized away."""
    rng = np.random.default_rng(0)
    area = rng.integers(0, 20, 400)
    density = np.array([f"{117 + 31 * a} per km2" for a in range(20)])[area]
    frame = {"area": [f"area {a}" for a in area], "density": density.tolist()}
    table = sf.table(frame, quasi="area", insensitive="density")
    hidden = table.with_columns(
        [pl.Series("area", ["*"] * 400)], [table.schema["area"].with_(generalized=True)]
    )
    found = expose(table, hidden)
    assert found.detail["refuses"]
    assert "density gives back area" in found.detail["because"]
    mixed = table.with_columns(
        [pl.Series("density", rng.permutation(density)), hidden["area"]],
        [table.schema["area"].with_(generalized=True)],
    )
    assert not expose(table, mixed).detail["refuses"]


def test_few_records_do_not_give_back_by_chance() -> None:
    """Of many small files few may be refused for what is not so; a real tell always is."""
    refused = told = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        area = rng.integers(0, 6, 60)
        # By this column one in four is guessed, by chance one in six: far from twenty points more.
        some = np.where(rng.random(60) < 0.1, area, rng.integers(0, 6, 60))
        most = np.where(rng.random(60) < 0.8, area, rng.integers(0, 6, 60))
        for by, real in ((some, False), (most, True)):
            frame = {"area": [f"a{a}" for a in area], "by": [f"b{b}" for b in by]}
            table = sf.table(frame, quasi="area", insensitive="by")
            hidden = table.with_columns(
                [pl.Series("area", ["*"] * 60)], [table.schema["area"].with_(generalized=True)]
            )
            found = "gives back" in expose(table, hidden).detail
            told += found and real
            refused += found and not real
    assert told == 40
    assert refused <= 2  # one in twenty, at the bound of 95 %


def naive_right(groups: list[int], truth: list[int]) -> list[float]:
    found = []
    for i, (group, own) in enumerate(zip(groups, truth, strict=True)):
        others = [t for j, t in enumerate(truth) if j != i and groups[j] == group]
        others = others or [t for j, t in enumerate(truth) if j != i]
        counts = {t: others.count(t) for t in others}
        top = max(counts.values(), default=0)
        best = [t for t, many in counts.items() if many == top]
        found.append(0.0 if own not in best else 1.0 if len(best) == 1 else 0.5)
    return found


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)), min_size=1, max_size=30))
def test_guesses_leave_out_whom_they_guess(rows: list[tuple[int, int]]) -> None:
    groups, truth = map(list, zip(*rows, strict=True))
    found = right_guesses(np.array(groups), np.array(truth))
    assert found.tolist() == naive_right(groups, truth)


def test_records_of_nobody_are_compared_with_chance() -> None:
    rng = np.random.default_rng(0)
    frame = {f"c{j}": rng.integers(0, 40, 500).astype(str).tolist() for j in range(4)}
    table = sf.table(frame, quasi=list(frame))
    fresh = {f"c{j}": rng.integers(0, 40, 500).astype(str).tolist() for j in range(4)}
    drawn = sf.table(fresh, quasi=list(fresh))
    assert expose(table, drawn, None).value <= 0.05
    copied = expose(table, table, None).value
    assert copied > 0.05


def test_the_gate_can_be_switched_off_and_says_so(tmp_path: Any) -> None:
    table = sf.table({"who": NAMES * 4, "sex": ["f", "m"] * 50}, quasi=["sex", "who"])
    step = sf.method("pram", columns=["sex"])
    with pytest.raises(ReleaseRefused, match="who is published as it is"):
        sf.protect(table, step, seed=1)
    release = sf.protect(table, step, seed=1, require={"exposure": False})
    assert all(f.requirement != "exposure" for f in release.evidence.findings)
    saved = release.save(tmp_path / "r", allow_guessable_seed=True)
    assert "exposure check was switched off" in (saved / "report.html").read_text()
    assert "exposure = false" in (tmp_path / "r.private" / "plan.toml").read_text()


def test_columns_of_the_gate_must_be_there() -> None:
    table = sf.table({"sex": ["f", "m"] * 50}, quasi="sex")
    for require in ({"exposure": {"accept": ["sx"]}}, {"confidential-known-to": ["sx"]}):
        with pytest.raises(SchemaError, match="sx"):
            sf.protect(table, sf.method("mondrian"), seed=1, require=require)


def test_records_of_one_person_hide_nobody() -> None:
    """Six visits that look alike are one patient, whom everybody finds."""
    people = [f"p{i}" for i in range(20) for _ in range(6)]
    frame = {"patient": people, "born": [f"19{50 + i}" for i in range(20) for _ in range(6)]}
    table = sf.table(frame, identifier="patient", quasi="born")
    assert expose(table, table.without(["patient"])).value == 1.0
    shared = sf.table({**frame, "born": ["1950", "1960"] * 60}, identifier="patient", quasi="born")
    assert expose(shared, shared.without(["patient"])).value == 0.0
    unknown = sf.table({**frame, "patient": [None] * 120}, identifier="patient", quasi="born")
    assert expose(unknown, unknown.without(["patient"])).value == 0.0


def test_hidden_records_hide_nobody_else() -> None:
    """A record that says nothing agrees with everybody, and nobody takes it for theirs."""
    rng = np.random.default_rng(4)
    frame = {
        "age": rng.integers(20, 80, 400).tolist(),
        "town": rng.choice(list("abcdefgh"), 400).tolist(),
        "job": rng.choice([f"j{i}" for i in range(30)], 400).tolist(),
    }
    table = sf.table(frame, quasi=["age", "town"], insensitive="job")
    found = expose(table, table).value
    assert found > 0.5
    age = table["age"].cast(pl.String).set(pl.Series(np.arange(400) < 4), "*")
    town = table["town"].set(pl.Series(np.arange(400) < 4), "*")
    columns = [replace(table.schema[n], generalized=True) for n in ("age", "town")]
    starred = table.with_columns([age, town], columns)
    assert expose(table, starred).value == pytest.approx(found, abs=0.02)


def test_whole_numbers_that_stand_for_something_are_compared_as_they_are() -> None:
    rng = np.random.default_rng(5)
    frame = {"employer_id": rng.choice(90_000, 400), "sex": rng.choice(["f", "m"], 400)}
    frame["employer_id"][:80] = 7
    table = sf.table(frame, others="insensitive")
    share = float(table["employer_id"].is_unique().mean())
    assert expose(table, table).value >= share - 0.01


def test_a_person_is_found_by_any_of_their_records() -> None:
    """Half of the visits of everybody single them out."""
    days = [f"d{i}" if i % 2 else "d" for i in range(400)]
    born = [1940 + (i // 4) % 50 for i in range(400)]
    frame = {"pid": [f"P{i // 4:03d}" for i in range(400)], "born": born, "day": days}
    table = sf.table(frame, identifier="pid", quasi=["born", "day"])
    assert expose(table, table.without(["pid"])).value == 1.0


def test_a_set_is_accepted_and_not_its_columns() -> None:
    rng = np.random.default_rng(6)
    frame = {n: rng.choice([f"{n}{i}" for i in range(40)], 400).tolist() for n in "abcd"}
    table = sf.table(frame, quasi=list(frame))
    accepted = expose(table, table, accept=[["a", "b"], ["c", "d"]])
    assert accepted.value > 0.5
    assert {*accepted.detail["singled out"][0]["columns"]} not in ({"a", "b"}, {"c", "d"})
