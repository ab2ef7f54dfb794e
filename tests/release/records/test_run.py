"""Protecting: promises kept or refused, the same seed the same bytes, two faces apart."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import OutputError, ParameterError, SchemaError
from sfumato.release.records.run import attempt
from sfumato.release.staging import private_path
from tests.contract.tables import ordinary

PLAN = sf.Plan.parse("""
[[steps]]
use = "drop"
[[steps]]
use = "mondrian"
k = 4
[require]
k-anonymity = 4
record-linkage = { at-most = 0.5 }
""")
SEED = 123456789012345678901234567890


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*"))}


def test_a_release_keeps_its_promises_and_its_counts(tmp_path: Path) -> None:
    table = ordinary(missing=True)
    release = sf.protect(table, PLAN)
    path = release.save(tmp_path / "out")
    frame = pl.read_csv(path / "data.csv", infer_schema=False)
    quasi = [name for name in table.schema.quasi if name in frame.columns]
    assert frame.group_by(quasi).len()["len"].min() >= 4
    assert "who" not in frame.columns
    assert frame.height == table.height
    evidence = json.loads((path / "evidence.json").read_text())
    assert all(r["met"] for r in evidence["requirements"])
    assert evidence["records"] == {"original": 60, "published": 60}


def test_same_plan_seed_and_input_same_bytes(tmp_path: Path) -> None:
    folders = [tmp_path / name / "out" for name in ("a", "b")]  # ledgers apart
    for folder in folders:
        folder.parent.mkdir()
        sf.protect(ordinary(missing=True), PLAN, seed=SEED).save(folder)
    assert contents(folders[0]) == contents(folders[1])
    assert contents(private_path(folders[0])) == contents(private_path(folders[1]))


def test_without_a_seed_each_release_differs(tmp_path: Path) -> None:
    for name in ("a", "b"):
        sf.protect(ordinary(), PLAN).save(tmp_path / name, ledger_exception="to compare")
    assert (tmp_path / "a/data.csv").read_bytes() != (tmp_path / "b/data.csv").read_bytes()


def test_the_public_face_hides_what_arms_an_attacker(tmp_path: Path) -> None:
    table = ordinary()
    plan = sf.Plan.parse('[[steps]]\nuse = "hash"\n[[steps]]\nuse = "mdav"\n')
    release = sf.protect(table, plan, seed=SEED)
    public = release.save(tmp_path / "out")
    private = private_path(public)
    keys = json.loads((private / "keys.json").read_text())
    key = keys["1-hash"]["who"]["key"]
    everything = b"".join(contents(public).values())
    for secret in (str(SEED), key, hex(SEED)[2:], str(tmp_path), *table["who"].to_list()):
        assert secret.encode() not in everything
    assert json.loads((private / "seed.json").read_text())["seed"] == SEED
    assert stat.S_IMODE(private.stat().st_mode) == 0o700
    assert all(stat.S_IMODE(p.stat().st_mode) == 0o600 for p in private.iterdir())


def test_the_alignment_leads_back(tmp_path: Path) -> None:
    table = ordinary()
    release = sf.protect(table, PLAN, seed=SEED)
    release.save(tmp_path / "out")
    rows = pl.read_parquet(tmp_path / "out.private" / "alignment.parquet")["original_row"]
    published = pl.read_csv(tmp_path / "out" / "data.csv", infer_schema=False)
    original = table.frame["pay"].gather(rows).cast(pl.String)
    assert published["pay"].cast(pl.Float64).equals(original.cast(pl.Float64))
    assert not rows.equals(pl.Series("original_row", range(60), dtype=rows.dtype)), "not shuffled"


def test_a_given_key_stays_out_of_the_evidence() -> None:
    key = "ab" * 16
    release = sf.protect(ordinary(), sf.method("hash", key=key))
    assert key not in json.dumps(release.evidence.to_dict(), default=str)
    again = sf.protect(ordinary(), sf.method("hash", key=key))
    assert set(release.data["who"]) == set(again.data["who"])


def test_a_broken_promise_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    plan = PLAN.with_(steps=PLAN.steps[:1])
    with pytest.raises(sf.ReleaseRefused) as caught:
        sf.protect(ordinary(), plan).save(tmp_path / "out")
    assert "k-anonymity" in str(caught.value)
    assert "nothing was written" in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_the_recount_reads_the_bytes_not_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer that spoils one cell is caught by the recount, and nothing is published."""
    from sfumato.release.records import release as module

    write = module.write_file

    def spoil(table: sf.Table, path: Path, *arguments: object, **options: object) -> None:
        write(table, path, *arguments, **options)  # type: ignore[arg-type]
        lines = path.read_text().split("\n")
        cells = lines[1].split(",")
        lines[1] = ",".join(["elsewhere" if c in ("f", "m") else c for c in cells])
        path.write_text("\n".join(lines))

    release = sf.protect(ordinary(), PLAN)
    monkeypatch.setattr(module, "write_file", spoil)
    with pytest.raises(sf.ReleaseRefused):
        release.save(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "require",
    [
        {"k-anonymity": 4},
        {"k-anonymity": 12},
        {"k-anonymity": 3, "l-diversity": {"column": "illness", "at-least": 3}},
        {"t-closeness": {"column": "illness", "at-most": 0.2}},
        {"record-linkage": {"at-most": 0.05}},
        {"uniques": 0.0, "prosecutor-risk": 0.1},
        {"class-sizes": 7},
    ],
)
def test_every_remedy_keeps_its_word(require: dict[str, object]) -> None:
    """Rerun what a refusal suggests: estimate beside outcome."""
    table = ordinary(300)
    steps = [sf.method("drop"), sf.method("mondrian", k=2)]
    with pytest.raises(sf.ReleaseRefused) as caught:
        sf.protect(table, steps, seed=SEED, require=require)
    remedies = caught.value.remedies
    assert remedies
    for remedy in remedies:
        findings, _ = attempt(remedy.plan, table, SEED, None)
        for estimate, outcome in zip(remedy.findings, findings, strict=True):
            print(
                f"{remedy.change}: {estimate.subject} {estimate.value:.4g} -> {outcome.value:.4g}"
            )
            assert outcome.met
            assert outcome.value == pytest.approx(estimate.value)
        written = sf.Plan.parse(remedy.plan.to_toml())
        assert sf.protect(table, written, seed=SEED).evidence.met
        other = sf.protect(table, written, seed=SEED + 1)  # the search draws nothing: as good
        assert other.evidence.met


