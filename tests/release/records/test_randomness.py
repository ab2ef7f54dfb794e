"""Random numbers that belong to records and to people, and what a release says of them."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.engines.relation import Part, Relation, Tally, Whole
from sfumato.engines.spread import Spread, Told
from sfumato.errors import MethodError
from sfumato.kernels.draws import Draws
from sfumato.release.ledger.book import Ledger
from sfumato.release.plan.step import Records, Step, step_keys, step_stream
from sfumato.release.records.randomness import Randomness, shuffle_bits, shuffled
from sfumato.release.records.recover import recover
from sfumato.release.staging import private_path
from sfumato.rng import Key

NOISE = sf.method("uncorrelated-noise", amount=0.2, columns=("pay",))
N = 300
OPEN = {"exposure": False}


def people(**more: Any) -> sf.Table:
    rng = np.random.default_rng(2)
    frame = pl.DataFrame(
        {
            "id": [f"p{i}" for i in range(N)],
            "age": rng.integers(20, 60, N),
            "pay": rng.normal(3000, 500, N),
        }
    )
    return sf.table(frame, identifier="id", quasi="age", confidential="pay", **more)


def masked(table: sf.Table, steps: Any, seed: int, **more: Any) -> dict[str, float]:
    """Each person's published pay."""
    words: dict[str, Any] = {"exposure": False}
    release = sf.protect(table, steps, seed=seed, measures=(), require=words, **more)
    rows = release.pair.rows
    assert rows is not None
    names = release.pair.original["id"].gather(pl.Series(rows)).to_list()
    return dict(zip(names, release.table["pay"].to_list(), strict=True))


def test_a_seed_and_a_row_give_a_record_its_noise() -> None:
    """Whatever other steps there are, and who was left out before."""
    table = people()
    alone = masked(table, [NOISE], 2**70)
    assert masked(table, [NOISE], 2**70) == alone
    assert masked(table, [sf.method("drop", columns=("age",)), NOISE], 2**70) == alone
    other = masked(table, [NOISE], 2**70 + 1)
    assert sum(other[name] == alone[name] for name in alone) < 3


def test_rows_of_the_input_count_where_some_are_held_out() -> None:
    table = people()
    plan = sf.Plan(steps=(Step(NOISE),))
    plan = plan.with_(input=plan.input.model_copy(update={"reference": 0.3}))
    release = sf.protect(table, plan, seed=2**70, measures=(), require={"exposure": False})
    kept = release.private.input_rows
    assert kept is not None
    numbers, some = kept.astype(np.uint64), table.take(kept)
    key = NOISE.bound(Whole(some, numbers), step_keys(plan.steps, Key.of_seed(2**70))[0])
    wanted = NOISE.mask_keyed(some, key, numbers)
    found = release.table["pay"].to_numpy()[np.argsort(release.pair.rows)]
    assert found.tolist() == wanted.table["pay"].to_list()


def test_steps_that_are_alike_have_noise_of_their_own() -> None:
    steps = [Step(NOISE), Step(NOISE), Step(NOISE.model_copy(update={"amount": 0.3}))]
    words = {tuple(key.words.tolist()) for key in step_keys(steps, Key.of_seed(0))}
    assert len(words) == 3
    once, twice = step_keys(steps[:1], Key.of_seed(0)), step_keys(steps[::2], Key.of_seed(0))
    assert once[0].words.tolist() == twice[0].words.tolist()


def test_the_order_is_that_of_the_numbers() -> None:
    numbers = np.random.default_rng(1).permutation(500).astype(np.uint64)
    release = sf.protect(people(), NOISE, seed=7, measures=(), require={"exposure": False})
    shown = release.table.take(np.argsort(release.pair.rows))
    by = shuffle_bits(7, [Step(NOISE)], people().schema, Whole(shown))
    order, bits = shuffled(numbers, by), by(numbers)
    assert numbers[order].tolist() == [n for _, n in sorted(zip(bits, numbers, strict=True))]
    assert numbers[order].tolist() == np.sort(numbers)[shuffled(np.sort(numbers), by)].tolist()
    assert np.asarray(release.pair.rows).tolist() == shuffled(np.arange(N), by).tolist()


def test_releases_under_one_seed_cannot_be_laid_side_by_side() -> None:
    """Other steps, columns, roles or data: another order."""
    stronger = NOISE.model_copy(update={"amount": 0.4})
    known = sf.table(people().frame, identifier="id", quasi=["age", "pay"])
    older = people().with_columns([people()["age"] + (people()["age"] == 33)])
    plans = [
        (people(), [NOISE]),
        (people(), [stronger]),
        (people(), [NOISE, sf.method("drop", columns=("age",))]),
        (known, [NOISE]),
        (older, [NOISE]),
    ]
    orders = [
        np.asarray(sf.protect(table, steps, seed=7, measures=(), require=OPEN).pair.rows)
        for table, steps in plans
    ]
    for one, other in combinations(orders, 2):
        assert (one == other).sum() < 6  # one on average


