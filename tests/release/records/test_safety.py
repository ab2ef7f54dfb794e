"""What a release must never do, whatever the plan says: each case was a fault once."""

from __future__ import annotations

import json
import os
from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from sfumato.cli.app import run
from sfumato.errors import MeasureError, MethodError, OutputError, ParameterError, PlanError
from sfumato.release.ledger.book import Ledger
from sfumato.release.plan.step import build
from tests.contract.tables import ordinary

SEED = 2**70 + 1
MONDRIAN = [sf.method("drop"), sf.method("mondrian", k=4)]


def saved(table: sf.Table, steps: object, folder: Path, **options: object) -> Path:
    return sf.protect(table, steps, seed=SEED, **options).save(folder / "out")  # type: ignore[arg-type]


@pytest.mark.parametrize("target", ["file", "folder", "link", "mixed"])
def test_replace_replaces_nothing_but_a_release(target: str, tmp_path: Path) -> None:
    out, mine = tmp_path / "out", tmp_path / "mine.csv"
    mine.write_text("precious")
    if target == "file":
        out.write_text("precious")
    elif target == "folder":
        out.mkdir()
        (out / "thesis.txt").write_text("precious")
    elif target == "link":
        out.symlink_to(mine)
    else:
        sf.protect(ordinary(), MONDRIAN).save(out)
        (out / "thesis.txt").write_text("precious")
    release = sf.protect(ordinary(), MONDRIAN)
    with pytest.raises(OutputError, match="not a release"):
        release.save(out, replace=True)
    kept = {p.read_text() for p in tmp_path.rglob("*") if p.is_file() and p.suffix in (".txt", "")}
    assert "precious" in kept or mine.read_text() == "precious"


def test_the_demo_removes_only_a_demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "register.csv").write_text("precious")
    with pytest.raises(SystemExit) as ended:
        run(["demo", "--output", "."])
    assert ended.value.code == 4
    assert (tmp_path / "register.csv").read_text() == "precious"


def test_the_public_evidence_does_not_give_back_what_was_top_coded(tmp_path: Path) -> None:
    values = [*range(20, 70), 987_654]
    table = sf.table({"x": values}, quasi=["x"])
    out = saved(table, sf.method("top-bottom-coding", top=90), tmp_path)
    text = (out / "evidence.json").read_text() + (out / "report.html").read_text()
    mean, published = sum(values) / 51, (sum(values) - 987_654 + 90) / 51
    for level in (mean, published):
        assert f"{level:.3f}"[:-1] not in text
    by_column = json.loads(text.partition("<!DOCTYPE")[0])["measures"]["mean-difference"]["detail"]
    assert set(by_column["by_column"]["x"]) <= {"difference", "missing", "masked_missing"}


