"""One plan on the desk: its text, what was changed, and the work that was done with it.

The text is read from the file whenever it is asked for, so that an editor beside the studio is no
stranger. Whoever changes it says which text he saw; if it is another by now, nothing is changed and
`Conflict` says what happened meanwhile. What was changed can be undone, also after a restart: every
text is kept in the plan's room, a folder beside it that only its owner can enter.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..addresses import ELSEWHERE
from ..aside import write_text
from ..errors import Complaint, InputError, OutputError, PlanError, SfumatoError
from ..machine import cannot_write
from ..release.plan.plan import Plan
from . import trust
from .jobs import Job, Jobs

ROOM = ".studio"
"""What the name of a plan's room ends in."""
_MOST = 200
"""Texts that are kept."""
_LARGEST = 4 * 1024 * 1024
"""Bytes of a plan."""


class Conflict(SfumatoError):
    """The plan is not the one that was looked at when a change was made."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = tuple(lines)
        super().__init__(
            "the plan was changed elsewhere since this page was made; your change was not applied",
            remedy="look at what changed, then do it again",
        )


class Desk:
    """A plan file, and the room beside it."""

    def __init__(self, path: Path, root: Path | None = None) -> None:
        self.path = path.absolute()
        self.root = root
        """The folder that the studio was started in; what the plan names beyond it is asked for."""
        self.allowed: set[str] = set()
        """What of it whoever looks at the plan has let it read. It is kept here alone: what lies
        beside the plan may have come with it."""
        self.base = self.path.parent
        self.room = self.path.with_suffix(ROOM)
        self.key = digest(str(self.path))[:12]
        self.jobs = Jobs(self.room / "jobs")
        self.said = ""
        """What the next page says once: a deed that was done."""
        self._held = threading.RLock()
        self._parsed: tuple[str, Plan | PlanError] | None = None

    @property
    def name(self) -> str:
        """What people call it."""
        return self.path.stem

    # --- the plan ---

    @property
    def text(self) -> str:
        """The plan's text; none before it is drafted."""
        try:
            if self.path.stat().st_size > _LARGEST:
                raise InputError(f"{self.path.name} is too large for a plan")
            # Line ends stay as they are.
            return self.path.read_bytes().decode("utf-8-sig")
        except FileNotFoundError:
            return ""
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{self.path.name} cannot be read: {error}") from error

    @property
    def version(self) -> str:
        """Which text it is."""
        return digest(self.text)[:16]

    @property
    def plan(self) -> Plan:
        """What the text says; `PlanError` names everything that is wrong."""
        found = self._read(self.text)
        if isinstance(found, PlanError):
            raise found
        return found

    @property
    def problems(self) -> tuple[Complaint, ...]:
        """What is wrong with the plan."""
        if not self.text:
            return ()
        found = self._read(self.text)
        return found.complaints if isinstance(found, PlanError) else ()

    def _read(self, text: str) -> Plan | PlanError:
        with self._held:
            if self._parsed is None or self._parsed[0] != text:
                self._parsed = text, self._parse(text)
            return self._parsed[1]

    def _parse(self, text: str) -> Plan | PlanError:
        try:
            return Plan.parse(text, name=self.path.name, base=self.base)
        except PlanError as error:
            return error
        except RecursionError:
            return PlanError(self.path.name, [Complaint("", "is nested too deeply", "mend it")])

    @property
    def beyond(self) -> tuple[str, ...]:
        """What the plan would reach outside of the folder, and nobody has let it yet."""
        if self.root is None:
            return ()
        found = trust.beyond(self.text, self.base, self.root)
        return () if self.allowed.issuperset(found) else found

    def allow(self, seen: str | None) -> None:
        """Let the plan reach what stood on the page that was looked at."""
        with self._held:
            self._check_seen(self.text, seen)
            self.check_secrets()
            self.allowed.update(self.beyond)

    def check_secrets(self) -> None:
        """A plan with a password is neither shown nor kept: an error that says where it belongs."""
        if trust.passwords(self.text):
            raise InputError(
                "the plan holds a password, or what may be one, in an address",
                remedy=f"take it out in an editor; {ELSEWHERE}",
            )

    def check_room(self) -> None:
        """An error where what the room holds may be somebody else's."""
        if why := trust.foreign(self.room):
            raise OutputError(
                f"what is kept beside the plan is not used: {why}",
                remedy=f"remove {self.room.name}, or open a copy of the plan and its data in a "
                "folder of your own",
            )

    def edit(self, what: str, change: Callable[[str], str], seen: str | None = None) -> None:
        """Change the plan's text. A change after which more is wrong than before is refused with
        what would be wrong; `seen` is the version that whoever asks has looked at."""
        with self._held:
            self.check_room()
            self.check_secrets()
            before = self.text
            self._check_seen(before, seen)
            text = change(before)
            if text == before:
                return
            was, now = self._read(before) if before else None, self._parse(text)
            if isinstance(now, PlanError):
                listed = was.complaints if isinstance(was, PlanError) else ()
                known = {(c.where, c.what) for c in listed}
                new = [c for c in now.complaints if (c.where, c.what) not in known]
                if new:
                    raise PlanError(f"what would become of {self.path.name}", new)
            history = self._history(before)
            was_kept = history["texts"][: history["at"] + 1]
            kept = [*was_kept, {"what": what, "text": self._put_by(text)}][-_MOST:]
            self._write(text)
            self._keep({"at": len(kept) - 1, "texts": kept})

    def undo(self, seen: str | None = None) -> str:
        """Take back the last change; what it was."""
        return self._move(-1, seen)

    def redo(self, seen: str | None = None) -> str:
        """Make a change again that was taken back."""
        return self._move(+1, seen)

    @property
    def undoable(self) -> str:
        """What would be taken back; nothing if nothing can be."""
        history = self._history(self.text)
        return str(history["texts"][history["at"]]["what"]) if history["at"] > 0 else ""

    @property
    def redoable(self) -> str:
        """What would be made again."""
        history = self._history(self.text)
        after = history["texts"][history["at"] + 1 :]
        return str(after[0]["what"]) if after else ""

    def _move(self, by: int, seen: str | None) -> str:
        with self._held:
            self.check_room()
            self.check_secrets()
            text = self.text
            self._check_seen(text, seen)
            history = self._history(text)
            at = history["at"] + by
            if not 0 <= at < len(history["texts"]):
                return ""
            done = history["texts"][max(at, history["at"])]["what"]
            target = self._kept(history["texts"][at]["text"])
            if target is None:
                raise InputError(
                    "what the plan said then is not kept any more", remedy="change it by hand"
                )
            self._write(target)
            self._keep(history | {"at": at})
            return str(done)

    def _check_seen(self, text: str, seen: str | None) -> None:
        if seen is None or seen == digest(text)[:16]:
            return
        known = [one["text"] for one in self._history(text)["texts"]]
        was = next((self._kept(one) or "" for one in known if one[:16] == seen), "")
        lines = difflib.unified_diff(
            was.splitlines(), text.splitlines(), "when you looked", "now", lineterm="", n=1
        )
        raise Conflict([*lines] if was else [])

    def _history(self, text: str) -> dict[str, Any]:
        """The changes so far, each with the digest of the text after it. A text from elsewhere, an
        editor say, is a change like others."""
        now = digest(text)
        try:
            found = json.loads((self.room / "history.json").read_text(encoding="utf-8"))
            at, texts = int(found["at"]), [*found["texts"]]
            one = [(str(each["what"]), str(each["text"])) for each in texts][at]
            if at < 0:
                raise ValueError
        except (OSError, ValueError, KeyError, TypeError, IndexError, RecursionError):
            return {"at": 0, "texts": [{"what": "opened", "text": now}]}
        if one[1] != now:
            texts = [*texts[: at + 1], {"what": "a change outside the studio", "text": now}][
                -_MOST:
            ]
            at = len(texts) - 1
        return {"at": at, "texts": texts}

    def _kept(self, name: str) -> str | None:
        """A text that was kept, if it is still what it was."""
        try:
            found = (self.room / "texts" / name).read_bytes().decode("utf-8")
        except (OSError, ValueError):
            return None
        return found if digest(found) == name else None

    def _put_by(self, text: str) -> str:
        """Keep a text; its name."""
        self.make_room()
        name = digest(text)
        place = self.room / "texts" / name
        if not place.exists():
            write_text(place, text, private=True)
        return name

    def _write(self, text: str) -> None:
        self._put_by(self.text)  # what is there now may be from an editor
        write_text(self.path, text, private=True)

    def _keep(self, history: Mapping[str, Any]) -> None:
        self.make_room()
        write_text(self.room / "history.json", json.dumps(history), private=True)
        wanted = {one["text"] for one in history["texts"]}
        for one in (self.room / "texts").iterdir():
            if one.name not in wanted:
                one.unlink(missing_ok=True)

    def make_room(self) -> None:
        """The folder for what the studio keeps beside the plan, for its owner alone."""
        try:
            self.check_room()
            for folder in (self.room, self.room / "texts"):
                folder.mkdir(mode=0o700, exist_ok=True)
                folder.chmod(0o700)
        except OSError as error:
            raise cannot_write(self.room, error) from error

    # --- work ---

    def start(self, kind: str, what: str, words: Mapping[str, Any] | None = None) -> Job:
        """Begin work in a process of its own: the task `kind`, with the plan as it is now. `what`
        tells people what is being done."""
        self.make_room()
        self.check_secrets()
        return self.jobs.start(kind, what, words or {}, self.path, self.text)

    def once(self, kind: str, what: str, words: Mapping[str, Any] | None = None) -> Job:
        """The same, unless it is under way: two pages that ask for it get one."""
        with self._held:
            found = self.current(kind, words or {})
            if found is not None and found.state == "running":
                return found
            return self.start(kind, what, words)

    def last(self, kind: str, words: Mapping[str, Any] | None = None) -> Job | None:
        """The newest work of a kind (and with these words), in whatever state."""
        return self.jobs.last(kind, words)

    def current(self, kind: str, words: Mapping[str, Any] | None = None) -> Job | None:
        """The same if it was done with the plan as it is now, and with the same input."""
        found = self.last(kind, words)
        return found if found is not None and found.of(self.text, self.path) else None


def digest(text: str) -> str:
    """A short name for a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
