"""What whoever attacks is told: what was not attacked, what came of it, and what would help."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import sfumato as sf
from sfumato.attacks import withstand
from sfumato.attacks.controlled import ControlledAttack
from sfumato.attacks.field import Field
from sfumato.attacks.trial import Trial
from sfumato.errors import InputError, ParameterError
from sfumato.measurement import Measurement
from sfumato.protocols import Context, Finding
from sfumato.registry import _extra, find
from sfumato.release.plan.facts import facts
from sfumato.release.remedies.attacked import advice
from tests.attacks.test_withstand import Equal, ended, people

SEED = 2**70
PLAN = """
[input]
path = "people.csv"
[columns]
age = { role = "quasi" }
zip = { role = "quasi", kind = "nominal" }
pay = { role = "confidential" }
[[steps]]
use = "sampling"
share = 0.5
[require]
exposure = false
[output]
path = "release"
"""


class Blind(ControlledAttack):
    """Nobody is found."""

    name: ClassVar[str] = "finds-nobody"
    knows: ClassVar[str] = "Nothing."

    def trials(self, field: Field, context: Context) -> Sequence[Trial]:
        return [Trial("nobody", np.zeros(field.inside.size), np.zeros(field.outside.size))]


class Faulty(ControlledAttack):
    """An attack that has a fault."""

    name: ClassVar[str] = "has-a-fault"
    knows: ClassVar[str] = "Nothing."

    def trials(self, field: Field, context: Context) -> Sequence[Trial]:
        raise ZeroDivisionError("by nobody")


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    for cls in (Equal, Blind, Faulty):
        sf.register(cls)
    yield
    for cls in (Equal, Blind, Faulty):
        del _extra["attack", cls.name]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a plan, its release and files of other people lie."""
    place = tmp_path_factory.mktemp("attacked")
    people(4_200).frame.write_csv(place / "people.csv")
    people(4_200, seed=1).frame.write_csv(place / "others.csv")
    (place / "plan.toml").write_text(PLAN, encoding="utf-8")
    other = PLAN.replace("0.5", "0.9")
    (place / "other.toml").write_text(other, encoding="utf-8")
    assert ended(["protect", str(place / "plan.toml")]) == 0
    data = (place / "release" / "data.csv").read_bytes()
    (place / "masked.csv").write_bytes(data)
    return place


@pytest.mark.parametrize("plan", ["plan.toml", "other.toml"])
def test_a_file_that_no_plan_is_known_to_have_made_is_not_attacked(folder: Path, plan: str) -> None:
    asked: dict[str, Any] = {"original": folder / "people.csv", "plan": folder / plan}
    masked = folder / ("masked.csv" if plan == "plan.toml" else "release")
    with pytest.raises(InputError, match="this file was not attacked"):
        sf.attack(masked, **asked)
    with pytest.raises(InputError, match="--reference FILE"):
        sf.attack(masked, "equal-record", **asked)
    # What has no control is compared with chance.
    assert "rank-swap-attack" in sf.attack(masked, attacks="rank-swap-attack", **asked).not_taken
    found = sf.attack(masked, "equal-record", reference=folder / "others.csv", **asked)
    assert found.detail["attacked"] == "the release"
    assert found.detail["success"] == pytest.approx(0.5, abs=0.03)


def test_the_release_that_a_plan_made_may_be_judged_by_halves(folder: Path) -> None:
    both = {"original": folder / "people.csv", "plan": folder / "plan.toml"}
    for place in (folder / "release", folder / "release" / "data.csv"):
        found = sf.attack(place, "equal-record", **both)
        assert found.detail["attacked"].startswith("the plan")


