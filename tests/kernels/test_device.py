"""Where kernels run: the CPU wherever anything is amiss with a card, said once, same result."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import sfumato as sf
from sfumato.kernels import device
from sfumato.kernels.device import on_card, sooner, working_on
from sfumato.kernels.gpu import _card
from sfumato.kernels.neighbours.nearest_k import nearest_k

SIZE = (100, 100, 3, 1)


class Fault(Exception):
    """What a card raises."""

    __module__ = "numba.cuda.cudadrv.driver"


@pytest.fixture
def card(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """A card that is there and is trusted."""
    monkeypatch.setattr(_card, "why_none", lambda: "")
    monkeypatch.setattr(_card, "name", lambda: "a card")
    monkeypatch.setattr(device, "_trusted", {"nearest": ""})
    device._measured.cache_clear()
    yield _card
    device._measured.cache_clear()


def test_a_card_that_is_there_does_the_work(card: ModuleType) -> None:
    with working_on("gpu") as said:
        assert on_card("nearest", SIZE, lambda: "found") == "found"
    assert said == []


@pytest.mark.parametrize("chosen", ["cpu", "auto"])
def test_nothing_else_asks_for_one(card: ModuleType, chosen: device.Device) -> None:
    with working_on(chosen) as said:
        assert on_card("nearest", SIZE, lambda: "found") is None
    assert said == []
    assert on_card("nearest", SIZE, lambda: "found") is None


def test_nothing_to_do_is_not_sent_there(card: ModuleType) -> None:
    with working_on("gpu"):
        assert on_card("nearest", (0, 5, 3, 1), lambda: "found") is None


def test_without_a_card_it_is_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_card, "why_none", lambda: "there is no GPU")
    with working_on("gpu") as said:
        for _ in range(3):
            assert on_card("nearest", SIZE, lambda: "found") is None
    assert said == ["the CPU does the work that was to be a GPU's: there is no GPU"]


def test_a_card_that_fails_is_asked_no_more(card: ModuleType) -> None:
    asked = []

    def run() -> str:
        asked.append(1)
        raise Fault("out of memory\nat some place")

    with working_on("gpu") as said:
        for _ in range(3):
            assert on_card("nearest", SIZE, run) is None
    assert len(asked) == 1
    assert len(said) == 1
    assert said[0].endswith("the CPU went on with the same result: Fault: out of memory")


@pytest.mark.parametrize("error", [MemoryError("no room"), OSError("a file"), Fault("")])
def test_memory_and_files_count_as_the_cards(card: ModuleType, error: Exception) -> None:
    def run() -> None:
        raise error

    with working_on("gpu") as said:
        assert on_card("nearest", SIZE, run) is None
    assert type(error).__name__ in said[0]


def test_other_errors_are_not_the_cards(card: ModuleType) -> None:
    with working_on("gpu"), pytest.raises(ZeroDivisionError):
        on_card("nearest", SIZE, lambda: 1 // 0)


@pytest.mark.parametrize("wrong", ["its answer to a small problem is not the CPU's", Fault("gone")])
def test_a_card_that_answers_wrongly_is_not_used(
    card: ModuleType, monkeypatch: pytest.MonkeyPatch, wrong: str | Exception
) -> None:
    self_test = pytest.importorskip("sfumato.kernels.gpu.self_test")

    def fault(work: str) -> str:
        if isinstance(wrong, Exception):
            raise wrong
        return wrong

    monkeypatch.setattr(self_test, "fault", fault)
    monkeypatch.setattr(device, "_trusted", {})
    with working_on("gpu") as said:
        assert on_card("nearest", SIZE, lambda: "found") is None
        assert on_card("nearest", SIZE, lambda: "found") is None
    assert len(said) == 1
    assert ("small problem" if isinstance(wrong, str) else "self-test") in said[0]


def test_auto_goes_by_what_was_measured_on_this_card(
    card: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "measured.json"
    lines = {"cpu": [-20.0, 1.0, 1.0, 1.0, 0.0], "gpu": [-5.0, 0.5, 0.5, 0.0, 0.0]}
    file.write_text(json.dumps({"card": "a card", "works": {"nearest": lines}}))
    monkeypatch.setattr(device, "MEASURED", file)
    assert not sooner("nearest", (100, 100, 10, 1))
    assert sooner("nearest", (10**6, 10**6, 10, 1))
    assert not sooner("nearest-k", (10**6, 10**6, 10, 1))
    with working_on("auto"):
        assert on_card("nearest", (10**6, 10**6, 10, 1), lambda: "found") == "found"
        assert on_card("nearest", (100, 100, 10, 1), lambda: "found") is None
    monkeypatch.setattr(_card, "name", lambda: "another")
    assert not sooner("nearest", (10**6, 10**6, 10, 1))


def test_what_nobody_has_measured_is_the_cpus(card: ModuleType) -> None:
    assert not device.MEASURED.exists()
    assert not sooner("nearest", (10**6, 10**6, 100, 1))


def test_a_release_says_once_that_there_was_no_card(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_card, "why_none", lambda: "there is no GPU")
    x = np.random.default_rng(1).normal(size=(40, 3))
    table = sf.table(dict(zip("abc", x.T.tolist(), strict=True)), quasi=["a", "b", "c"])
    told = [
        sf.protect(
            table,
            sf.method("mdav", k=5),
            2**90,
            measures=[sf.method("record-linkage")],
            require={"exposure": False},
            device=where,
        )
        for where in ("gpu", "cpu")
    ]
    notes = [release.evidence.owner_notes for release in told]
    assert sum("there is no GPU" in note for note in notes[0]) == 1
    assert not any("GPU" in note for note in notes[1])
    assert told[0].data.equals(told[1].data)
    assert told[0].evidence["record-linkage"] == told[1].evidence["record-linkage"]


def test_choices_end_with_their_block() -> None:
    x = np.arange(4.0)[:, None]
    with working_on("gpu"), working_on("cpu") as said:
        nearest_k(x, x, 1)
    assert said == []
