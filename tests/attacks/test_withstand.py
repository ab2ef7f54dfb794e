"""All attacks together: `withstand`, `sf.attack`, and what a release says of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.attacks import withstand
from sfumato.attacks.controlled import ControlledAttack, _by_control, rounded_up
from sfumato.attacks.field import Field
from sfumato.attacks.trial import Trial
from sfumato.attacks.withstand import Withstand
from sfumato.cli.app import run
from sfumato.errors import MeasureError, ParameterError
from sfumato.protocols import Context, Finding
from sfumato.registry import _extra
from sfumato.release.plan.requirement import parse_requirement
from sfumato.release.records.public import _within
from sfumato.release.report.attacks import membership, section, sentence
from sfumato.release.report.parts import percent
from tests.oracle.advantage import plain

SEED = 2**70


class Equal(ControlledAttack):
    """Somebody is found where a released record equals theirs."""

    name: ClassVar[str] = "equal-record"
    knows: ClassVar[str] = "Whole records of people, and the release."

    def trials(self, field: Field, context: Context) -> Sequence[Trial]:
        coded = field.coded(1_000_000)
        known = {row.tobytes() for row in np.ascontiguousarray(coded.cells)}
        hits = [
            np.array([row.tobytes() in known for row in np.ascontiguousarray(people)], dtype=float)
            for people in (coded.inside, coded.outside)
        ]
        return [Trial("equal", hits[0], hits[1])]


class Coin(ControlledAttack):
    """Four of five are guessed right, whoever they are."""

    name: ClassVar[str] = "coin"
    knows: ClassVar[str] = "Nothing."

    def trials(self, field: Field, context: Context) -> Sequence[Trial]:
        return [
            Trial(
                "coin", *(np.arange(side.size) % 5 < 4.0 for side in (field.inside, field.outside))
            )
        ]


class Never(ControlledAttack):
    """An attack that applies to nothing."""

    name: ClassVar[str] = "never-applies"
    knows: ClassVar[str] = "Nothing."

    def trials(self, field: Field, context: Context) -> Sequence[Trial]:
        raise MeasureError("there is nothing to attack", remedy="none")


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    for cls in (Equal, Coin, Never):
        sf.register(cls)
    yield
    for cls in (Equal, Coin, Never):
        del _extra["attack", cls.name]


def people(n: int, seed: int = 0) -> sf.Table:
    rng = np.random.default_rng(seed)
    made = {
        "age": rng.integers(20, 60, n),
        "zip": rng.integers(0, 50, n).astype(str),
        "pay": rng.normal(size=n).round(3),
    }
    return sf.table(made, quasi=["age", "zip"], confidential=["pay"])


def released(n: int = 5_000, **require: Any) -> sf.Release:
    plan = sf.Plan(steps=(sf.Step(sf.method("sampling", share=0.5)),))
    return sf.protect(people(n), plan, seed=SEED, require={"exposure": False, **require})


def test_beside_a_reference_the_release_itself_is_attacked() -> None:
    release = released(3_000)
    others = people(2_500, seed=1)
    found = sf.attack(release, "equal-record", reference=others)
    assert found.detail["attacked"] == "the release"
    assert (found.detail["people"], found.detail["controls"]) == (3_000, 2_500)
    assert found.detail["success"] == pytest.approx(0.5, abs=0.01)
    value, _ = plain(*_hits(release, others))
    assert found.detail["advantage"] == pytest.approx(value, abs=0.01)
    assert found.detail["advantage"] < found.value < found.detail["advantage"] + 0.05
    assert "refuses" not in found.detail
    # Whoever is in the sample was found, nobody else.
    assert found.per_record is not None
    chosen = np.zeros(3_000)
    assert release.pair.rows is not None
    chosen[release.pair.rows] = 1.0
    assert (found.per_record >= chosen).all()
    np.testing.assert_array_equal(found.private["controls"], _hits(release, others)[1])
    example = found.private["example"]
    assert chosen[example["row"]] == 1.0
    assert example["values"]["zip"] == release.pair.original["zip"][example["row"]]


def test_success_with_controls_is_told_person_by_person() -> None:
    none, first = np.zeros(3), np.array([0])
    listed = {"who": first, "who_outside": np.array([2])}
    trials = [
        Trial("of everybody", none, np.array([0.0, 0.5, 0.0])),
        Trial("of one", none[:1], np.ones(1), **listed),
        Trial("of nobody in particular", none, np.ones(3), who=np.full(3, -1)),
    ]
    found = _by_control(trials, np.full(3, np.nan))
    np.testing.assert_array_equal(found, [0.0, 0.5, 1.0])
    assert np.isnan(_by_control(trials[2:], np.full(3, np.nan))).all()


def _hits(release: sf.Release, others: sf.Table) -> tuple[np.ndarray, np.ndarray]:
    known = set(release.table.frame.rows())
    hits = [
        np.array([row in known for row in table.frame.rows()], dtype=float)
        for table in (release.pair.original, others)
    ]
    return hits[0], hits[1]


def test_without_one_the_plan_is_run_again_on_a_half() -> None:
    release = released(5_000)
    found = sf.attack(release, "equal-record")
    assert found.detail["attacked"].startswith("the plan")
    assert found.detail["people"] + found.detail["controls"] == 5_000
    assert found.detail["success"] == pytest.approx(0.5, abs=0.03)
    assert found.per_record is not None
    assert np.isfinite(found.per_record).sum() == found.detail["people"]
    again = sf.attack(release, "equal-record")
    assert again.value == found.value
    assert sf.attack(release, "equal-record", seed=1).value != found.value


def test_few_people_show_nothing() -> None:
    found = sf.attack(released(600), "equal-record")
    assert found.detail["refuses"] is True
    assert "2,000 of each are needed" in found.detail["because"]


def test_the_old_order_of_arguments_says_so() -> None:
    with pytest.raises(ParameterError, match="release first"):
        sf.attack("equal-record", released(100))  # type: ignore[call-overload]


def test_all_that_are_named_are_judged_together() -> None:
    found = sf.attack(released(5_000), attacks=["equal-record"])
    whole = found["withstand"]
    assert whole.value == pytest.approx(found["equal-record"].value)
    assert whole.detail["worst"] == "equal-record: equal"
    assert whole.private["example"]
    with pytest.raises(ParameterError, match="take no k"):
        sf.attack(released(100), k=3)


def test_what_does_not_apply_is_said_and_what_was_named_must() -> None:
    release = released(5_000)
    with pytest.raises(ParameterError, match="no control"):
        withstand.Withstand.build({"attacks": ["rank-swap-attack"]})
    found = release.measure("withstand", attacks=["equal-record", "never-applies"])
    assert found.detail["refuses"] is True
    assert "there is nothing to attack" in found.detail["because"]


def test_it_is_required_and_refuses_what_was_found() -> None:
    with pytest.raises(sf.ReleaseRefused, match="equal-record: equal gets that much") as refused:
        released(withstand={"attacks": ["equal-record"]})
    assert "sequential-trees" in str(refused.value)


def test_it_is_judged_last_and_only_where_all_else_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError("attacked in vain")

    monkeypatch.setattr(withstand.Withstand, "measure", never)
    with pytest.raises(sf.ReleaseRefused, match="k-anonymity"):
        released(300, **{"withstand": True, "k-anonymity": 5})


@pytest.mark.parametrize(("given", "upper"), [(0.04, 0.05), (0.2, 0.2), (0.21, 0.5), (2.0, 1.0)])
def test_what_is_public_is_told_in_few_steps(given: float, upper: float) -> None:
    assert rounded_up(given) == upper


def test_what_time_does_not_suffice_for_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(0, 10_000, 400))
    monkeypatch.setattr(withstand, "monotonic", lambda: float(next(clock)))
    found = released(5_000).measure("withstand", attacks=["equal-record"] * 3, seconds=600)
    assert found.detail["refuses"] is True
    assert "not begun: equal-record" in found.detail["because"]
    # Each look at the clock is 400 s later: 2,000 s in all, 800 of them in the attack that was
    # tried, and what was not begun may take twice as long.
    assert "seconds = 3600" in found.detail["because"]


@pytest.mark.parametrize(("n", "wide"), [(5_000, True), (40_000, False)])
def test_a_wide_bound_says_how_many_people_would_narrow_it(n: int, wide: bool) -> None:
    found = released(n).measure("withstand", attacks=["coin"], sample=40_000)
    assert found.detail["attacks"]["coin"]["advantage"] == pytest.approx(0.0, abs=1e-3)
    assert (found.value > 0.05) == wide
    if wide:
        # One-sided 95 % of sqrt(2 * 0.8 * 0.2 / n) / 0.2 is 0.05 at n = 8,660.
        assert "about 9,000 people and as many controls" in found.detail["because"]
    else:
        assert "narrow" not in found.detail["because"]


def test_a_release_that_keeps_it_says_so_on_its_first_page(tmp_path: Path) -> None:
    release = released(withstand={"at-most": 1.0, "attacks": ["equal-record"]})
    folder = release.save(tmp_path / "release", allow_guessable_seed=True)
    page = (folder / "report.html").read_text(encoding="utf-8")
    first = page[page.index('id="verdict"') : page.index("<h2", page.index('id="verdict"') + 20)]
    assert "equal-record" in first
    assert "Attacks on the plan of this release" in first
    told = json.loads((folder / "evidence.json").read_text(encoding="utf-8"))["measures"]
    assert told["withstand"]["value"] in (0.5, 1.0)
    assert told["withstand"]["detail"]["attacks"]["equal-record"].keys() == {
        "people", "controls", "shown", "upper",
    }  # fmt: skip
    private = tmp_path / "release.private"
    owner = (private / "report.html").read_text(encoding="utf-8")
    assert "Whole records of people, and the release." in owner
    assert "An attempt of each that succeeded" in owner
    assert "An attempt of each that succeeded" not in page


def test_a_plan_file_says_it() -> None:
    given = {"at-most": 0.05, "seconds": 600, "attacks": ["equal-record"]}
    (required,), complaints = parse_requirement("withstand", given)
    assert not complaints
    assert required.words() == {"attacks": ("equal-record",), "at-most": 0.05}
    assert parse_requirement("withstand", True)[0][0].at_most == 0.05
    assert parse_requirement("withstand", {"attacks": ["nobody-knows"]})[1]


def ended(arguments: list[str]) -> int | str | None:
    """The exit code of a command."""
    with pytest.raises(SystemExit) as left:
        run(arguments)
    return left.value.code


def test_the_folder_of_a_release_is_attacked_by_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    people(5_000).frame.write_csv(tmp_path / "people.csv")
    plan = tmp_path / "plan.toml"
    plan.write_text(
        """
