"""The lock: every dependency at one version, by the hashes of its files, and from nowhere."""

from __future__ import annotations

import re
import tomllib

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.supply.lock import LOCK, ROOT, entries, pins_of, sections

TEXT = LOCK.read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_every_line_is_a_version_with_hashes_and_no_address() -> None:
    assert "://" not in TEXT
    assert not re.search(r"^\s*-(?!-hash=sha256:[0-9a-f]{64})", TEXT, flags=re.M)
    for name, block in entries(TEXT).items():
        head, *hashes = block.rstrip().split(" \\\n")
        assert str(Requirement(head).specifier).startswith("=="), name
        assert hashes, name
        assert all(re.fullmatch(r"    --hash=sha256:[0-9a-f]{64}", one) for one in hashes), name


def test_each_section_holds_what_its_extras_ask_for() -> None:
    found = sections(TEXT)
    assert list(found) == ["run", "studio", "dev", "spark", "gpu"]
    asked = {
        "run": [*PROJECT["project"]["dependencies"], *PROJECT["build-system"]["requires"]],
        **{name: PROJECT["project"]["optional-dependencies"][name] for name in list(found)[1:]},
    }
    there: dict[str, str] = {}
    for name, wanted in asked.items():
        assert not there.keys() & found[name].keys()
        there |= found[name]
        for line in wanted:
            one = Requirement(line)
            pinned = Requirement(there[canonicalize_name(one.name)].split(" \\\n")[0])
            (version,) = (str(part.version) for part in pinned.specifier)
            assert version in one.specifier, line


def test_what_builds_sfumato_is_pinned_and_locked() -> None:
    (needed,) = map(Requirement, PROJECT["build-system"]["requires"])
    assert str(needed.specifier).startswith("==")
    build = {"hatchling", "editables", "packaging", "pathspec", "pluggy", "trove-classifiers"}
    assert build <= sections(TEXT)["run"].keys()


def test_the_set_up_installs_by_hash() -> None:
    made = (ROOT / "Makefile").read_text(encoding="utf-8")
    installs = re.findall(r"\$\(PIP\) [^\n]*?(?= &&|\n)", made)
    assert installs
    for line in installs:
        assert "--require-hashes -r" in line or "--no-deps --no-build-isolation" in line


def test_two_versions_of_a_package_are_both_kept() -> None:
    text = (
        "a==1 ; python_version < '3.12' \\\n    --hash=sha256:" + "0" * 64 + "\n"
        "a==2 ; python_version >= '3.12' \\\n    --hash=sha256:" + "1" * 64 + "\n"
    )
    assert pins_of(entries(text)).splitlines() == [
        "a==1 ; python_version < '3.12' ",
        "a==2 ; python_version >= '3.12' ",
    ]
