"""A plan file changed line by line, so that its order and its comments stay."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import count, takewhile
from pathlib import Path
from typing import Any

from ...addresses import is_address
from ...errors import SfumatoError
from . import toml
from .plan import Plan
from .reader import FILES

_ABSENT = object()


def rewritten(text: str, plan: Plan, base: Path | None = None) -> str:
    """The text of a plan file, changed so that it says `plan`.

    What does not change stays as it was written, but for a password, which no plan gets from here.
    Where that does not succeed, the file is written anew, without its comments.
    """
    plan = replace(plan, input=plan.input.bare())
    try:
        file = _File(toml.lines(text))
        now = Plan.parse(text, base=base)
        written = _document(now, base)
        if now.input.bare() != now.input:
            written["input"] |= _relative(now.input.plan_words(), base)
        file.follow(_document(plan, base), written)
        if _same(Plan.parse(file.text, base=base), plan):
            return file.text
    except (SfumatoError, tomllib.TOMLDecodeError, _NotByLines):
        pass
    sections = _document(plan, base)
    body = [
        toml.table(name, one, array=name == "steps")
        for name, given in sections.items()
        for one in (given if isinstance(given, list) else [given])
    ]
    return "\n".join(body)


class _NotByLines(Exception):
    """The file is laid out in a way that is not edited."""


def _same(found: Plan, wanted: Plan) -> bool:
    def sorted_(plan: Plan) -> Plan:
        named = sorted(plan.requirements, key=lambda r: r.name)
        return replace(plan, requirements=tuple(named), columns=dict(plan.columns))

    return sorted_(found) == sorted_(wanted)


def _document(plan: Plan, base: Path | None) -> dict[str, Any]:
    """The sections of a plan, files relative to it."""
    found: dict[str, Any] = tomllib.loads(plan.to_toml())
    for section in ("input", "engine", "require", "measures", "output"):
        if section in found:
            found[section] = _relative(found[section], base)
    if "steps" in found:
        found["steps"] = _relative(found["steps"], base)
    if plan.table is not None:
        # Said in full: a file may have a section for what is the default.
        method = plan.table.protect
        found["table"]["protect"] = {"use": method.name, **method.plan_words()}
    return found


def _relative(given: Any, base: Path | None, key: str = "") -> Any:
    """The same with files named from the plan's folder, as a plan file names them."""
    if isinstance(given, list):
        return [_relative(one, base, key) for one in given]
    if isinstance(given, Mapping):
        return {name: _relative(value, base, name) for name, value in given.items()}
    if key not in FILES or not isinstance(given, str) or not given or is_address(given):
        return given
    if base is None or base == Path():
        return given
    path = Path(given)
    if path.is_relative_to(base):
        return str(path.relative_to(base))
    return str(path.resolve())


