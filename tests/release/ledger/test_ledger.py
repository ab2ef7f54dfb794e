"""The ledger of releases: nobody is published twice unnoticed."""

from __future__ import annotations

import dataclasses
import hashlib
import hmac
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import OutputError, ReleaseRefused, SchemaError
from sfumato.release.ledger.book import NAME, Book, Ledger
from sfumato.release.ledger.key import VARIABLE, find_key, key_file, make_key
from sfumato.release.ledger.people import digests, known, packed
from sfumato.release.staging import private_path

K = 5
SEED = 2**90
REASON = "the earlier one was never handed out"
NO_EARLIER = "no earlier release of these people is known to this ledger"
UNKNOWN = "cannot be known"


def people(rows: range | list[int] = range(400), **words: object) -> sf.Table:
    rng = np.random.default_rng(3)
    age, district = rng.integers(20, 80, 1000), rng.integers(100, 130, 1000)
    sex, income = rng.choice(["f", "m"], 1000), rng.normal(30_000, 8_000, 1000)
    listed = list(rows)
    frame = {
        "id": [f"p{i}" for i in listed],
        "age": age[listed],
        "district": district[listed].astype(str),
        "sex": sex[listed],
        "income": income[listed],
    }
    roles = {"identifier": "id", "quasi": ["age", "district", "sex"], "confidential": "income"}
    return sf.table(frame, **{**roles, **words})


def anonymous(table: sf.Table, first: str = "age", **words: object) -> sf.Release:
    """k-anonymous on its own, one column finer than the others."""
    weights = {"age": 0.05, "district": 0.05, "sex": 0.05} | {first: 20.0}
    step = sf.method("mondrian", k=K, importance=weights)
    require = {"k-anonymity": K}
    return sf.protect(table, step, **{"seed": SEED, "require": require, "measures": (), **words})


def noisy(table: sf.Table, seed: int) -> sf.Release:
    steps = [
        sf.method("mondrian", k=K),
        sf.method("uncorrelated-noise", amount=0.1, columns=("income",)),
    ]
    return sf.protect(table, steps, seed=SEED + seed, measures=())


def listed(folder: Path) -> list[tuple[str, str, int | None]]:
    return [(one.path, one.state, one.people) for one in Ledger.at(folder).entries()]


def said(release: Path) -> str:
    """What the public evidence says of earlier releases."""
    (sentence,) = json.loads((release / "evidence.json").read_text())["ledger"]
    assert sentence in (release / "report.html").read_text()
    return str(sentence)


def below_k(first: sf.Release, second: sf.Release) -> int:
    """By hand: how many people share what both releases show of them with fewer than k."""
    shown: dict[int, list[str]] = {}
    for release in (first, second):
        records = release.table.frame.select("age", "district", "sex").rows()
        for row, record in zip(release.pair.rows.tolist(), records, strict=True):
            shown.setdefault(row, []).append(str(record))
    pairs = [tuple(pair) for pair in shown.values()]
    return sum(pairs.count(pair) < K for pair in pairs)


def test_two_releases_that_single_people_out_together_do_not_both_appear(tmp_path: Path) -> None:
    first, second = anonymous(people(), "age"), anonymous(people(), "district", seed=SEED + 2)
    assert below_k(first, second) > 200  # each alone is 5-anonymous
    first.save(tmp_path / "first")
    assert said(tmp_path / "first") == NO_EARLIER
    with pytest.raises(ReleaseRefused) as refused:
        second.save(tmp_path / "second")
    assert refused.value.findings[0].value == 400
    assert "first" in str(refused.value)
    assert "given" in str(refused.value)
    assert "ledger-exception" in str(refused.value)
    assert not (tmp_path / "second").exists()
    assert not private_path(tmp_path / "second").exists()
    assert listed(tmp_path) == [("first", "published", 400)]


def test_an_equal_copy_that_stands_elsewhere_is_not_replaced(tmp_path: Path) -> None:
    anonymous(people()).save(tmp_path / "first")
    shutil.copytree(tmp_path / "first", tmp_path / "copy")
    ledger = Ledger.at(tmp_path)
    (first,) = ledger.entries()
    copy = dataclasses.replace(first, path="copy")
    with ledger.opened() as book:
        assert book.is_replaced(first, "first", first.mark)
        assert not book.is_replaced(copy, "first", first.mark)
        assert not book.is_replaced(first, "first", "")
        shutil.rmtree(tmp_path / "copy")  # moved to where it is replaced
        assert book.is_replaced(copy, "first", first.mark)