def test_remedies_of_a_random_method_hold_with_the_same_seed() -> None:
    table = ordinary(300)
    method = sf.method("rank-swap", p=1.0, columns=["age", "born"])
    with pytest.raises(sf.ReleaseRefused) as caught:
        sf.protect(table, method, seed=SEED, require={"record-linkage": {"at-most": 0.3}})
    for remedy in caught.value.remedies:
        findings, _ = attempt(remedy.plan, table, SEED, None)
        assert [f.value for f in findings] == [f.value for f in remedy.findings]
        assert all(f.met for f in findings)


def test_an_existing_output_is_refused_unless_replaced(tmp_path: Path) -> None:
    release = sf.protect(ordinary(), PLAN, seed=SEED)
    release.save(tmp_path / "out")
    before = contents(tmp_path / "out")
    with pytest.raises(OutputError, match="--replace"):
        release.save(tmp_path / "out")
    assert contents(tmp_path / "out") == before
    sf.protect(ordinary(), PLAN, seed=SEED + 1).save(tmp_path / "out", replace=True)
    assert contents(tmp_path / "out") != before
    left = sorted(p.name for p in tmp_path.iterdir() if not p.name.startswith("."))
    assert left == ["out", "out.private", "sfumato.ledger"]


def test_a_lone_private_folder_is_not_overwritten(tmp_path: Path) -> None:
    """The public half may have been moved to where it is published; its keys must not be lost."""
    (tmp_path / "out.private").mkdir()
    with pytest.raises(OutputError, match="private half"):
        sf.protect(ordinary(), PLAN).save(tmp_path / "out")


def test_identifiers_that_no_step_masked_are_dropped_and_named() -> None:
    release = sf.protect(ordinary(), sf.method("mondrian", k=4))
    assert "who" not in release.table.names
    assert any("who" in note for note in release.evidence.notes)


def test_the_same_kind_goes_out() -> None:
    import pandas as pd

    frame = ordinary().frame.drop("level", "born").to_pandas()
    table = sf.table(frame, quasi=["age", "zip"], others="insensitive")
    out = sf.protect(table, sf.method("mondrian", k=4)).data
    assert isinstance(out, pd.DataFrame)


def test_held_out_records_are_not_released() -> None:
    plan = sf.Plan.parse('[input]\nreference = 0.25\n[[steps]]\nuse = "mdav"\nk = 3\n')
    release = sf.protect(ordinary(), plan, seed=SEED)
    assert release.evidence.records == {"original": 45, "published": 45, "held out": 15}
    assert release.reference is not None
    kept = set(release.pair.original["who"])
    assert kept.isdisjoint(set(release.reference["who"]))


def test_wrong_words_are_named() -> None:
    with pytest.raises(ParameterError, match="seed"):
        sf.protect(ordinary(), PLAN, seed=-1)
    with pytest.raises(ParameterError, match="not a step"):
        sf.protect(ordinary(), 3)
    plan = sf.Plan.parse('[columns]\nagee = "quasi"\n[[steps]]\nuse = "drop"')
    with pytest.raises(SchemaError, match="did you mean"):
        sf.protect(ordinary(), plan)
    with pytest.raises(SchemaError, match="no such column"):
        sf.protect(ordinary(), sf.method("mdav", columns=["nothing"]))


def test_a_guessable_seed_is_noted() -> None:
    assert sf.protect(ordinary(), PLAN, seed=3).evidence.owner_notes
    assert not sf.protect(ordinary(), PLAN, seed=SEED).evidence.owner_notes


@settings(max_examples=25)
@given(st.integers(0, 2**32), st.integers(2, 9), st.sampled_from(["mondrian", "mdav"]))
def test_k_is_counted_on_any_table(seed: int, k: int, search: str) -> None:
    rng = np.random.default_rng(seed)
    table = ordinary(80, missing=bool(seed % 2)).take(rng.integers(0, 80, int(rng.integers(k, 80))))
    # Rows are drawn with replacement, so that records are counted, not the people who repeat.
    require = {"k-anonymity": {"k": k, "unit": "record"}}
    release = sf.protect(table, sf.method(search, k=k), require=require, measures=())
    quasi = release.table.schema.quasi
    assert release.table.frame.group_by(quasi).len()["len"].min() >= k