@pytest.mark.parametrize(
    ("attacks", "others", "code"),
    [
        ("finds-nobody", True, 0),
        ("equal-record,finds-nobody", True, 3),
        ("finds-nobody,has-a-fault", True, 2),
        ("finds-nobody,rank-swap-attack", True, 2),
        ("finds-nobdy", True, 2),
    ],
)
def test_the_exit_code_says_what_came_of_it(
    folder: Path, attacks: str, others: bool, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["attack", str(folder / "people.csv"), str(folder / "masked.csv")]
    more = ["--plan", str(folder / "plan.toml"), "--reference", str(folder / "others.csv")]
    assert ended([*asked, *more, "--attacks", attacks]) == code
    shown = capsys.readouterr()
    if "nobdy" in attacks:
        assert "attacks: there is no attack named 'finds-nobdy'" in shown.err
        assert "did you mean 'finds-nobody'?" in shown.err


def test_too_few_people_end_with_the_code_of_what_was_not_shown(folder: Path) -> None:
    # Halves of 4,200 are enough; a reference of 300 is not.
    people(300, seed=2).frame.write_csv(folder / "few.csv")
    few = ["--reference", str(folder / "few.csv"), "--attacks", "finds-nobody"]
    assert ended(["attack", str(folder / "release"), *few]) == 2
    assert ended(["attack", str(folder / "release"), "--attacks", "finds-nobody"]) == 0


def released(**require: Any) -> sf.Release:
    plan = sf.Plan(steps=(sf.Step(sf.method("sampling", share=0.5)),))
    return sf.protect(people(4_200), plan, seed=SEED, require={"exposure": False, **require})


def test_a_fault_of_one_attack_loses_no_other() -> None:
    found = released().measure("withstand", attacks=["has-a-fault", "equal-record"])
    assert found.detail["refuses"] is True
    assert "has-a-fault was not finished: it failed" in found.detail["because"]
    assert "ZeroDivisionError: by nobody" in found.detail["because"]
    assert found.detail["attacks"]["equal-record"]["shown"]


def test_what_is_for_all_together_is_not_ignored_of_one(folder: Path) -> None:
    release = released()
    for more in ({"seconds": 5}, {"attacks": ["finds-nobody"]}):
        with pytest.raises(ParameterError, match="for all together"):
            sf.attack(release, "equal-record", **more)  # type: ignore[call-overload]
    with pytest.raises(ParameterError, match="did you mean 'equal-record'"):
        sf.attack(release, attacks=["equal-recrd"])
    found = sf.attack(release, "equal-record", reference=str(folder / "others.csv"))
    assert (found.detail["attacked"], found.detail["controls"]) == ("the release", 4_200)
    assert [one.name for one in withstand.Withstand.build({"attacks": "repu"}).attacks] == ["repu"]


def test_what_was_not_begun_is_told_in_one_line() -> None:
    tried = withstand._Tried(seconds=650.0, longest=200.0)
    tried.unfinished = {**dict.fromkeys(("disco", "repu"), ""), "tracing": "too slow"}
    said = tried.because(600.0)
    assert "not begun: disco, repu" in said
    assert "tracing was not finished: too slow" in said
    assert said.endswith("seconds = 1850")
    tried.unfinished = dict.fromkeys(map(str, range(14)), "")
    # The slowest took 200 s: fourteen more may take twice that each, besides the 650 s.
    assert tried.because(600.0).endswith("seconds = 6250")


def judged(worst: str, upper: float, *, shown: bool = True, late: bool = False) -> str:
    """What helps where this attack decides."""
    plan = sf.Plan(steps=(sf.Step(sf.method("mondrian", k=5)),))
    return _told(plan, worst, upper, shown=shown, late=late)


def _told(plan: sf.Plan, worst: str, upper: float, *, shown: bool, late: bool) -> str:
    attacks = {worst: {"upper": upper, "shown": shown}, "disco": {"upper": 0.01, "shown": True}}
    detail: dict[str, Any] = {"attacks": attacks} | ({"unfinished": ["repu"]} if late else {})
    finding = Finding("withstand", "withstand", upper, 0.05, met=False, at_least=False)
    found = Measurement("withstand", upper, direction="lower", bounds=(0.0, 1.0), detail=detail)
    return advice(finding, found, plan)


def test_what_helps_is_told_of_the_attack_that_decided() -> None:
    assert "against linkability, mask what the intruder knows" in judged("linkability", 0.3)
    assert "l-diversity" in judged("inference", 0.3)
    assert "against tracing" in judged("tracing", 0.3)
    assert "more people" not in judged("tracing", 0.3)
    few = judged("tracing", 0.3, shown=False)
    assert "more people" in few
    assert "tracing" not in few
    assert "sequential-trees" not in few
    late = judged("tracing", 0.03, late=True)
    assert "more seconds" in late
    assert "against" not in late
    drawn = sf.Plan(steps=(sf.Step(sf.method("sequential-trees", columns=["age"])),))
    said = _told(drawn, "closest-record", 0.3, shown=True, late=False)
    assert "records drawn from a model" not in said
    assert "caution" in said


def test_explaining_it_shows_the_requirement() -> None:
    assert facts(find("withstand"))["example"] == "[require]\nwithstand = { at-most = 0.05 }\n"


def test_a_draft_names_it() -> None:
    text = sf.draft_plan(people(50))
    assert "# withstand = { at-most = 0.05 }  # every attack tried" in text
    plan = sf.Plan.parse(text.replace("# withstand", "withstand"))
    assert "withstand" in [one.name for one in plan.requirements]