@pytest.mark.parametrize("name", ["sfumato.ledger", ".sfumato.ledger.lock"])
def test_a_link_is_no_ledger(tmp_path: Path, name: str) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    victim.chmod(0o755)
    (tmp_path / name).symlink_to(victim)
    with pytest.raises(OutputError, match="cannot be used"):
        anonymous(people()).save(tmp_path / "first")
    assert victim.read_text() == "mine"
    assert victim.stat().st_mode & 0o777 == 0o755


def test_where_it_is_known_where_it_goes_it_stops_before_measuring(tmp_path: Path) -> None:
    anonymous(people()).save(tmp_path / "first")
    with pytest.raises(ReleaseRefused, match="known to this ledger is 400"):
        anonymous(people(), seed=SEED + 2, output=tmp_path / "second")
    words = f'[output]\npath = "second"\n[[steps]]\nuse = "mondrian"\nk = {K}\n'
    (tmp_path / "plan.toml").write_text(words)
    alone = sf.Plan.read(tmp_path / "plan.toml")
    assert sf.protect(people(), alone, measures=()).evidence.ledger is not None


def test_an_exception_is_published_with_its_reason(tmp_path: Path) -> None:
    anonymous(people()).save(tmp_path / "first")
    anonymous(people(), "sex", seed=SEED + 2).save(tmp_path / "second", ledger_exception=REASON)
    assert REASON in said(tmp_path / "second")
    private = (tmp_path / "second.private" / "report.html").read_text()
    assert "400 of 400 people are in it" in private
    assert "400 of 400" not in (tmp_path / "second" / "report.html").read_text()
    plan = sf.Plan.read(tmp_path / "second.private" / "plan.toml")
    assert plan.output.ledger_exception == REASON
    assert Ledger.at(tmp_path).entries()[-1].exception == REASON


def test_a_release_that_was_judged_beside_the_earlier_one_passes(tmp_path: Path) -> None:
    first = anonymous(people()).save(tmp_path / "first")
    with pytest.raises(ReleaseRefused, match="joined with first"):
        anonymous(people(), "district", seed=SEED + 2, given=first)
    together = anonymous(people(), given=first, output=tmp_path / "second")
    together.save(tmp_path / "second")
    assert "were judged with it" in said(tmp_path / "second")
    # Wherever it was moved to, and by its data too; and the second is not forgotten.
    (tmp_path / "archive").mkdir()
    moved = first.rename(tmp_path / "archive" / "one")
    private_path(first).rename(private_path(moved))
    with pytest.raises(ReleaseRefused, match="second") as refused:
        anonymous(people(), given=moved / "data.csv", output=tmp_path / "third")
    assert "first" not in refused.value.findings[0].detail["because"]
    both = [moved, tmp_path / "second"]
    anonymous(people(), given=both).save(tmp_path / "third")
    assert len(listed(tmp_path)) == 3


def test_those_who_overlap_are_counted(tmp_path: Path) -> None:
    anonymous(people(range(300))).save(tmp_path / "first")
    anonymous(people(range(300, 500))).save(tmp_path / "others")
    assert said(tmp_path / "others") == NO_EARLIER
    with pytest.raises(ReleaseRefused) as refused:
        anonymous(people(range(250, 350))).save(tmp_path / "third")
    found = refused.value.findings[0]
    assert found.value == 100
    because = str(found.detail["because"])
    assert because.count(": 50") == 2


def test_who_is_not_in_the_release_was_not_published(tmp_path: Path) -> None:
    steps = [sf.method("sampling", share=0.5), sf.method("mondrian", k=K)]
    release = sf.protect(people(), steps, seed=SEED + 1, measures=())
    release.save(tmp_path / "first")
    drawn = set(release.pair.rows.tolist())
    assert listed(tmp_path) == [("first", "published", len(drawn))]
    others = [row for row in range(400) if row not in drawn]
    anonymous(people(others)).save(tmp_path / "second")
    assert said(tmp_path / "second") == NO_EARLIER


