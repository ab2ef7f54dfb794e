"""Points whose squared distances are the costs of telling records apart."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.data.codec import Matrix
from sfumato.data.points.space import MOST_COORDINATES, Space, space_of
from sfumato.data.schema import Schema
from sfumato.data.table import Table, table
from sfumato.errors import MethodError
from sfumato.poset.trees.sources import Hierarchy

TREE = [
    ["nurse", "medical", "health", "*"],
    ["surgeon", "medical", "health", "*"],
    ["carer", "social", "health", "*"],
    ["baker", "food", "trade", "*"],
    ["cook", "food", "trade", "*"],
]


def people(ages: list[float], sexes: list[str], jobs: list[str]) -> Table:
    made = table({"age": ages, "sex": sexes, "job": jobs}, quasi=["age", "sex", "job"])
    column = made.schema["job"].with_(poset=Hierarchy(levels=TREE))
    return made.with_schema(Schema([column if c.name == "job" else c for c in made.schema]))


def space(of: Table, **options: object) -> Space:
    return space_of(Matrix(of, of.names), **options)  # type: ignore[arg-type]


def squared(points: np.ndarray) -> np.ndarray:
    return ((points[:, None, :] - points[None, :, :]) ** 2).sum(axis=2)


@given(
    rows=st.lists(
        st.tuples(st.integers(0, 9), st.sampled_from("fmx"), st.sampled_from([r[0] for r in TREE])),
        min_size=2,
        max_size=12,
    ),
    weights=st.tuples(st.floats(0, 5), st.floats(0, 5), st.floats(0, 5)),
    scale=st.sampled_from(["deviation", "range"]),
)
def test_squared_distances_are_the_costs(
    rows: list[tuple[int, str, str]], weights: tuple[float, float, float], scale: str
) -> None:
    ages, sexes, jobs = ([row[i] for row in rows] for i in range(3))
    made = people([float(a) for a in ages], sexes, jobs)
    found = space(made, weights=dict(zip(("age", "sex", "job"), weights, strict=True)), scale=scale)
    x = np.array(ages, dtype=float)
    width = x.std() if scale == "deviation" else np.ptp(x)
    tree = Hierarchy(levels=TREE).bind(sorted(row[0] for row in TREE))
    expected = np.zeros((len(rows), len(rows)))
    for i in range(len(rows)):
        for j in range(len(rows)):
            expected[i, j] = weights[0] * ((x[i] - x[j]) / width) ** 2 if width > 0 else 0.0
            expected[i, j] += weights[1] * (sexes[i] != sexes[j])
            # The cost of publishing both as one: what the label leaves open.
            expected[i, j] += weights[2] * tree.measure(tree.lub([jobs[i], jobs[j]]))
    np.testing.assert_allclose(squared(found.points), expected, atol=1e-9)
    assert found.owner.size == found.points.shape[1]
    assert set(found.owner.tolist()) <= {0, 1, 2}


def test_the_weight_of_categories_is_one_factor() -> None:
    made = people([1.0, 1.0], ["f", "m"], ["nurse", "nurse"])
    assert squared(space(made, category_weight=3.0).points)[0, 1] == pytest.approx(3.0)


def test_a_part_has_the_same_distances() -> None:
    made = people([1.0, 2.0, 4.0], ["f", "m", "m"], ["nurse", "cook", "baker"])
    whole = space(made, side=np.array([7, 8, 9]))
    rows = np.array([0, 2])
    part = whole.take(rows)
    np.testing.assert_allclose(
        squared(part.points), squared(whole.points)[np.ix_(rows, rows)], atol=1e-12
    )
    assert part.side is not None
    assert part.side.tolist() == [7, 9]


def test_too_many_categories_are_refused_with_a_remedy() -> None:
    count = MOST_COORDINATES + 1
    made = table({"name": [f"p{i}" for i in range(count)]}, quasi=["name"])
    with pytest.raises(MethodError, match=r"'name' has 2,001 categories.*mdav"):
        _ = space(made).points


def test_a_missing_number_lies_in_the_middle() -> None:
    made = table({"x": [0.0, 10.0, None]}, quasi=["x"])
    assert space(made, scale="range").points.ravel().tolist() == [0.0, 1.0, 0.5]
    assert space(made).points.ravel()[2] == 0.0
