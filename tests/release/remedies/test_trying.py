"""How often, for how long, and on what changed plans are run."""

from __future__ import annotations

import pytest

import sfumato as sf
from sfumato.release.remedies import trying
from tests.contract.tables import ordinary

SEED = 2**70 + 5
REQUIRE = {"l-diversity": {"column": "illness", "at-least": 3}}


def refusal() -> tuple[sf.ReleaseRefused, list[str]]:
    told: list[str] = []
    with pytest.raises(sf.ReleaseRefused) as caught:
        sf.protect(
            ordinary(300),
            [sf.method("drop"), sf.method("mondrian", k=2)],
            seed=SEED,
            require=REQUIRE,
            progress=lambda what, done, of: told.append(what),
        )
    return caught.value, told


def heights(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of the tables that plans are run on."""
    seen: list[int] = []
    run = trying.Trial._run

    def watched(self: trying.Trial, plan: sf.Plan, table: sf.Table) -> trying.Tried | None:
        seen.append(table.height)
        return run(self, plan, table)

    monkeypatch.setattr(trying.Trial, "_run", watched)
    return seen


def test_the_search_tells_how_far_it_is_and_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = heights(monkeypatch)
    found, told = refusal()
    assert told.count("looking for remedies") == len(seen) <= trying.RUNS
    assert set(seen) == {300}
    assert not found.remedies[0].weaker
    monkeypatch.setattr(trying, "RUNS", 0)
    assert all(remedy.weaker for remedy in refusal()[0].remedies)


def test_large_tables_are_tried_on_a_sample_and_then_on_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen = heights(monkeypatch)
    monkeypatch.setattr(trying, "LARGE", 200)
    monkeypatch.setattr(trying, "SAMPLE", 150)
    found, _ = refusal()
    assert set(seen) == {150, 300}
    strong = [remedy for remedy in found.remedies if not remedy.weaker]
    assert 0 < len(strong) <= seen.count(300)
    release = sf.protect(ordinary(300), strong[0].plan, seed=SEED)
    assert release.evidence.findings[0].value == strong[0].findings[0].value


def test_what_was_not_run_on_all_records_is_not_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = heights(monkeypatch)
    monkeypatch.setattr(trying, "LARGE", 200)
    monkeypatch.setattr(trying, "SAMPLE", 150)
    monkeypatch.setattr(trying, "ROWS", 300)
    found, _ = refusal()
    assert seen.count(300) == 1
    assert [remedy.weaker for remedy in found.remedies].count(False) <= 1
    assert f"than the {seen.count(150)} that were tried" in str(found)
    assert found.to_dict()["untried"] == found.untried