def test_records_of_a_model_are_about_everybody(tmp_path: Path) -> None:
    made = sf.protect(people(), sf.method("univariate-synthesis"), seed=SEED + 1, measures=())
    assert made.pair.rows is None
    made.save(tmp_path / "first")
    assert listed(tmp_path) == [("first", "published", 400)]


def test_twenty_noise_releases_are_not_averaged(tmp_path: Path) -> None:
    table = people()
    true = table["income"].to_numpy()
    draws = []
    for seed in range(20):
        release = noisy(table, seed)
        values = np.empty(table.height)
        values[release.pair.rows] = release.table["income"].to_numpy()
        draws.append(values)
    alone, averaged = (np.abs(x - true).mean() for x in (draws[0], np.mean(draws, axis=0)))
    assert averaged < 0.3 * alone  # what an intruder would have of all twenty
    published = 0
    for seed in range(20):
        try:
            noisy(table, seed).save(tmp_path / f"r{seed}")
            published += 1
        except ReleaseRefused as refused:
            assert "income would be drawn anew" in str(refused)
    assert published == 1


def test_a_replaced_release_is_retired(tmp_path: Path) -> None:
    anonymous(people()).save(tmp_path / "out")
    anonymous(people(), seed=SEED + 2).save(tmp_path / "out", replace=True)
    assert said(tmp_path / "out") == NO_EARLIER
    assert listed(tmp_path) == [("out", "retired", 400), ("out", "published", 400)]
    # A folder that is gone may have been published: it is not taken for replaced.
    for half in (tmp_path / "out", tmp_path / "out.private"):
        half.rename(half.with_name(f"moved-{half.name}"))
    with pytest.raises(ReleaseRefused, match="known to this ledger"):
        anonymous(people(), seed=SEED + 3).save(tmp_path / "out", replace=True)


@pytest.mark.parametrize("roles", [{"identifier": ()}, {"identifier": ["id", "sex"]}])
def test_without_a_person_it_says_that_nothing_can_be_known(
    roles: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "nobody" / "needs it"))
    quasi = ["age", "district"]
    table = people(**roles, quasi=quasi, others="insensitive")
    step = sf.method("mondrian", k=K)
    for name in ("first", "second"):
        sf.protect(table, step, seed=SEED + 1, measures=()).save(tmp_path / name)
        assert UNKNOWN in said(tmp_path / name)
    assert listed(tmp_path) == [("first", "published", None), ("second", "published", None)]
    owner = (tmp_path / "second.private" / "report.html").read_text()
    assert "1 earlier releases are known to this ledger" in owner
    assert not (tmp_path / "nobody").exists()
    # Who is known is told that the others are not.
    monkeypatch.setenv(VARIABLE, "a key that is long enough")
    anonymous(people()).save(tmp_path / "third")
    assert said(tmp_path / "third") == f"{NO_EARLIER}; of some it does not know the people"


def test_the_person_is_named_where_there_are_several_identifiers(tmp_path: Path) -> None:
    several = people(identifier=["id", "sex"], quasi=["age", "district"], person="id")
    step = sf.method("mondrian", k=K)
    sf.protect(several, step, seed=SEED + 1, measures=()).save(tmp_path / "first")
    plan = sf.Plan.parse(f'[input]\nperson = "id"\n[[steps]]\nuse = "mondrian"\nk = {K}\n')
    nobody = people(identifier=(), others="drop", person="id")
    assert nobody.schema["id"].role == "identifier"  # and so is not published
    with pytest.raises(ReleaseRefused, match="is 400"):
        sf.protect(nobody, plan, seed=SEED + 1, measures=()).save(tmp_path / "second")
    with pytest.raises(SchemaError, match="nobodys"):
        people(person="nobodys")
    nobody.frame.write_csv(tmp_path / "people.csv")
    read = sf.read(tmp_path / "people.csv", quasi=["age"], others="drop", person="id")
    assert read.schema.person == "id"


