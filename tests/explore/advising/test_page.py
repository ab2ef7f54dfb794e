"""The answer as files: a page that shows what others chose to be obeyed, plans and trials."""

from __future__ import annotations

import csv
import html
import re
import stat
from html.parser import HTMLParser
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.explore.advising import page as pages
from sfumato.explore.advising.sentences import percent
from sfumato.release.plan.plan import Plan
from sfumato.texts import one_line
from tests.contract.hostile import count, harmless, hostile
from tests.explore.advising.calm import calm, table
from tests.explore.advising.test_advise import by_classes


class Tags(HTMLParser):
    """Which elements a page has, and which of their attributes."""

    @classmethod
    def of(cls, text: str) -> set[str]:
        parser = cls()
        parser.seen: set[str] = set()
        parser.feed(text)
        return parser.seen

    def handle_starttag(self, tag: str, attributes: list) -> None:
        self.seen |= {tag, *(f"{tag} {name}" for name, _ in attributes)}


@pytest.fixture(scope="module")
def found() -> sf.Advice:
    with pytest.MonkeyPatch.context() as patch:
        calm(patch, by_classes)
        return sf.advise(
            table(), {"at-most": 0.3}, methods=["mondrian", "univariate-synthesis"], workers=1
        )


def drawn(monkeypatch) -> None:
    """A figure takes a browser's engine; what it shows is tested beside the maps."""
    monkeypatch.setattr(pages, "image_of", lambda *_: b"<svg>figure</svg>")


def cells(text: str) -> list[str]:
    return [
        html.unescape(re.sub("<[^>]*>", "", one)) for one in re.findall(r"<t[dh].*?</t[dh]>", text)
    ]


def test_the_page_holds_the_figures(found: sf.Advice, monkeypatch, tmp_path: Path) -> None:
    drawn(monkeypatch)
    text = found.save(tmp_path / "a" / "answer").read_text("utf-8")
    shown = cells(text)
    for one in found.plans:
        assert html.escape(one.label) in text
        for half, said in ((one.figures, "chosen"), (one.confirmed, "confirmed")):
            assert half is not None
            at = shown.index(f"{one.label}, {said}")
            row = shown[at + 1 : at + 5]
            figures = [percent(half.loss), percent(half.risk), percent(half.high)]
            assert row == [*figures, f"{half.attacked:,}"]
    for name, why in found.left:
        at = shown.index(name)
        assert shown[at + 1] == why
    for note in found.notes:
        assert html.escape(note[1:], quote=False) in text
    assert "must not be published" in text
    assert "<svg>figure</svg>" in text
    assert f"the seed {found.seed}" in text


def test_files_are_their_owners_alone(found: sf.Advice, monkeypatch, tmp_path: Path) -> None:
    drawn(monkeypatch)
    folder = tmp_path / "answer"
    found.save(folder)
    modes = {p.relative_to(tmp_path): stat.S_IMODE(p.stat().st_mode) for p in tmp_path.rglob("*")}
    assert len(modes) == 5 + len(found.plans) - 1 + len(found.tried)
    for path, mode in modes.items():
        assert mode == (0o700 if (tmp_path / path).is_dir() else 0o600), path


def test_every_trial_is_a_row_and_every_plan_a_file(
    found: sf.Advice, monkeypatch, tmp_path: Path
) -> None:
    drawn(monkeypatch)
    found.save(tmp_path)
    with (tmp_path / "trials.csv").open(encoding="utf-8") as file:
        rows = [*csv.DictReader(file)]
    assert [row["label"] for row in rows] == found.trials["label"].to_list()
    assert [int(row["seed"]) for row in rows] == [int(s) for s in found.trials["seed"]]
    assert [float(row["loss"]) for row in rows] == found.trials["loss"].to_list()
    tried = {Plan.read(path).to_toml() for path in (tmp_path / "tried").iterdir()}
    assert tried == {plan.to_toml() for plan in found.tried.values()}
    assert len(tried) == len({*found.trials["label"]})
    names = sorted(path.name for path in tmp_path.glob("*.toml"))
    assert [name[0] for name in names] == [str(i + 1) for i in range(len(found.plans))]
    for name, one in zip(names, found.plans, strict=True):
        assert Plan.read(tmp_path / name) == one.plan


def test_each_plan_has_a_sentence(found: sf.Advice) -> None:
    assert 1 <= len(found.plans) <= 5
    for one in found.plans:
        assert re.fullmatch(
            r"keeps all pairs of columns within [\d.]+ % on average; "
            r"attacks get [\d.]+ % beyond chance \(guess; at most [\d.]+ %[a-z0-9 %]*\); "
            r"(costs detail of|no column alone loses more than) .*",
            one.why,
        )
        assert one.confirmed is not None
        kept = max(one.figures.loss, one.confirmed.loss)
        assert f"within {percent(kept)} on average" in one.why
    words = found.to_dict()
    assert "not for publication" in words["private"]
    assert words["seed"] == 0
    assert [one["why"] for one in words["plans"]] == [one.why for one in found.plans]


def test_where_nothing_does_the_page_says_what_is_in_the_way(monkeypatch, tmp_path: Path) -> None:
    drawn(monkeypatch)
    calm(monkeypatch, lambda pair: 0.2)
    none = sf.advise(table(), {}, methods=["mondrian"], workers=1)
    text = none.save(tmp_path).read_text("utf-8")
    assert "No plan that was tried does what is required" in text
    assert html.escape(none.obstacles[0].said(), quote=False) in text
    assert none.obstacles[0].requirement == "withstand"
    assert not [*tmp_path.glob("*.toml")]


@pytest.mark.parametrize("which", range(0, count(), 2))
def test_names_and_values_are_shown_as_text(which: int, monkeypatch, tmp_path: Path) -> None:
    drawn(monkeypatch)
    given = hostile(which)
    word = given.names[5]
    calm(monkeypatch)
    found = sf.advise(given, {"uses": [word]}, methods=["rank-swap"], workers=1)
    text = found.save(tmp_path).read_text("utf-8")
    assert harmless(text)
    plain = sf.advise(table(), {"uses": ["age"]}, methods=["rank-swap"], workers=1)
    known = Tags.of(plain.save(tmp_path / "plain").read_text("utf-8"))
    assert Tags.of(text) <= known
    shown = html.unescape(re.sub("<[^>]*>", "", text))
    assert one_line(word)[:40] in shown
    for path in tmp_path.glob("*.toml"):
        assert Plan.read(path) == found.best
