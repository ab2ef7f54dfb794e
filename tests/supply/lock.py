"""`make lock`: requirements.lock, every version that the checks run against, with its hashes.

    python3 -m tests.supply.lock [--upgrade]

It needs uv. The file holds the hashes of every wheel and source of a version, so that other systems
and newer Pythons can install it as well, and no address: whoever installs says from where. Its
sections follow one another, so that a set-up that needs less takes a beginning of it: what runs and
builds Sfumato, what the studio needs besides, what developers need, what Spark needs, what a GPU.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LOCK = ROOT / "requirements.lock"
HEAD = "# The versions that the checks run against, with the hashes of their files (`make lock`).\n"
SECTIONS = {
    "run": (),
    "studio": ("studio",),
    "dev": ("studio", "dev"),
    "spark": ("studio", "dev", "spark"),
    "gpu": ("studio", "dev", "spark", "gpu"),
}
"""By section, the extras that it and the sections above it hold."""
TITLES = {
    "run": "# == run: what runs Sfumato, and what builds it",
    "studio": "# == studio: what the extra `studio` needs besides",
    "dev": "# == dev: what developers need besides",
    "spark": "# == spark: what the extra `spark` needs besides",
    "gpu": "# == gpu: what the extra `gpu` needs besides",
}
EDITABLES = "editables"
"""What hatchling asks for besides, where a project is installed as it stands."""
_PINNED = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^]]*\])?==([^\s;]+)", re.M)


def entries(text: str) -> dict[str, str]:
    """By package, its lines: version, marker and hashes."""
    found: dict[str, str] = {}
    for block in re.split(
        r"^(?=[A-Za-z0-9])", re.sub(r"^\s*#.*\n", "", text, flags=re.M), flags=re.M
    ):
        if pinned := _PINNED.match(block):
            # Two, where an older Python needs an older version.
            found[pinned[1]] = found.get(pinned[1], "") + block.rstrip() + "\n"
    return found


def sections(text: str) -> dict[str, dict[str, str]]:
    """The lock's entries by section."""
    found = re.split(r"^# == (\w+):.*\n", text, flags=re.M)
    return {name: entries(part) for name, part in zip(found[1::2], found[2::2], strict=True)}


def compiled(extras: tuple[str, ...], pins: str) -> dict[str, str]:
    """What uv resolves for these extras, with the versions of `pins` where it names them."""
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as place:
        build, kept = Path(place) / "build.in", Path(place) / "pins.txt"
        build.write_text("\n".join([*wanted["build-system"]["requires"], EDITABLES, ""]))
        kept.write_text(pins)
        words = [
            *("uv", "pip", "compile", "--quiet", "--universal", "--python-version", "3.11"),
            *("--fork-strategy", "fewest", "--generate-hashes", "--no-annotate", "--no-header"),
            # pip asks for the hash of what a package with its extras is, too.
            "--no-strip-extras",
            *("--no-emit-index-url", "--no-emit-find-links", "--constraints", str(kept)),
            *(word for extra in extras for word in ("--extra", extra)),
        ]
        made = subprocess.run(
            [*words, str(ROOT / "pyproject.toml"), str(build)],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
    return entries(made.stdout)


def pins_of(found: dict[str, str]) -> str:
    """Names, versions and markers alone."""
    lines = "".join(found.values()).splitlines()
    return "".join(f"{line.removesuffix(chr(92))}\n" for line in lines if _PINNED.match(line))


def made(pins: str) -> str:
    """The lock. What a section resolves to is what the whole does, so it keeps to that."""
    whole = compiled(SECTIONS["gpu"], pins)
    text, above = HEAD, set[str]()
    for name, extras in SECTIONS.items():
        chosen = compiled(extras, pins_of(whole))
        lines = "".join(whole[package] for package in chosen if package not in above)
        text += f"\n{TITLES[name]}\n{lines}"
        above |= set(chosen)
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--upgrade", action="store_true", help="take the newest versions")
    given = parser.parse_args()
    known = LOCK.read_text(encoding="utf-8") if LOCK.is_file() and not given.upgrade else ""
    try:
        LOCK.write_text(made(pins_of(entries(known))), encoding="utf-8")
    except FileNotFoundError:
        sys.exit("`make lock` needs uv: install it, and run again")
    except subprocess.CalledProcessError as error:
        sys.exit(error.returncode)


if __name__ == "__main__":
    main()