def test_a_table_is_a_release_too(tmp_path: Path) -> None:
    anonymous(people()).save(tmp_path / "first")
    cells = sf.tabulate(people(), ["district", "sex"], seed=1)
    rules = {"rules": [sf.method("minimum-frequency", minimum=3)]}
    made = sf.protect(cells, "modular-suppression", seed=SEED, **rules)
    with pytest.raises(ReleaseRefused, match="is 400") as refused:
        made.save(tmp_path / "table")
    assert "--given" not in str(refused.value)  # a table is not judged beside others
    with pytest.raises(ReleaseRefused, match="is 400"):
        sf.protect(cells, "modular-suppression", seed=SEED, output=tmp_path / "table", **rules)
    assert not (tmp_path / "table").exists()
    made.save(tmp_path / "table", ledger_exception=REASON)
    evidence = json.loads((tmp_path / "table" / "evidence.json").read_text())
    assert REASON in evidence["notes"][0]
    assert REASON in (tmp_path / "table" / "report.html").read_text()
    entry = Ledger.at(tmp_path).entries()[-1]
    assert (entry.kind, entry.people, list(entry.columns)) == (
        *("table", 400),
        ["district", "sex", "count"],
    )
    given = {"given": tmp_path / "first", "output": tmp_path / "third"}
    with pytest.raises(ReleaseRefused, match="table") as refused:
        anonymous(people(), **given)
    assert "--given" not in str(refused.value)


def test_a_plan_of_a_table_stops_too(tmp_path: Path) -> None:
    people().frame.write_csv(tmp_path / "people.csv")
    words = (
        '[input]\npath = "people.csv"\nperson = "id"\n[table]\ndimensions = ["district"]\n'
        '[[table.rules]]\nuse = "minimum-frequency"\n[output]\npath = "table"\n'
    )
    (tmp_path / "plan.toml").write_text(words)
    plan = sf.Plan.read(tmp_path / "plan.toml")
    from sfumato.release.tables.run import run_table

    run_table(plan, tmp_path, seed=SEED).save(tmp_path / "table")
    with pytest.raises(ReleaseRefused, match="is 400"):
        run_table(plan, tmp_path, seed=SEED, output=tmp_path / "other")


def test_runs_that_publish_nothing_record_nothing(tmp_path: Path) -> None:
    table = people()
    plan = sf.Plan.parse(f'[[steps]]\nuse = "mdav"\nk = {K}\n[output]\npath = "{tmp_path}/out"\n')
    sf.risk_utility_map(table, [sf.method("mdav", k=3)], plan, risk="uniques", loss="sse")
    sf.tune(table, plan, at_most=0.5, measure="uniques", seed=1)
    release = sf.protect(table, plan, seed=SEED + 1, measures=())
    with pytest.raises(ReleaseRefused):
        sf.protect(table, plan, seed=SEED + 1, measures=(), require={"k-anonymity": 300})
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").touch()
    with pytest.raises(OutputError):
        release.save(tmp_path / "file")
    assert not (tmp_path / NAME).exists()


