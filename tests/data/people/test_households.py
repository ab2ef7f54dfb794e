"""Who lives together."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.data.people.households import households
from sfumato.data.table import table
from sfumato.errors import MeasureError


def test_a_record_without_a_household_is_one_of_its_own() -> None:
    t = table({"h": ["b", "a", None, "b", "a", "a"]}, household="h")
    t = t.with_columns([], suppressed={"h": np.array([0, 0, 0, 0, 0, 1], dtype=bool)})
    found = households(t, "it").tolist()
    assert found[0] == found[3]
    assert found[1] == found[4]
    assert len(set(found)) == max(found) + 1 == 4
    assert households(t.take(np.array([], dtype=int)), "it").tolist() == []


def test_one_column_says_who_lives_together() -> None:
    with pytest.raises(MeasureError, match=r"it looks at one column with the role household.*none"):
        households(table({"h": [1]}), "it")
    with pytest.raises(MeasureError, match=r"2 \(g, h\)"):
        households(table({"g": [1], "h": [1]}, household=["g", "h"]), "it")
