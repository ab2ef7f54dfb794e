"""What is public of the steps of a release."""

from __future__ import annotations

from sfumato.release.records.public_steps import public_notes


def test_a_count_that_equals_a_parameter_is_no_parameter() -> None:
    steps = [{"use": "swap", "parameters": {"k": 3, "rate": 0.05, "columns": ["age in 2020"]}}]
    for many in ("2", "3", "4", "0.05", "3,000"):
        (said,) = public_notes([f"step 1 (swap): {many} households were left alone"], steps)
        assert said == "step 1 (swap): some households were left alone"
    for told in ("k = 3", "rate = 0.05", "age in 2020"):
        note = f"step 1 (swap): they are fewer than {told}: lower it"
        assert public_notes([note], steps) == (note,)
    assert public_notes(["step 1 (swap): k = 4, k = 3.5 or age in 2021"], steps) == (
        "step 1 (swap): k = some, k = some or age in some",
    )
    assert public_notes(["3 releases of the same records"], steps) == (
        "3 releases of the same records",
    )


def test_large_numbers_stay_by_their_name_as_a_sentence_writes_them() -> None:
    steps = [{"use": "draw", "parameters": {"search": {"steps": 20_000}, "records": 20_000}}]
    note = "step 2 (draw): steps = 20,000 and steps = 20000 of 20,000 records"
    assert public_notes([note], steps) == (
        "step 2 (draw): steps = 20,000 and steps = 20000 of some records",
    )