[input]
path = "people.csv"
reference = 0.5
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
""",
        encoding="utf-8",
    )
    assert ended(["protect", str(plan)]) == 0
    capsys.readouterr()
    attacked = ["attack", str(tmp_path / "release"), "--attacks", "equal-record"]
    assert ended([*attacked, "--json"]) == 3
    told = json.loads(capsys.readouterr().out)
    assert told["private"] is True
    found = told["measures"]["equal-record"]
    assert found["detail"]["attacked"] == "the release"
    assert found["detail"]["people"] == found["detail"]["controls"] == 2_500
    assert ended(attacked) == 3
    said = capsys.readouterr().out
    assert "more than 5.0 % beyond the control; the most: equal-record" in said
    assert "for example, equal-record: how: equal; row: " in said
    assert "yours alone" in said.splitlines()[-1]
    both = ["attack", str(tmp_path / "people.csv"), str(tmp_path / "release" / "data.csv")]
    assert ended([*both, "--plan", str(plan), "--attacks", "equal-record", "--json"]) == 3
    assert json.loads(capsys.readouterr().out)["measures"]["equal-record"] == found


def rarely(n: int, share: float, found: tuple[float, float], seed: int = 0) -> Trial:
    """A value that a share of the people has, and how much of it is found, inside and outside; the
    naive guess is that nobody has it, and nothing else is right of the others."""
    rng = np.random.default_rng(seed)
    has = [rng.random(n) < share for _ in found]
    right = [
        np.where(mask, rng.random(n) < much, True).astype(np.float64)
        for mask, much in zip(has, found, strict=True)
    ]
    easy = tuple((~mask).astype(np.float64) for mask in has)
    return Trial("ill", right[0], right[1], easy=(easy[0], easy[1]), example=lambda i: {"at": i})


def test_what_is_rare_is_judged_by_those_who_have_it() -> None:
    trial = rarely(60_000, 0.05, (0.5, 0.1))
    judged = trial.judged
    assert judged.what == "ill, where it is rare"
    assert judged.advantage.value == pytest.approx((0.5 - 0.1) / 0.9, abs=0.04)
    assert judged.who is not None
    assert trial.easy is not None
    np.testing.assert_array_equal(judged.who, np.flatnonzero(trial.easy[0] == 0.0))
    assert judged.example is not None
    assert judged.example(0) == {"at": judged.who[0]}
    assert not judged.apart  # 3,000 of 60,000
    assert rarely(4_000, 0.05, (0.5, 0.1)).judged.apart  # 200 of 4,000
    frequent = rarely(4_000, 0.2, (0.5, 0.1))
    assert frequent.judged is frequent


class Rare(ControlledAttack):
    """A value that few have, and one that half have."""

    name: ClassVar[str] = "rare-value"
    knows: ClassVar[str] = "Nothing."
    found: ClassVar[tuple[float, float]] = (0.5, 0.5)
    beside: ClassVar[bool] = True

    def trials(self, field: Field, context: Context) -> Sequence[Trial]:
        n = min(field.inside.size, field.outside.size)
        half = Trial("half", *(np.arange(n) % 2.0 for _ in range(2)))
        return [rarely(n, 0.02, self.found)] + [half] * self.beside


@pytest.mark.parametrize(("found", "refuses"), [((0.3, 0.3), False), ((1.0, 0.0), True)])
def test_of_too_few_only_a_leak_that_shows_decides(
    found: tuple[float, float], refuses: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Rare, "found", found)
    told = Rare().measure(_context(8_000))
    assert told.detail["apart"] == ["ill, where it is rare"]
    assert (told.value > 0.5) == refuses
    assert "refuses" not in told.detail
    assert told.detail["worst"] == ("ill, where it is rare" if refuses else "half")


def test_where_all_that_is_learnt_is_rare_nothing_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Rare, "beside", False)
    told = Rare().measure(_context(8_000))
    assert told.detail["refuses"] is True
    assert "2,000 of each are needed" in told.detail["because"]


def _context(n: int) -> Context:
    release = sf.protect(
        people(n), sf.method("sampling", share=0.5), seed=SEED, require={"exposure": False}
    )
    return Context(release.pair, np.random.default_rng(0), reference=people(n, seed=1))


def with_sets(n: int, seed: int = 0) -> sf.Table:
    """People, and what they have in lists."""
    rng = np.random.default_rng(seed)
    lists = [[f"d{a}", f"d{b}"] for a, b in rng.integers(0, 9, (n, 2))]
    frame = people(n, seed).frame.with_columns(pl.Series("diagnoses", lists))
    return sf.table(frame, quasi=["age", "zip"], confidential=["pay", "diagnoses"])


def test_a_published_column_that_nobody_looks_at_is_told_and_refused() -> None:
    own, others = with_sets(2_500), with_sets(2_500, 1)
    plan = sf.Plan(steps=(sf.Step(sf.method("sampling", share=0.5)),))
    release = sf.protect(own, plan, seed=SEED, require={"exposure": False})
    found = sf.attack(release, reference=others, attacks=["equal-record"])
    assert found["equal-record"].detail["left_out"] == {"diagnoses": "holds sets"}
    whole = found["withstand"].detail
    assert whole["refuses"] is True
    assert "no attack looks at diagnoses (holds sets)" in whole["because"]
    assert Withstand().published(found["withstand"]).detail["left_out"] == whole["left_out"]
    assert "Not attacked: diagnoses (holds sets)." in sentence(found)
    # Where it is not published nothing is amiss.
    bare = sf.protect(own.without(["diagnoses"]), plan, seed=SEED, require={"exposure": False})
    seen = sf.attack(bare, reference=others, attacks=["equal-record"])
    assert "refuses" not in seen["withstand"].detail
    assert "Not attacked" not in sentence(seen)


def test_the_first_page_names_every_attack_and_the_worst_of_all() -> None:
    required = {"withstand": {"at-most": 0.05, "attacks": ["linkability"]}, "equal-record": 1.0}
    release = released(5_000, **required)
    for evidence in (release.evidence, release.public().evidence):
        said = sentence(evidence)
        assert "linkability, equal-record." in said
        assert evidence["withstand"].value <= 0.05 < 0.45 < evidence["equal-record"].value
        assert f"control is at most {percent(evidence['equal-record'].value)}." in said


def test_the_owner_is_told_how_well_membership_is_claimed() -> None:
    release = released(3_000)
    found = sf.attack(release, reference=people(3_000, seed=1), attacks=["closest-record"])
    told = found["closest-record"].detail["trials"]
    rows = membership({"closest-record": found["closest-record"]})
    assert [row[0] for row in rows] == [f"closest-record: {what}" for what in told]
    for (_, auc, hits, rarer), one in zip(rows, told.values(), strict=True):
        assert auc == f"{one['auc']:.3f}"
        assert hits == percent(one["true positives at 1 %"]["share"])
        assert rarer == ""  # 10,000 controls are needed
    assert "True at 1 % false" in section(found, owner=True)
    assert "True at 1 % false" not in section(found, owner=False)


class Same(ControlledAttack):
    """A trial of what anybody knows of everybody, besides one that tells something, or not."""

    name: ClassVar[str] = "same-value"
    knows: ClassVar[str] = "Nothing."
    beside: ClassVar[bool] = True

    def trials(self, field: Field, context: Context) -> Sequence[Trial]:
        sides = [np.ones(one.size) for one in (field.inside, field.outside)]
        told = Trial("half", *(np.arange(one.size) % 2.0 for one in sides))
        return [Trial("known", *sides, easy=(sides[0], sides[1]))] + [told] * self.beside


def test_where_everybody_is_guessed_right_nothing_is_judged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = Same().measure(_context(5_000))
    assert found.detail["nothing_to_learn"] == ["known"]
    assert list(found.detail["trials"]) == ["half"]
    monkeypatch.setattr(Same, "beside", False)
    with pytest.raises(MeasureError, match="right of everybody"):
        Same().measure(_context(5_000))


def test_how_many_have_a_rare_value_is_not_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Rare, "beside", False)
    told = Rare().measure(_context(8_000)).detail
    assert told["lacking"] == (
        "tried on 8,000 people and 8,000 controls, of which fewer than 2,000 could decide, "
        "and 2,000 of each are needed"
    )


class Values(ControlledAttack):
    """Guesses of twenty values, of which one or none is given away."""

    name: ClassVar[str] = "values"
    knows: ClassVar[str] = "Nothing."
    given: ClassVar[int] = 7

    def trials(self, field: Field, context: Context) -> Sequence[Trial]:
        rng = np.random.default_rng(0)
        own = [rng.integers(0, 20, one.size) for one in (field.inside, field.outside)]
        right = [(rng.random(one.size) < 0.05) * 1.0 for one in own]
        right[0][own[0] == self.given] = 1.0
        easy = [(one == 0) * 1.0 for one in own]
        return [
            Trial(
                "disease", right[0], right[1], easy=(easy[0], easy[1]), groups=(own[0], own[1]),
                example=lambda i: {"has": int(own[0][i])},
            )
        ]  # fmt: skip


@pytest.mark.parametrize("given", [7, -1])
def test_one_value_that_is_given_away_shows_among_many(
    given: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Values, "given", given)
    found = Values().measure(_context(8_000))
    assert found.detail["rare_values"] == 19  # all but the naive guess
    if given < 0:
        assert found.value <= 0.05
        assert found.detail["worst"] == "disease"
        assert found.detail["leaks"] is False
    else:
        assert found.value > 0.8
        assert found.detail["worst"].startswith("disease, a rare value (")
        assert found.private["example"]["has"] == given
        assert found.detail["leaks"] is True
    assert "detail" not in Values().published(found).detail
    assert Values().published(found).detail.keys() == {"knows", "attacked", "people", "controls"}


def test_no_part_is_published_above_the_limit_that_the_whole_keeps() -> None:
    parts = {"linkability": {"people": 9, "controls": 9, "shown": True, "upper": 0.1}}
    whole = Withstand().result(0.1, detail={"attacks": parts})
    kept = Finding("withstand", "withstand", 0.06, 0.07, met=True, at_least=False)
    told = _within(whole, (kept,))
    assert told.value == told.detail["attacks"]["linkability"]["upper"] == 0.07
    broken = Finding("withstand", "withstand", 0.09, 0.07, met=False, at_least=False)
    assert _within(whole, (broken,)).detail["attacks"]["linkability"]["upper"] == 0.1