@pytest.mark.parametrize("ledger", [False, True])
@pytest.mark.parametrize("amount", [0.2, 1.0])
@pytest.mark.parametrize("use", ["uncorrelated-noise", "correlated-noise"])
def test_noise_on_swapped_or_reversed_values_tells_nothing_of_the_noise_on_values(
    tmp_path: Path, use: str, amount: float, ledger: bool
) -> None:
    """x + e, a swapped y, and y + e give x; so do x + e and -x + e."""
    noise = sf.method(use, amount=amount, columns=("pay",))
    swap = sf.method("rank-swap", p=5, columns=("pay",))
    table = people()
    reversed_ = table.with_columns([8000.0 - table["pay"]])
    output = {"output": tmp_path / "out"} if ledger else {}
    pay = dict(zip(table["id"], table["pay"], strict=True))
    plain, swapped, both = (
        masked(table, steps, 2**70, **output) for steps in ([noise], [swap], [swap, noise])
    )
    back = masked(reversed_, [noise], 2**70, **output)
    first = [plain[n] - pay[n] for n in pay]
    for other in ([both[n] - swapped[n] for n in pay], [back[n] - (8000 - pay[n]) for n in pay]):
        assert abs(np.corrcoef(first, other)[0, 1]) < 0.3  # five standard errors


@pytest.mark.parametrize("use", ["pram", "random-rounding"])
def test_what_is_drawn_for_other_data_is_drawn_anew(use: str) -> None:
    words = {"columns": ("sex",)} if use == "pram" else {"columns": ("age",), "base": 10.0}
    method = sf.method(use, **words)
    table = people().with_columns([pl.Series("sex", ["f", "m", "x"] * 100)], [])
    numbers = np.arange(N, dtype=np.uint64)
    swapped = table.take(np.random.default_rng(0).permutation(N))
    keys = [method.bound(Whole(one, numbers), Key.of_seed(1)) for one in (table, swapped, table)]
    assert keys[0].words.tolist() == keys[2].words.tolist() != keys[1].words.tolist()
    lasting = Key(b"secret", lasting=True)
    assert method.bound(Whole(table, numbers), lasting) is lasting


def test_who_came_and_left_does_not_change_the_noise_of_others(target: Path) -> None:
    """Of whose value changed it is another, or both releases would tell by how much."""
    table = people()
    some = table.take(np.arange(3, N))
    pay = some["pay"].to_list()
    changed = some.with_columns([pl.Series("pay", [pay[0] + 1.0, *pay[1:]])])
    first = masked(table, [NOISE], 2**70, output=target)
    later = masked(changed, [NOISE], 2**71, output=target.with_name("second"))
    same = [name for name in later if later[name] == first[name]]
    assert set(later) - set(same) == {"p3"}
    assert abs((later["p3"] - first["p3"]) - 1.0) > 1.0
    spread = np.std([first[f"p{i}"] - table["pay"][i] for i in range(N)]) / table["pay"].std()
    assert 0.9 * 0.2**0.5 < spread < 1.25 * 0.2**0.5


@pytest.mark.parametrize(
    ("use", "words"),
    [
        ("mixture-noise", {"restore": False}),
        ("coloured-mixture-noise", {"restore": False}),
        ("density-noise", {}),
        ("multiplicative-noise", {}),
        ("normal-score-noise", {}),
    ],
)
def test_two_strengths_of_any_noise_do_not_give_the_values_back(
    use: str, words: dict[str, Any]
) -> None:
    """With the same numbers, one release's noise tells the other's."""
    pay = people()["pay"].to_numpy()

    def alike(same: bool) -> float:
        noise = []
        for amount in (0.2, 0.4):
            step = Step(sf.method(use, columns=("pay",), amount=amount, **words))
            drawn = step_stream([step], 0, people(), 2**70)
            rng = np.random.default_rng(5) if same else drawn
            noise.append(step.run(people(), rng).table["pay"].to_numpy() - pay)
        return float(np.corrcoef(*noise)[0, 1])

    assert alike(same=True) > 0.9
    assert abs(alike(same=False)) < 0.3  # five standard errors


def test_noise_is_drawn_anew_for_other_values() -> None:
    step = [Step(sf.method("mixture-noise", columns=("pay",)))]
    first, again = (step_stream(step, 0, people(), 2**70).random() for _ in range(2))
    other = step_stream(step, 0, people().take(np.arange(N - 1)), 2**70).random()
    assert first == again != other


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "first"