@pytest.mark.parametrize("nth", [1, 2])
def test_a_release_that_fails_is_not_recorded(
    nth: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename, calls = os.rename, [0]

    def fail(source: Path, target: Path) -> None:
        calls[0] += 1
        if calls[0] == nth:
            raise OSError("disk full")
        rename(source, target)

    monkeypatch.setattr(os, "rename", fail)
    with pytest.raises(OutputError, match="disk full"):
        anonymous(people()).save(tmp_path / "out")
    monkeypatch.undo()
    assert listed(tmp_path) == []


def test_what_cannot_be_settled_at_once_is_settled_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settle, calls = Book.settle, [0]

    def fail(book: Book) -> None:
        calls[0] += 1
        if calls[0] == 2:  # the folders are there
            raise sqlite3.OperationalError("disk full")
        settle(book)

    monkeypatch.setattr(Book, "settle", fail)
    anonymous(people()).save(tmp_path / "out")
    monkeypatch.undo()
    assert calls == [2]
    assert listed(tmp_path) == [("out", "published", 400)]


CRASH = """
import os, signal, sys
import numpy as np
sys.path.insert(0, {root!r})
from pathlib import Path
from tests.release.ledger.test_ledger import anonymous, people

rename, calls = os.rename, [0]

def die(source, target):
    # Before the nth rename, or after the last of them.
    calls[0] += 1
    if calls[0] == {nth}:
        os.kill(os.getpid(), signal.SIGKILL)
    rename(source, target)
    if calls[0] == {last} < {nth}:
        os.kill(os.getpid(), signal.SIGKILL)

release = anonymous(people(), seed=2**90 + 2)
os.rename = die
release.save({out!r}, replace={replace})
"""


@pytest.mark.parametrize("replace", [False, True])
def test_after_a_crash_there_is_an_entry_if_there_is_a_release(
    replace: bool, tmp_path: Path
) -> None:
    root, last = str(Path(__file__).parents[3]), 4 if replace else 2
    for nth in range(1, last + 2):
        folder = tmp_path / str(nth)
        folder.mkdir()
        out = folder / "out"
        if replace:
            anonymous(people()).save(out)
        words = {"root": root, "nth": nth, "last": last, "out": str(out), "replace": replace}
        done = subprocess.run([sys.executable, "-c", CRASH.format(**words)], cwd=root)
        assert done.returncode == -signal.SIGKILL
        pending = sqlite3.connect(folder / NAME).execute("SELECT state FROM releases").fetchall()
        assert ("pending",) in pending
        states = [state for _, state, _ in listed(folder)]
        if nth <= last:  # it died before the release was there
            assert out.exists() == (replace and nth == 1)  # which is the old one
            assert states == (["published"] if replace else [])
        else:
            assert out.exists()
            assert states == (["retired", "published"] if replace else ["published"])


RACE = """
import sys, time
sys.path.insert(0, {root!r})
from pathlib import Path
from sfumato.errors import OutputError, ReleaseRefused
from sfumato.release.records import release as module
from tests.release.ledger.test_ledger import anonymous, people

made = anonymous(people(), seed=2**90 + {seed})
written = module.Release._write_private

def wait_for_the_other(self, folder):
    # Both have asked the ledger, which knew nothing, and neither has published.
    written(self, folder)
    Path({folder!r}, "ready-{seed}").touch()
    while not Path({folder!r}, "ready-{other}").exists():
        time.sleep(0.01)

module.Release._write_private = wait_for_the_other
try:
    made.save(Path({folder!r}, "out-{seed}"))
except (OutputError, ReleaseRefused) as error:
    assert "earlier releases" in str(error) or "meanwhile" in str(error)
    sys.exit(3)
"""


def test_of_two_who_publish_at_once_one_is_told(tmp_path: Path) -> None:
    root = str(Path(__file__).parents[3])
    runs = [
        subprocess.Popen(
            [
                sys.executable,
                "-c",
                RACE.format(root=root, folder=str(tmp_path), seed=seed, other=3 - seed),
            ],
            cwd=root,
        )
        for seed in (1, 2)
    ]
    assert sorted(run.wait(300) for run in runs) == [0, 3]
    (path, state, count) = listed(tmp_path)[0]
    assert len(listed(tmp_path)) == 1
    assert (state, count) == ("published", 400)
    assert [p.name for p in tmp_path.glob("out-?")] == [path]


def test_who_comes_second_waits_for_the_first(tmp_path: Path) -> None:
    """The lock is held while the folders appear."""
    ledger = Ledger.at(tmp_path)
    with ledger.opened(make=True):
        run = subprocess.Popen(
            [
                sys.executable,
                "-c",
                f"from sfumato.release.ledger.book import Ledger; Ledger.at({str(tmp_path)!r})"
                ".switch(off=True)",
            ]
        )
        with pytest.raises(subprocess.TimeoutExpired):
            run.wait(3)
    assert run.wait(60) == 0
    with ledger.opened() as book:
        assert book.off


def test_the_file_is_the_owners_alone_and_names_nobody(tmp_path: Path) -> None:
    anonymous(people()).save(tmp_path / "first")
    for name in (NAME, f".{NAME}.lock"):
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o600
    content = (tmp_path / NAME).read_bytes()
    assert b"p17" not in content
    for name in (NAME, f".{NAME}.lock"):
        assert not list((tmp_path / "first").glob(name))
    (tmp_path / NAME).chmod(0o644)
    assert len(listed(tmp_path)) == 1
    assert (tmp_path / NAME).stat().st_mode & 0o777 == 0o600


def test_the_ledger_may_lie_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "plans").mkdir()
    text = f'[[steps]]\nuse = "mondrian"\nk = {K}\n[output]\nledger = "kept/all.ledger"\n'
    (tmp_path / "plans" / "plan.toml").write_text(text)
    plan = sf.Plan.read(tmp_path / "plans" / "plan.toml")
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    release = sf.protect(people(), plan, seed=SEED + 1, measures=())
    with pytest.raises(OutputError, match=r"all\.ledger cannot be used"):
        release.save(tmp_path / "a" / "out")
    assert list((tmp_path / "a").iterdir()) == []
    inside = str(tmp_path / "a" / "out" / "my.ledger")
    published = plan.with_(output=plan.output.model_copy(update={"ledger": inside}))
    with pytest.raises(OutputError, match="would be published"):
        sf.protect(people(), published, seed=SEED + 1, measures=()).save(tmp_path / "a" / "out")
    (tmp_path / "plans" / "kept").mkdir()
    release.save(tmp_path / "a" / "out")
    with pytest.raises(ReleaseRefused):
        sf.protect(people(), plan, seed=SEED + 2, measures=()).save(tmp_path / "b" / "out")
    found = Ledger(tmp_path / "plans" / "kept" / "all.ledger").entries()
    assert [entry.path for entry in found] == [os.path.join("..", "..", "a", "out")]
    assert not (tmp_path / "a" / NAME).exists()


