"""Nobody asks which poset a column has, and one that tells nothing of itself works everywhere."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.data.codec import code
from sfumato.data.table import Table, table
from sfumato.protocols import Poset, PosetSource

SOURCE = Path(sf.__file__).parent
CONCRETE = r"Tree|\w*Poset|Interval|IntervalSource|Items|ValueSet|PowerSet|PartialOrder|Balanced"
SNIFFED = (
    "ancestor_ptr|ancestor_idx|join_table|level_ids|leaf_nodes|label_of_node|element_bits|unchanged|"
    "full_width|takes_lists|utilities_of|named|round_to|ordered"
)


def test_nobody_outside_asks_which_poset_it_is() -> None:
    asks = re.compile(
        rf"isinstance\([^()]*\b(?!Poset\b)({CONCRETE})\b|(has|get)attr\([^()]*\"({SNIFFED})\""
        rf"|type\([a-z_.]*poset\)"
    )
    files = [f for f in SOURCE.rglob("*.py") if "poset" not in f.relative_to(SOURCE).parts]
    assert len(files) > 100
    found = [f"{f}: {m[0]}" for f in files for m in asks.finditer(f.read_text("utf-8"))]
    assert found == []


class Parity(Poset):
    """Whole numbers, then "even" or "odd", then "*": a stranger that declares nothing."""

    def __init__(self, values: Sequence[int]) -> None:
        self.values = sorted(values)

    def _set(self, value: Any) -> set[int]:
        if str(value) == "*":
            return set(self.values)
        if str(value) in ("even", "odd"):
            return {v for v in self.values if v % 2 == (str(value) == "odd")}
        if int(value) not in self.values:
            raise ValueError(f"{value} is no value -> mend it")
        return {int(value)}

    def leq(self, lower: Any, upper: Any) -> bool:
        return self._set(lower) <= self._set(upper)

    def lub(self, values: Iterable[Any]) -> str:
        wanted = set().union(*(self._set(value) for value in values))
        if len(wanted) == 1:
            return str(wanted.pop())
        return next(word for word in ("even", "odd", "*") if wanted <= self._set(word))

    def height(self, value: Any) -> int:
        return {"even": 1, "odd": 1, "*": 2}.get(str(value), 0)

    def measure(self, value: Any) -> float:
        return 1.0 if str(value) == "*" else (len(self._set(value)) - 1) / (len(self.values) - 1)

    def codes(self, values: Sequence[Any]) -> np.ndarray:
        return np.array([self.values.index(int(value)) + 1 for value in values], dtype=np.int64)

    @property
    def positions(self) -> np.ndarray:
        return np.arange(len(self.values) + 1, dtype=np.float64)

    def labels(self, low: np.ndarray, high: np.ndarray) -> list[str]:
        return [self.lub(self.values[a - 1 : b]) for a, b in zip(low, high, strict=True)]


class ParitySource(PosetSource):
    """How a plan would declare it."""

    name: ClassVar[str] = "parity"

    def bind(self, domain: Sequence[Any], counts: np.ndarray | None = None) -> Parity:
        return Parity(domain)


@pytest.fixture
def people() -> Table:
    rng = np.random.default_rng(5)
    frame = pl.DataFrame({"n": rng.integers(0, 20, 60), "sex": rng.choice(["f", "m"], 60)})
    return table(frame, posets={"n": ParitySource()}, quasi=["n", "sex"])


@pytest.mark.parametrize("search", ["mondrian", "local-recoding", "full-domain"])
def test_a_poset_that_declares_nothing_goes_through(
    search: str, people: Table, tmp_path: Path
) -> None:
    release = sf.protect(
        people, sf.method(search, k=4), seed=1, require={"k-anonymity": 4}, measures=()
    )
    # Saving counts the requirement again, on the file.
    release.save(tmp_path / "out", allow_guessable_seed=True)
    poset = code(people, "n").poset
    shown = release.table["n"].cast(pl.String).to_list()
    assert all(poset.measure(label) >= 0 for label in shown)
    assert any(label in ("even", "odd", "*") for label in shown)
    ncp = sf.measure("ncp", people, release.table)
    assert 0 < ncp.value <= 1


def test_what_is_published_for_a_group_is_its_own_bound(people: Table) -> None:
    """Nothing is assumed of the order of codes: 0 and 2 are even, though 1 lies between."""
    poset = Parity([0, 1, 2, 3])
    assert poset.set_labels(np.array([0, 2, 4]), np.array([1, 3, 1, 2])) == ["even", "*"]
    assert not poset.spans
    assert poset.structure.reads == "hierarchy"
