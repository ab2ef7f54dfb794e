"""Every moment at which a run can die, and every order in which two runs can meet."""

from __future__ import annotations

import errno
import itertools
import json
import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sfumato.errors import OutputError
from sfumato.release import publish as publishing
from sfumato.release import staging
from sfumato.release.publish import check_free, publish
from sfumato.release.staging import private_path

_CHANGES = {
    *("os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.chmod", "os.link", "os.symlink"),
    *("shutil.copyfile", "shutil.rmtree"),
}
"""What Python tells before it does it; opening a file is one if it is opened to be written."""
_KILLED = 7


def written(words: str) -> tuple[Callable[[Path], None], Callable[[Path], None]]:
    """The writers of the two halves of a release that is known by its words."""

    def public(folder: Path) -> None:
        (folder / "data").mkdir()
        (folder / "data" / "part-00000.parquet").write_text(words)
        evidence = {"sfumato": "0", "requirements": [], "of": words}
        (folder / "evidence.json").write_text(json.dumps(evidence))

    def private(folder: Path) -> None:
        (folder / "keys.json").write_text(words)
        (folder / "seed.json").write_text(json.dumps({"sfumato": "0", "seed": words}))

    return public, private


def found(place: Path) -> str:
    """Which release is at a place, "" if none; both halves are whole, and of the same."""
    private = private_path(place)
    if not place.exists():
        assert not private.exists(), "a private half without its public one"
        return ""
    data = place / "data" / "part-00000.parquet"
    said = {data.read_text(), json.loads((place / "evidence.json").read_text())["of"]}
    said |= {(private / "keys.json").read_text()}
    said |= {json.loads((private / "seed.json").read_text())["seed"]}
    assert len(said) == 1, f"mixed: {said}"
    return said.pop()


def after_kill(change: int, work: Callable[[], None]) -> bool:
    """Do the work in a process that dies before its n-th change of the file system; whether it
    did."""
    child = os.fork()
    if child:
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert status in (0, _KILLED)
        return status == _KILLED
    count = 0

    def told(event: str, given: tuple[object, ...]) -> None:
        nonlocal count
        writes = event == "open" and isinstance(given[2], int) and given[2] & os.O_CREAT
        if event in _CHANGES or writes:
            if count == change:
                os._exit(_KILLED)
            count += 1

    try:
        sys.addaudithook(told)
        work()
        os._exit(0)
    finally:
        os._exit(1)