def test_a_person_keeps_the_noise_from_release_to_release(target: Path) -> None:
    """Whatever the seed, the order of rows and the other steps; without a ledger it is drawn
    anew."""
    table = people()
    order = np.random.default_rng(3).permutation(N)
    first = masked(table, [NOISE], 2**70, output=target)
    steps = [sf.method("drop", columns=("age",)), NOISE]
    again = masked(table.take(order), steps, 2**71, output=target.with_name("second"))
    assert again == first
    for changed in ({"amount": 0.21}, {"whole": False}):
        one = NOISE.model_copy(update=changed)
        other = masked(table, [one], 2**70, output=target)
        assert sum(other[name] == first[name] for name in first) < 3
    assert masked(table, [NOISE], 2**70) != first


def test_pseudonyms_change_from_release_to_release(target: Path) -> None:
    """By such that stay anybody could join them."""
    steps = [sf.method("pseudonymize", columns=("id",)), NOISE]
    found = [
        sf.protect(
            people(), steps, seed=seed, measures=(), require={"exposure": False}, output=target
        )
        for seed in (2**70, 2**71)
    ]
    one, two = (set(release.table["id"].to_list()) for release in found)
    assert len(one) == len(two) == N
    assert one.isdisjoint(two)
    pay = [release.table["pay"].sort().to_list() for release in found]
    assert pay[0] == pay[1]


def test_another_key_gives_other_noise(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = masked(people(), [NOISE], 2**70, output=target)
    monkeypatch.setenv("SFUMATO_LEDGER_KEY", "another key that is long enough")
    other = masked(people(), [NOISE], 2**70, output=target)
    assert sum(other[name] == first[name] for name in first) < 3


def test_a_ledger_that_is_off_knows_nobody(target: Path) -> None:
    Ledger.at(target.parent).switch(off=True)
    assert masked(people(), [NOISE], 2**70, output=target) == masked(people(), [NOISE], 2**70)


def test_records_of_one_person_and_of_nobody_have_numbers_of_their_own(target: Path) -> None:
    table = sf.table(
        {"id": ["a", "b", "A ", None, None], "x": [1.0, 2.0, 3.0, 1.0, 1.0]},
        identifier="id",
        confidential="x",
    )
    plan = sf.Plan(steps=(Step(sf.method("uncorrelated-noise")),))

    def found(rows: list[int], seed: int = 1) -> list[int]:
        given = table.take(np.array(rows))
        people = Randomness.of(seed, given).known_by(given, plan, target).people
        assert isinstance(people, Records)
        return [int(n) for n in people.numbers]

    plain = found([0, 1, 2, 3, 4])
    assert len(set(plain)) == 5
    moved = found([2, 1, 0, 4, 3], seed=2)
    assert [moved[2], moved[1], moved[0]] == plain[:3]
    assert set(moved[3:]).isdisjoint(plain)  # nobody is known again


def test_what_was_drawn_and_how_is_said_in_the_files(target: Path) -> None:
    release = sf.protect(
        people(), NOISE, seed=2**70, measures=(), require={"exposure": False}, output=target
    )
    release.save(target)
    assert any("ledger's key" in note for note in release.evidence.owner_notes)
    for file in (target / "evidence.json", private_path(target) / "figures.json"):
        assert json.loads(file.read_text())["randomness"] == 2
    assert "ledger's key" not in (target / "report.html").read_text()
    now = recover(target)
    old = target / "evidence.json"
    words = json.loads(old.read_text())
    del words["randomness"]  # as it was written before
    old.write_text(json.dumps(words))
    assert recover(target) == now


class Sly(Spread):
    """Says that it does not draw."""

    name = "sly"
    perturbs = False
    random = False

    def survey(self, data: Relation, key: Key) -> None:
        return None

    def mask_part(self, part: sf.Table, known: None, draws: Draws) -> Part:
        return Part(part.take(np.argsort(draws.of("x").bits())))

    def told(self, known: None, tally: Tally) -> Told:
        return Told()


def test_what_masks_in_one_place_in_its_own_way_still_does(target: Path) -> None:
    """Whose `local_only` says why: it draws from the stream of its step."""
    step = sf.method("local-suppression", k=3, reading="category", columns=("age",))
    assert step.local_only()
    assert not step.keyed
    release = sf.protect(people(), step, seed=1, measures=(), require={"exposure": False})
    assert release.table["age"].null_count() > 0


def test_who_draws_without_saying_so_is_refused() -> None:
    with pytest.raises(MethodError, match="sly draws at random and does not say so"):
        sf.protect(people(), Sly(), seed=1, measures=(), require={"exposure": False})