@pytest.mark.parametrize(
    "method",
    [
        sf.method("top-bottom-coding", columns=["ssn"], top_count=1),
        sf.method("local-suppression", columns=["ssn"], k=2),
    ],
)
def test_identifiers_leave_only_by_methods_made_for_them(method: object) -> None:
    table = sf.table(
        {"ssn": [i // 2 for i in range(12)], "age": [1] * 12}, identifier=["ssn"], quasi=["age"]
    )
    assert sf.protect(table, method).table.names == ["age"]
    hashed = sf.protect(table, sf.method("hash"))
    assert hashed.table.names == ["ssn", "age"]


def test_sets_and_zeros_are_published_in_one_form(tmp_path: Path) -> None:
    table = sf.table(
        {
            "s": [["a", "b"], ["b", "a"], ["a", "b", "a"], ["a", "a", "b"]],
            "z": [0.0, -0.0, 0.0, -0.0],
        },
        quasi=["s", "z"],
        confidential=[],
    )
    out = saved(table, [], tmp_path, require={"k-anonymity": 4})
    lines = (out / "data.csv").read_text().split("\n")[1:5]
    assert len(set(lines)) == 1


def test_a_guessable_seed_is_told_but_not_which_it_is(tmp_path: Path) -> None:
    release = sf.protect(ordinary(), MONDRIAN, seed=987654321)
    out = release.save(tmp_path / "out", allow_guessable_seed=True)
    assert any("guess" in note for note in release.evidence.owner_notes)
    for name in ("evidence.json", "report.html"):
        text = (out / name).read_text()
        assert "small seeds" in text
        assert "987654321" not in text
    assert "small seeds" in (tmp_path / "out.private" / "report.html").read_text()


@pytest.mark.parametrize("words", ["true", "[]", "1.5", "0", '"five"'])
def test_promises_that_promise_nothing_are_refused(words: str) -> None:
    with pytest.raises(PlanError):
        sf.Plan.parse(f"[require]\nk-anonymity = {words}\n")


@pytest.mark.parametrize("limit", ["inf", "nan", "true", "[]"])
def test_limits_are_finite_numbers(limit: str) -> None:
    with pytest.raises(PlanError):
        sf.Plan.parse(f"[require]\nrecord-linkage = {limit}\n")


def test_nothing_masked_and_nothing_required_is_refused() -> None:
    with pytest.raises(ParameterError, match="neither masks nor requires"):
        sf.protect(ordinary(), [])


def test_without_quasi_identifiers_k_is_not_promised() -> None:
    with pytest.raises(MeasureError, match="quasi"):
        sf.protect(
            sf.table({"x": [1, 1]}, others="insensitive"),
            sf.method("drop", columns=["x"]),
            require={"k-anonymity": 2},
        )


@pytest.mark.parametrize("method", ["correlated-noise", "rank-swap"])
def test_k_is_never_promised_after_perturbation(method: str) -> None:
    perturb = sf.method(method, columns=["age"])
    with pytest.raises(ParameterError, match="cannot be promised"):
        sf.protect(ordinary(), [sf.method("mondrian", k=3), perturb], require={"k-anonymity": 3})
    grouped_last = sf.protect(
        ordinary(), [perturb, sf.method("mondrian", k=3)], require={"k-anonymity": 3}
    )
    assert grouped_last.evidence.met
    elsewhere = sf.method(method, columns=["pay"])
    kept = [sf.method("mondrian", k=3), elsewhere]
    assert sf.protect(ordinary(), kept, require={"k-anonymity": 3}).evidence.met


def test_a_missing_value_is_no_diversity() -> None:
    table = sf.table(
        {"q": ["a"] * 4, "d": ["hiv", "hiv", "hiv", None]}, quasi=["q"], confidential="d"
    )
    with pytest.raises(sf.ReleaseRefused):
        sf.protect(table, [], require={"l-diversity": 2})


@pytest.mark.parametrize("file", ["parquet", "arrow", "duckdb"])
def test_typed_files_forget_categories_that_were_masked_away(file: str, tmp_path: Path) -> None:
    values = ["tiny", "small", "large", "UNSEEN", "huge"]
    table = sf.table(
        {"x": ["small", "tiny", "large", "huge", "large"] * 6},
        kinds={"x": "ordinal"},
        categories={"x": values},
        quasi=["x"],
    )
    plan = sf.Plan.parse(
        f'[[steps]]\nuse = "top-bottom-coding"\ntop = "large"\n[output]\nformat = "{file}"\n'
    )
    out = sf.protect(table, plan, seed=SEED).save(tmp_path / "out")
    data = next(out.glob("data.*")).read_bytes()
    assert b"UNSEEN" not in data
    assert b"huge" not in data


def test_secrets_do_not_reach_the_terminal() -> None:
    key = "0123456789abcdef" * 2
    method = sf.method("hash", key=key)
    assert key not in repr(method)
    plan = sf.Plan(
        steps=(sf.Step(method),),
        input=build_input("postgresql://u:s3cr3t@host/db"),
        requirements=(),
    )
    with pytest.raises(sf.ReleaseRefused) as caught:
        sf.protect(ordinary(), plan, require={"k-anonymity": 5})
    said = json.dumps(caught.value.to_dict(), default=str) + str(caught.value)
    assert key not in said
    assert "s3cr3t" not in said
    with pytest.raises(ParameterError) as wrong:
        sf.method("hash", key="zz1122334455667788")
    assert "zz11" not in str(wrong.value)


def build_input(path: str) -> object:
    from sfumato.release.plan.plan import Input

    return Input(path=path)


def test_suppressed_and_missing_stay_apart_through_later_steps(tmp_path: Path) -> None:
    table = sf.table(
        {"a": ["p", "p", "p", "q", None, None, "r"], "b": [1, 1, 1, 1, 1, 1, 1]}, quasi=["a", "b"]
    )
    for later in ("mondrian", "mdav", "local-suppression"):
        steps = [sf.method("local-suppression", k=2), sf.method(later, k=3)]
        out = sf.protect(table, steps, seed=SEED, require={"k-anonymity": 3}).save(tmp_path / later)
        cells = (out / "data.csv").read_text().split("\n")[1:8]
        assert min(cells.count(cell) for cell in cells) >= 3


def test_a_plans_columns_do_not_undo_what_a_table_knows() -> None:
    masked = sf.protect(ordinary(), sf.method("local-suppression", k=3)).table
    assert any(masked.suppressed(name).any() for name in masked.names)
    plan = sf.Plan.parse('[columns]\npay = "confidential"\n[[steps]]\nuse = "mondrian"\nk = 3\n')
    again = sf.protect(masked, plan, require={"k-anonymity": 3})
    assert again.evidence.met


def test_infinite_values_are_named() -> None:
    table = sf.table({"x": [1.0, float("inf"), 2.0, 3.0]}, quasi=["x"])
    with pytest.raises(MethodError, match="infinite in row 2"):
        sf.protect(table, sf.method("mdav", k=2))


def test_a_remedy_keeps_searches_that_guard_other_columns() -> None:
    table = ordinary(100)
    steps = [sf.method("mdav", k=3, columns=["pay"])]
    with pytest.raises(sf.ReleaseRefused) as caught:
        sf.protect(table, steps, seed=SEED, require={"k-anonymity": 4})
    for remedy in caught.value.remedies:
        assert any(step.use.columns == ("pay",) for step in remedy.plan.steps), remedy.change
        assert "k-anonymity = 1" not in remedy.change


def test_assess_finds_the_alignment_of_a_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    sf.write(ordinary(200).without(["level", "born", "who"]), "o.csv")
    table = sf.read("o.csv", quasi=["age", "zip", "sex"], others="insensitive")
    release = sf.protect(table, sf.method("mdav", k=3), seed=SEED)
    release.save("out")

    def linkage(*more: str) -> float:
        with pytest.raises(SystemExit):
            run(["assess", "o.csv", "out/data.csv", "--quasi", "age,zip,sex", "--json", *more])
        return float(json.loads(capsys.readouterr().out)["measures"]["record-linkage"]["value"])

    # Of the file, whose numbers are rounded as the original's are.
    owners = json.loads(Path("out.private/figures.json").read_text())["measures"]
    assert linkage() == pytest.approx(owners["record-linkage"]["value"], abs=1e-9)
    assert linkage("--align", "position") < linkage()
    os.rename("out.private", "elsewhere")
    with pytest.raises(SystemExit):
        run(["assess", "o.csv", "out/data.csv", "--quasi", "age,zip,sex"])
    assert "shuffled" in capsys.readouterr().err


def test_top_coding_survives_any_threshold() -> None:
    narrow = sf.table({"x": pl.Series([1, 5, 20], dtype=pl.Int8)}, quasi=["x"])
    assert (
        sf.protect(narrow, sf.method("top-bottom-coding", bottom=1000)).data["x"].to_list()
        == [1000] * 3
    )
    assert max(sf.protect(narrow, sf.method("top-bottom-coding", top=10.5)).data["x"]) == 10.5
    with pytest.raises(ParameterError, match="above top"):
        sf.method("top-bottom-coding", top=10, bottom=50)
    levels = sf.table(
        {"x": ["1", "2", "3"]},
        kinds={"x": "ordinal"},
        categories={"x": ["1", "2", "3"]},
        quasi=["x"],
    )
    out = sf.protect(levels, sf.method("top-bottom-coding", top="2")).data["x"].to_list()
    assert sorted(out) == ["1", "2", "2"]


def test_a_column_without_values_can_have_a_tree() -> None:
    prefix = build("poset", "prefix", {"lengths": [5, 3]})
    table = sf.table(
        {"z": pl.Series([None] * 8, dtype=pl.String), "a": range(8)},
        quasi=["z", "a"],
        posets={"z": prefix},
    )
    assert sf.protect(table, sf.method("mondrian", k=3), require={"k-anonymity": 3}).evidence.met


def test_a_limit_on_a_measure_is_published_as_coarsely_as_the_measure(tmp_path: Path) -> None:
    table = sf.table(
        {"pay": [1.0, 2.0, 3.0, 4.0, 123.456], "q": [1] * 5}, quasi=["q"], confidential="pay"
    )
    plan = sf.Plan.parse(
        '[[steps]]\nuse = "top-bottom-coding"\ncolumns = ["pay"]\ntop = 5\n'
        '[require]\nmean-difference = { at-most = 10, columns = ["pay"] }\n[measures]\nncp = true\n'
    )
    release = sf.protect(table, plan, seed=SEED)
    exact = release.evidence.findings[0].value
    out = release.save(tmp_path / "out")
    text = (out / "evidence.json").read_text()
    # Of five records nothing is told but that the limit is kept.
    assert exact > 0.3
    assert json.loads(text)["requirements"][0]["value"] == 10.0
    for page in (text, (out / "report.html").read_text()):
        assert f"{exact:.4f}"[:-1] not in page


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
@pytest.mark.parametrize("nth", [1, 2, 3, 4])
def test_a_replacement_that_fails_leaves_the_old_release(
    nth: int, error: type[BaseException], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = sf.protect(ordinary(), MONDRIAN, seed=SEED).save(tmp_path / "out")
    before = {p.name: p.read_bytes() for p in old.iterdir()}
    rename, calls = os.rename, [0]

    def fail(source: object, target: object) -> None:
        calls[0] += 1
        if calls[0] == nth:
            raise error("now")
        rename(source, target)  # type: ignore[arg-type]

    new = sf.protect(ordinary(), MONDRIAN, seed=SEED + 1)
    monkeypatch.setattr(os, "rename", fail)
    with pytest.raises((KeyboardInterrupt, OutputError)):
        new.save(tmp_path / "out", replace=True)
    monkeypatch.undo()
    assert {p.name: p.read_bytes() for p in old.iterdir()} == before
    seed = json.loads((tmp_path / "out.private" / "seed.json").read_text())["seed"]
    assert seed == SEED
    left = sorted(p.name for p in tmp_path.iterdir())
    assert left == [".sfumato.ledger.lock", "out", "out.private", "sfumato.ledger"]
    assert [one.state for one in Ledger.at(tmp_path).entries()] == ["published"]


def test_another_outputs_staging_is_left_alone(tmp_path: Path) -> None:
    other = tmp_path / ".out.v2.abcdefgh.staging"
    (other / "old-public").mkdir(parents=True)
    (other / "lock").touch()
    sf.protect(ordinary(), MONDRIAN).save(tmp_path / "out")
    assert (other / "old-public").is_dir()


@pytest.mark.parametrize("name", ["data.dictionary.docx", "report.html.old", "plan.toml"])
def test_a_file_of_yours_in_a_release_keeps_it_from_being_replaced(
    name: str, tmp_path: Path
) -> None:
    out = sf.protect(ordinary(), MONDRIAN).save(tmp_path / "out")
    (out / name).write_text("precious")
    with pytest.raises(OutputError, match="not a release"):
        sf.protect(ordinary(), MONDRIAN).save(out, replace=True)
    assert (out / name).read_text() == "precious"


def test_grouping_other_columns_does_not_make_noise_countable() -> None:
    steps = [sf.method("rank-swap", columns=["age"], p=50), sf.method("mdav", columns=["pay"])]
    for require in ({"k-anonymity": 3}, {"class-sizes": 3}, {"prosecutor-risk": 0.5}):
        with pytest.raises(ParameterError, match="cannot be promised"):
            sf.protect(ordinary(), steps, require=require)


def test_fixed_size_lists_and_signed_zeros_in_sets_are_published_in_one_form(
    tmp_path: Path,
) -> None:
    arrays = pl.Series([[1, 2], [2, 1]], dtype=pl.Array(pl.Int64, 2))
    table = sf.table({"s": arrays, "z": [[0.0, 1.0], [1.0, -0.0]]}, quasi=["s", "z"])
    out = saved(table, [], tmp_path, require={"k-anonymity": 2})
    lines = (out / "data.csv").read_text().split("\n")[1:3]
    assert lines[0] == lines[1]


def test_a_key_is_not_printed() -> None:
    key = "0123456789abcdef" * 2
    assert key not in str(sf.method("hash", key=key))
    assert key not in str(sf.Step(sf.method("hash", key=key)))


def test_an_empty_text_is_no_diversity() -> None:
    table = sf.table({"q": ["a"] * 4, "d": ["flu", "flu", "", ""]}, quasi=["q"], confidential="d")
    with pytest.raises(sf.ReleaseRefused):
        sf.protect(table, [], require={"l-diversity": 2})


def test_a_lone_column_with_gaps_is_not_written_as_csv(tmp_path: Path) -> None:
    table = sf.table({"a": ["x", None, "x", None]}, quasi=["a"])
    with pytest.raises(OutputError, match="empty lines"):
        saved(table, [], tmp_path, require={"k-anonymity": 2})
    assert list(tmp_path.iterdir()) == []