@pytest.fixture(autouse=True)
def unflushed(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is flushed when is a matter of test_publish, and takes a disk its time."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


def copied(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where folders cannot be renamed."""
    rename = os.rename

    def renamed(source: Path, target: Path) -> None:
        if Path(source).is_dir():
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        rename(source, target)

    monkeypatch.setattr(os, "rename", renamed)


@pytest.mark.parametrize("copies", [False, True], ids=["renamed", "copied"])
@pytest.mark.parametrize("earlier", [False, True], ids=["first", "replacing"])
def test_killed_before_any_change(
    earlier: bool, copies: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is there then is nothing, or a whole release; after the next run looked, no folder is
    left aside."""
    if copies:
        copied(monkeypatch)
    seen: list[str] = []
    for change in itertools.count():
        folder = tmp_path / str(change)
        folder.mkdir()
        place = folder / "out"
        if earlier:
            publish(place, *written("old"))
        if not after_kill(change, lambda at=place: publish(at, *written("new"), replace=earlier)):
            assert found(place) == "new"
            break
        if not copies and place.exists():
            found(place)
        check_free(place, replace=True)
        seen.append(found(place))
        assert {p.name for p in folder.iterdir()} <= {"out", "out.private"}
        shutil.rmtree(folder)
    before = "old" if earlier else ""
    change = seen.index("new")
    assert change > 10
    # Once the new one is there, it stays.
    assert seen == [before] * change + ["new"] * (len(seen) - change)
    assert len(seen) - change > 4, "nothing was killed while it cleaned up"


@pytest.mark.parametrize("earlier", [False, True], ids=["first", "replacing"])
def test_a_release_that_its_owner_took_away_stays_away(earlier: bool, tmp_path: Path) -> None:
    """Killed once it was in place, and moved: what it replaced does not come back, and neither half
    is touched."""
    moved = 0
    for change in itertools.count():
        folder, vault = tmp_path / str(change), tmp_path / f"vault-{change}"
        for one in (folder, vault):
            one.mkdir()
        place = folder / "out"
        if earlier:
            publish(place, *written("old"))
        killed = after_kill(change, lambda at=place: publish(at, *written("new"), replace=earlier))
        if place.exists() and found(place) == "new":
            os.rename(place, vault / "out")
            moved += 1
            if killed and change % 2:  # with or without its private half
                os.rename(private_path(place), vault / "out.private")
                check_free(place, replace=False)
            else:
                with pytest.raises(OutputError, match="exists without out"):
                    check_free(place, replace=False)
                os.rename(private_path(place), vault / "out.private")
            assert list(folder.iterdir()) == []
            assert found(vault / "out") == "new"
        if not killed:
            break
    assert moved > 5


def test_killed_while_it_puts_back(tmp_path: Path) -> None:
    """Whoever dies in the middle of undoing leaves it to the next."""
    half_way = [change for change in range(60) if _left_half_way(tmp_path / f"{change}", change)]
    assert len(half_way) > 2
    for change in half_way:
        for second in itertools.count():
            folder = tmp_path / f"{change}-{second}"
            assert _left_half_way(folder, change)
            killed = after_kill(second, lambda at=folder / "out": check_free(at, replace=True))
            check_free(folder / "out", replace=True)
            assert found(folder / "out") == "old"
            assert {p.name for p in folder.iterdir()} == {"out", "out.private"}
            if not killed:
                break


def _left_half_way(folder: Path, change: int) -> bool:
    """Whether a run that is killed there leaves a place without its release."""
    folder.mkdir()
    publish(folder / "out", *written("old"))
    work: Callable[[], None] = lambda: publish(folder / "out", *written("new"), replace=True)  # noqa: E731
    return after_kill(change, work) and not (folder / "out").exists()


class Turns:
    """Two threads, of which one runs at a time: a schedule says which goes on at each of its
    steps."""

    def __init__(self, schedule: str) -> None:
        self.schedule: Iterator[str] = iter(schedule)
        self.going: set[str] = set()
        self.turn = threading.Condition()
        self.now = ""

    def step(self) -> None:
        """Wait until it is this thread's turn again."""
        name = threading.current_thread().name
        if name not in ("a", "b"):
            return
        with self.turn:
            self._next()
            while self.now != name:
                self.turn.wait()

    def let_other_go(self) -> None:
        """One step of the other's, whatever the schedule says."""
        other = self.going - {threading.current_thread().name}
        self.schedule = itertools.chain(other, self.schedule)
        self.step()

    def _next(self) -> None:
        wanted = next(self.schedule, "")
        self.now = wanted if wanted in self.going else min(self.going, default="")
        self.turn.notify_all()

    def run(self, **works: Callable[[], object]) -> dict[str, object]:
        """What each thread gave or raised."""
        gave: dict[str, object] = {}

        def work(name: str) -> None:
            with self.turn:
                while self.now != name:
                    self.turn.wait()
            try:
                gave[name] = works[name]()
            except BaseException as error:
                gave[name] = error
            with self.turn:
                self.going.discard(name)
                self._next()

        self.going = set(works)
        threads = [threading.Thread(target=work, args=(name,), name=name) for name in works]
        for thread in threads:
            thread.start()
        with self.turn:
            self._next()
        for thread in threads:
            thread.join()
        return gave


@pytest.fixture
def scheduled(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Turns]:
    """Renames and looks at the place are steps, and whoever finds a lock held lets the other go
    on."""
    current: list[Turns] = []
    rename, check = os.rename, publishing._check

    def renamed(source: Path, target: Path) -> None:
        current[-1].step()
        rename(source, target)

    def checked(public: Path, *, replace: bool, table: str) -> None:
        current[-1].step()
        check(public, replace=replace, table=table)

    monkeypatch.setattr(os, "rename", renamed)
    monkeypatch.setattr(staging.time, "sleep", lambda seconds: current[-1].let_other_go())
    monkeypatch.setattr(publishing, "_check", checked)

    def make(schedule: str) -> Turns:
        current.append(Turns(schedule))
        return current[-1]

    return make


def schedules(each: int) -> Iterator[str]:
    """Every order of so many steps of either."""
    for chosen in itertools.combinations(range(2 * each), each):
        yield "".join("a" if i in chosen else "b" for i in range(2 * each))


@pytest.mark.parametrize("earlier", [False, True], ids=["first", "replacing"])
@pytest.mark.parametrize("replace", [(True, True), (True, False)], ids=["both", "one"])
def test_two_runs_do_not_mix(
    replace: tuple[bool, bool],
    earlier: bool,
    tmp_path: Path,
    scheduled: Callable[[str], Turns],
) -> None:
    """In every order of their steps the place has one whole release, of a run that did not fail."""
    ended: set[str] = set()
    for number, schedule in enumerate(schedules(5 if all(replace) and earlier else 4)):
        folder = tmp_path / str(number)
        folder.mkdir()
        place = folder / "out"
        turns = scheduled("")
        if earlier:
            publish(place, *written("old"))
        turns = scheduled(schedule)
        gave = turns.run(
            a=lambda at=place: publish(at, *written("a"), replace=replace[0]),
            b=lambda at=place: publish(at, *written("b"), replace=replace[1]),
        )
        failed = {name for name, one in gave.items() if isinstance(one, BaseException)}
        for name in failed:
            assert isinstance(gave[name], OutputError), gave[name]
            assert (name, replace[1]) == ("b", False), gave[name]
        assert found(place) in {"a", "b"} - failed
        ended.add(found(place))
        assert {p.name for p in folder.iterdir()} == {"out", "out.private"}
        shutil.rmtree(folder)
    assert ended == ({"a", "b"} if replace[1] else {"a"})


def test_a_link_is_not_taken_for_the_lock(tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("mine")
    (tmp_path / ".out.lock").symlink_to(tmp_path / "victim")
    with pytest.raises(OutputError, match="cannot be held"):
        publish(tmp_path / "out", *written("new"))
    assert (tmp_path / "victim").read_text() == "mine"
    assert sorted(p.name for p in tmp_path.iterdir()) == [".out.lock", "victim"]


def test_a_place_taken_meanwhile_keeps_both(tmp_path: Path) -> None:
    """What was being replaced is not lost where its owner put something else at its place."""
    place = tmp_path / "out"
    for change in range(200):
        shutil.rmtree(place, ignore_errors=True)
        shutil.rmtree(private_path(place), ignore_errors=True)
        publish(place, *written("old"))
        after_kill(change, lambda: publish(place, *written("new"), replace=True))
        if not place.exists():
            break
        check_free(place, replace=True)
    place.mkdir()
    for _ in range(2):
        with pytest.raises(OutputError, match=r"lies in .*old-public, and something else is at"):
            check_free(place, replace=True)
    place.rmdir()
    check_free(place, replace=True)
    assert found(place) == "old"


def test_halves_of_two_releases_are_not_replaced(tmp_path: Path) -> None:
    for words in ("one", "two"):
        publish(tmp_path / words, *written(words))
    shutil.rmtree(tmp_path / "two.private")
    os.rename(tmp_path / "one.private", tmp_path / "two.private")
    with pytest.raises(OutputError, match="halves of two releases"):
        publish(tmp_path / "two", *written("new"), replace=True)


def planted(place: Path, mode: int = 0o755) -> Path:
    """A folder that looks like that of a run which died."""
    aside = place.with_name(f".{place.name}.abc.staging")
    (aside / "public").mkdir(parents=True)
    aside.chmod(mode)
    return aside


@pytest.mark.parametrize("how", ["numbers", "copied", "old"])
def test_what_others_planted_is_not_obeyed(how: str, tmp_path: Path) -> None:
    """Anybody may make a folder beside a release; nobody but its user has one of mode 0700."""
    place = tmp_path / "out"
    publish(place, *written("mine"))
    aside = planted(place)
    if how == "numbers":
        number = private_path(place).stat().st_ino
        (aside / "lock").write_text(f"{place.stat().st_ino} {number}")
        shutil.rmtree(aside / "public")
        (aside / "private").mkdir()
    elif how == "copied":
        for mark in ("copied", "arriving"):
            (aside / mark).touch()
    else:
        (aside / "old-public").mkdir()
    with pytest.raises(OutputError, match="exists already"):
        publish(place, *written("new"))
    assert found(place) == "mine"
    publish(place, *written("new"), replace=True)
    assert found(place) == "new"
    assert aside.exists()


def test_a_run_that_ends_beside_a_dead_one_does_not_wedge_the_place(tmp_path: Path) -> None:
    """One is killed with the old release aside while another is already writing."""
    place = tmp_path / "out"
    publish(place, *written("old"))
    public, private = written("new")

    def meanwhile(folder: Path) -> None:
        for change in itertools.count():
            assert after_kill(change, lambda: publish(place, *written("dead"), replace=True))
            if not place.exists():
                break
        public(folder)

    publish(place, meanwhile, private, replace=True)
    assert found(place) == "new"
    check_free(place, replace=True)
    assert {p.name for p in tmp_path.iterdir()} == {"out", "out.private"}


def test_a_name_without_room_beside_it_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="too long"):
        check_free(tmp_path / ("x" * 238), replace=False)
    publish(tmp_path / ("x" * 237), *written("new"))
    assert found(tmp_path / ("x" * 237)) == "new"