DAMAGES = {
    "empty": lambda content: b"",
    "text": lambda content: b"people\n" * 100,
    "cut": lambda content: content[: len(content) // 2],
    "head": lambda content: bytes(100) + content[100:],
}


@pytest.mark.parametrize("damage", [*DAMAGES, "facts", "digests", "state", "folder", "unreadable"])
def test_a_damaged_ledger_stops_everything(
    damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    anonymous(people()).save(tmp_path / "first")
    file = tmp_path / NAME
    if damage in DAMAGES:
        file.write_bytes(DAMAGES[damage](file.read_bytes()))
    elif damage == "folder":
        file.unlink()
        file.symlink_to(tmp_path / "first")
    elif damage == "unreadable":

        def refuse(path: object, *words: object, **more: object) -> None:
            raise sqlite3.OperationalError("unable to open database file")

        monkeypatch.setattr(sqlite3, "connect", refuse)
    else:
        column, new = {
            "facts": ("facts", "replace(facts, 'first', 'worst')"),
            "digests": ("people", "zeroblob(length(people))"),
            "state": ("state", "'gone'"),
        }[damage]
        with sqlite3.connect(file) as connection:
            connection.execute(f"UPDATE releases SET {column} = {new}")
        connection.close()
    for table in (people(), people(range(500, 600))):
        with pytest.raises(OutputError, match="cannot be used") as error:
            anonymous(table).save(tmp_path / "second")
        assert error.value.remedy
        assert not (tmp_path / "second").exists()
        assert not (tmp_path / "second.private").exists()


def test_another_key_or_none_stops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    anonymous(people()).save(tmp_path / "first")
    monkeypatch.setenv(VARIABLE, "another key that is long enough")
    with pytest.raises(OutputError, match="another key"):
        anonymous(people()).save(tmp_path / "second")
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    with pytest.raises(OutputError, match="there is no key"):
        anonymous(people(range(500, 600))).save(tmp_path / "second")
    assert not (tmp_path / "config").exists()  # a new one would know nobody again
    monkeypatch.setenv(VARIABLE, "short")
    with pytest.raises(OutputError, match="can be guessed"):
        anonymous(people()).save(tmp_path / "second")
    assert not (tmp_path / "second").exists()
    assert [path for path, _, _ in listed(tmp_path)] == ["first"]  # which needs no key


@pytest.mark.skipif(sys.platform in ("darwin", "win32"), reason="the folder is another there")
def test_the_key_is_made_once_and_kept_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    assert find_key() is None
    (tmp_path / "work").mkdir()
    anonymous(people()).save(tmp_path / "work" / "first")
    assert key_file() == tmp_path / "config" / "sfumato" / "ledger.key"
    assert key_file().stat().st_mode & 0o777 == 0o600
    assert [p.name for p in key_file().parent.iterdir()] == ["ledger.key"]
    assert make_key() == find_key() == bytes.fromhex(key_file().read_text())
    with pytest.raises(ReleaseRefused):
        anonymous(people(), seed=SEED + 2).save(tmp_path / "work" / "second")
    key_file().chmod(0o640)
    with pytest.raises(OutputError, match="others can read"):
        find_key()
    key_file().chmod(0o600)
    key_file().write_text("no key")
    with pytest.raises(OutputError, match="is not a key"):
        find_key()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(key_file()))  # no folder
    with pytest.raises(OutputError, match="ledger's key"):
        make_key()


def test_two_ledgers_cannot_be_joined(tmp_path: Path) -> None:
    contents = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        anonymous(people()).save(tmp_path / name / "out")
        with Ledger.at(tmp_path / name).opened() as book:
            contents.append(book.people(book.entries()[0]))
    assert not known(*contents).any()


def test_digests_are_hmacs_of_what_tells_people_apart() -> None:
    key = bytes(range(32))
    values = ["a", "b", "", None, "a", " ü "]
    found = digests(pl.Series(values), key)
    wanted = sorted(
        hmac.new(key, text.encode(), hashlib.sha256).digest()[:16] for text in ("a", "b", "ü")
    )
    assert packed(found) == b"".join(wanted)
    same = [pl.Series([1, 22]), pl.Series([22.0, 1.0, float("nan")]), pl.Series(["1 ", "22"])]
    same.append(pl.Series(["22", "1"], dtype=pl.Categorical))
    assert len({packed(digests(one, key)) for one in same}) == 1
    assert packed(digests(pl.Series([1.5]), key)) != packed(digests(pl.Series([1]), key))
    with pytest.raises(sf.SfumatoError, match="a person has one name"):
        digests(pl.Series([["a"]]), key)
    nobody = digests(pl.Series([], dtype=pl.String), key)
    assert known(found, nobody).tolist() == [False] * 3
    assert known(nobody, found).tolist() == []


def test_whose_records_are_nobodys_is_said_to_the_owner(tmp_path: Path) -> None:
    table = people()
    some = table.with_columns([pl.Series("id", [None, None, *table["id"].to_list()[2:]])])
    anonymous(some).save(tmp_path / "first")
    assert listed(tmp_path) == [("first", "published", 398)]
    owner = (tmp_path / "first.private" / "report.html").read_text()
    assert "2 records do not tell whose they are" in owner


def test_what_is_forgotten_is_gone_from_the_file(tmp_path: Path) -> None:
    anonymous(people()).save(tmp_path / "first")
    anonymous(people(range(500, 600))).save(tmp_path / "second")
    ledger = Ledger.at(tmp_path)
    with ledger.opened() as book:
        kept = packed(book.people(book.entries()[0]))[:16]
    assert kept in (tmp_path / NAME).read_bytes()
    assert ledger.forget("elsewhere") == []
    assert ledger.forget(before="1999-12-31") == []
    assert [entry.path for entry in ledger.forget(tmp_path / "first")] == ["first"]
    assert kept not in (tmp_path / NAME).read_bytes()
    anonymous(people(), seed=SEED + 2).save(tmp_path / "third")
    assert said(tmp_path / "third") == NO_EARLIER
    assert len(ledger.forget(before="2999-01-01")) == 2
    assert listed(tmp_path) == []


def test_a_ledger_that_is_off_records_nothing_and_says_so(tmp_path: Path) -> None:
    anonymous(people()).save(tmp_path / "first")
    ledger = Ledger.at(tmp_path / NAME)
    ledger.switch(off=True)
    anonymous(people(), seed=SEED + 2).save(tmp_path / "second")
    assert "is off" in said(tmp_path / "second")
    assert listed(tmp_path) == [("first", "published", 400)]
    ledger.switch(off=False)
    with pytest.raises(ReleaseRefused, match="first"):
        anonymous(people(), seed=SEED + 3).save(tmp_path / "third")
