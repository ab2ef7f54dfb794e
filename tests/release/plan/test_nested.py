"""Parameters that are searches, verbs or measures themselves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, ClassVar

import pytest
from pydantic import Field

import sfumato as sf
from sfumato import registry
from sfumato.errors import PlanError
from sfumato.release.plan.plan import Plan


class _Keyed(sf.Verb):
    """Keyed, for tests of nested secrets."""

    name: ClassVar[str] = "keyed"
    key: Annotated[str, Field(min_length=8, json_schema_extra={"secret": True})] = ""

    def apply(self, table, partition, columns, rng):  # type: ignore[no-untyped-def]
        return sf.Outcome(table, partition=partition)


@pytest.fixture
def keyed() -> Iterator[None]:
    before = dict(registry._extra)
    registry.register(_Keyed)
    yield
    registry._extra.clear()
    registry._extra.update(before)


@pytest.mark.usefixtures("keyed")
def test_a_nested_secret_stays_in_the_private_plan(tmp_path: Path) -> None:
    secret = "SECRETSECRET"
    table = sf.table({"x": [1.0, 2.0, 3.0, 4.0]}, quasi="x")
    for step in (
        sf.method(
            "microaggregation",
            replace={"use": "keyed", "key": secret},
            by={"use": "mdav", "k": 2},
        ),
        sf.step(sf.method("mdav", k=2), then=_Keyed(key=secret)),
    ):
        target = tmp_path / f"release-{type(step).__name__}"
        release = sf.protect(table, step, seed=1)
        release.save(target, allow_guessable_seed=True)
        private = target.with_name(f"{target.name}.private")
        told = [p.name for p in target.rglob("*") if secret in p.read_text("utf-8")]
        assert told == []
        assert secret in (private / "plan.toml").read_text("utf-8")
        assert secret not in (private / "report.html").read_text("utf-8")
        assert secret not in release.plan.to_toml(show_secrets=False)
        assert secret not in str(release.plan.steps[0])
    with pytest.raises(sf.SfumatoError) as caught:
        sf.method("microaggregation", replace={"use": "keyed", "key": "SHORT"})
    assert "SHORT" not in str(caught.value)


def test_the_line_of_a_nested_complaint_is_found() -> None:
    text = (
        '[[steps]]\nuse = "mdav"\n\n[tune]\nat-most = 0.1\nalso = ["abimm"]\n'
        '\n[[steps]]\nuse = "refine"\nstart = { use = "mdav", kk = 3 }\n'
    )
    with pytest.raises(PlanError) as caught:
        Plan.parse(text)
    assert [complaint.line for complaint in caught.value.complaints] == [6, 10]


def test_a_search_within_a_step_has_no_columns_of_its_own() -> None:
    with pytest.raises(sf.SfumatoError, match="takes its columns from the step"):
        sf.method("microaggregation", by={"use": "mdav", "columns": ["x"]})