@dataclass
class _File:
    """The lines of a plan file."""

    lines: list[str]

    @property
    def text(self) -> str:
        return "\n".join(self.lines) + "\n"

    def follow(self, wanted: Mapping[str, Any], now: Mapping[str, Any]) -> None:
        """Change every section that differs."""
        for name in now:
            if name not in wanted and now[name]:
                self._drop_section(name)
        for name, words in wanted.items():
            if name == "steps":
                self._steps(words, now.get("steps", []))
            else:
                self._section((name,), words, now.get(name))

    def _section(self, path: tuple[str, ...], words: Any, now: Any) -> None:
        if now is None:
            self._append(toml.table(path[0], words))
            return
        for key in [*now, *(key for key in words if key not in now)]:
            before, value = now.get(key, _ABSENT), words.get(key, _ABSENT)
            if before is _ABSENT or value is _ABSENT or before != value:
                self._key((*path, key), value, before)

    def _key(self, path: tuple[str, ...], value: Any, before: Any) -> None:
        """One key of a section changed, added or removed."""
        places = self._places()
        if path not in places:
            if before is not _ABSENT:
                raise _NotByLines
            self._insert(path, value)
        elif value is _ABSENT:
            first, last = self._span(places[path])
            self.lines[first:last] = _left_of(self.lines[first:last])
        elif self.lines[places[path]].lstrip().startswith("["):
            self._section(path, value, before)
        else:
            self._replace(places[path], path[-1], value)

    def _replace(self, line: int, key: str, value: Any) -> None:
        first, last = self._span(line)
        comment = _comment(self.lines[last - 1]) if last == first + 1 else ""
        self.lines[first:last] = [f"{toml.key(key)} = {toml.value(value)}{comment}"]

    def _span(self, line: int) -> tuple[int, int]:
        """The lines of a key and its value."""
        for last in range(line + 1, len(self.lines) + 1):
            try:
                if len(tomllib.loads("\n".join(self.lines[line:last]))) == 1:
                    return line, last
            except tomllib.TOMLDecodeError:
                continue
        raise _NotByLines

    def _insert(self, path: tuple[str, ...], value: Any) -> None:
        """A new key at the end of its section."""
        places = self._places()
        if path[:-1] not in places:
            raise _NotByLines
        end = self._end(places[path[:-1]])
        self.lines.insert(end, f"{toml.key(path[-1])} = {toml.value(value)}")

    def _end(self, header: int) -> int:
        """Behind the last key of the section that a line opens."""
        places = self._places().values()
        end = header + 1
        for line in range(header + 1, len(self.lines)):
            if toml.opens(self.lines[line]):
                break
            if line in places:
                end = self._span(line)[1]
        return end

    def _places(self) -> dict[tuple[str, ...], int]:
        """The line of every key, whether its words are joined by hyphens or not."""
        found: dict[tuple[str, ...], int] = {}
        for path, line in toml.lines_of(self.text).items():
            plain = path if path[0] == "columns" else tuple(p.replace("_", "-") for p in path)
            found.setdefault(plain, line - 1)
            found.setdefault(path, line - 1)
        return found

    def _append(self, block: str) -> None:
        while self.lines and not self.lines[-1].strip():
            self.lines.pop()
        self.lines += [*([""] if self.lines else []), *block.rstrip("\n").split("\n")]

    def _drop_section(self, name: str) -> None:
        places = self._places()
        if (name,) not in places or not toml.opens(self.lines[places[name,]]):
            raise _NotByLines
        header = places[name,]
        end = self._end(header)
        self.lines[header:end] = _left_of(self.lines[header:end])

    def _steps(self, wanted: list[Any], now: list[Any]) -> None:
        """Steps in the order of the plan: those that stay, or take another's place, keep their
        lines and comments."""
        if now == wanted:
            return
        if len(self._headers()) != len(now):
            raise _NotByLines
        before, after = ([words["use"] for words in steps] for steps in (now, wanted))
        changes = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
        # From the end, so that the steps before keep their numbers.
        for _, i, i_end, j, j_end in reversed(changes):
            both = min(i_end - i, j_end - j)
            if i + both < i_end:
                self._drop_steps(i + both, i_end)
            if j + both < j_end:
                self._add_steps(i + both, wanted[j + both : j_end])
            for k in reversed(range(both)):
                self._section(("steps", str(i + k)), wanted[j + k], now[i + k])

    def _headers(self) -> list[int]:
        """The lines that begin a step."""
        places = self._places()
        paths = takewhile(lambda path: path in places, (("steps", str(i)) for i in count()))
        return [places[path] for path in paths]

    def _drop_steps(self, first: int, last: int) -> None:
        for header in reversed(self._headers()[first:last]):
            end = self._end(header)
            left = _left_of(self.lines[header:end])
            while not left and end < len(self.lines) and not self.lines[end].strip():
                end += 1
            self.lines[header:end] = left

    def _add_steps(self, at: int, steps: list[Any]) -> None:
        """New steps, so that the first of them is the one with this number."""
        blocks = [toml.table("steps", one, array=True).rstrip("\n").split("\n") for one in steps]
        headers = self._headers()
        if not headers:
            for block in blocks:
                self._append("\n".join(block))
        elif at == len(headers):
            end = self._end(headers[-1])
            self.lines[end:end] = [line for block in blocks for line in ("", *block)]
        else:
            line = headers[at]
            while line and self.lines[line - 1].lstrip().startswith("#"):
                line -= 1
            self.lines[line:line] = [new for block in blocks for new in (*block, "")]


def _left_of(lines: list[str]) -> list[str]:
    """What stays of lines that go: where somebody wrote a comment, all of them as comments."""
    if not any("#" in line and _remarked(line) for line in lines):
        return []
    return [line if line.lstrip().startswith("#") or not line else f"# {line}" for line in lines]


def _remarked(line: str) -> bool:
    """Whether a line holds a comment; in doubt it does."""
    try:
        return line.lstrip().startswith("#") or bool(_comment(line))
    except tomllib.TOMLDecodeError:
        return True


def _comment(line: str) -> str:
    """The comment behind a value, with the blanks before it."""
    whole = tomllib.loads(line)
    for at, sign in enumerate(line):
        if sign != "#":
            continue
        try:
            if tomllib.loads(line[:at]) == whole:
                bare = line[:at].rstrip()
                return line[len(bare) :]
        except tomllib.TOMLDecodeError:
            continue
    return ""
