"""The reference pages and the types of lazily loaded names, made from the declarations:
`python -m sfumato.cli.reference docs/reference`."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable
from pathlib import Path

import sfumato

from ..registry import KINDS, Entry, entries
from ..release.plan.facts import facts, taking, toml_or_dash

_TITLES = {
    "method": "Methods",
    "partitioner": "Searches",
    "verb": "Verbs",
    "measure": "Measures",
    "criterion": "Criteria",
    "poset": "Posets",
    "attack": "Attacks",
    "rule": "Rules",
    "table-method": "Table methods",
    "engine": "Engines",
}
_MADE = "<!-- Made by `make docs` from the declarations; edit those instead. -->"


def page(kind: str) -> str:
    """One page for one kind of thing."""
    parts = [f"# {_TITLES[kind]}", _MADE]
    parts += [_section(entry) for entry in entries(kind)]
    return "\n\n".join(parts) + "\n"


def _section(entry: Entry) -> str:
    found = facts(entry)
    alias = f" (also {', '.join(f'`{a}`' for a in found['aliases'])})" if found["aliases"] else ""
    parts = [f"## `{found['name']}`{alias}", found["about"]]
    if found["candidate"]:
        parts.append(" ".join(taking(found["candidate"])))
    if found["acts_on"]:
        parts.append(f"Acts on {found['acts_on']}.")
    if found["parameters"]:
        rows = ["| parameter | values | default | meaning |", "|---|---|---|---|"]
        for p in found["parameters"]:
            default = "needed" if p["required"] else f"`{toml_or_dash(p['default'])}`"
            values = p["domain"].replace("|", "\\|")
            rows.append(f"| `{p['name']}` | {values} | {default} | {p['meaning']} |")
        parts.append("\n".join(rows))
    if found["paper"]:
        parts.append(f"Paper: {found['paper']}")
    parts.append(f"```toml\n{found['example'].rstrip()}\n```")
    return "\n\n".join(parts)


def public() -> str:
    """The page of the public names, each with the first sentence that is said of it."""
    rows = ["| `sf.` | meaning |", "|---|---|"]
    for name in sorted((*sfumato._WHERE, *sfumato._MODULES)):
        about = inspect.getdoc(getattr(sfumato, name)) or ""
        first = " ".join(about.split("\n\n")[0].split()).split(". ")[0].rstrip(".:")
        rows.append(f"| `{name}` | {first} |")
    said = "What `import sfumato as sf` offers; everything else is imported from its own module."
    return "\n\n".join(["# Public names", _MADE, said, "\n".join(rows)]) + "\n"


def numbers() -> str:
    """The page of the public numbers: what each tells of the original, and how precisely."""
    said = (
        "What `evidence.json` and the report say of a measure. *release*: it can be counted on the "
        "published data, and stands as it is. *domain*: besides that it needs the ends and "
        "categories of columns, for which those of the release are taken. *records*, *values*: it "
        "compares with the original, which is taken as the release lets anyone see it (numbers "
        "beyond the published ends stand at the end, categories that no cell shows are missing, "
        "columns that are not published have one value). Such figures are rounded to at most the "
        "decimals below, of n records to steps of at least 5/n times the width of their bounds or "
        "their own size, up or down by the secret seed, variances and their like by how far out "
        "published numbers lie as well; counts among their details, and figures "
        "before masking that one record can set, are the owner's. Of steps the public reads the "
        "parameters and what the release shows by itself."
    )
    rows = ["| measure | depends on | decimals | details as they are |", "|---|---|---|---|"]
    for entry in (*entries("measure"), *entries("attack")):
        cls = entry.load()
        exact = cls.depends in ("release", "domain")
        most = "all" if exact and cls.decimals is None else "by n"
        most = most if cls.decimals is None else f"{cls.decimals}, by n"
        shown = "all" if exact else ", ".join(cls.shown) or "none"
        rows.append(f"| `{entry.name}` | {cls.depends} | {most} | {shown} |")
    return "\n\n".join(["# Public numbers", _MADE, said, "\n".join(rows)]) + "\n"


def stubs() -> dict[str, str]:
    """The types of the package's lazily loaded names, by the file that tells them."""
    modules = [place.rpartition(".")[::2] for place in sfumato._MODULES.values()]
    return {
        "__init__.pyi": _stub(
            [*modules, *((module, name) for name, module in sfumato._WHERE.items())],
            "\n__version__: str\n_MODULES: dict[str, str]\n_WHERE: dict[str, str]\n",
        ),
        "things.pyi": _stub(
            entry.target.removeprefix("sfumato.").partition(":")[::2]
            for entry in entries()
            if entry.target.startswith("sfumato.")
        ),
    }


def _stub(places: Iterable[tuple[str, str]], more: str = "") -> str:
    lines = [f"from .{module} import {name} as {name}\n" for module, name in sorted(places)]
    return "# Made by `make docs`; edit the .py beside it instead.\n" + "".join(lines) + more


def write(folder: Path) -> list[Path]:
    """Every page; returns the files."""
    folder.mkdir(parents=True, exist_ok=True)
    titles = {kind: _TITLES[kind].lower().replace(" ", "-") for kind in KINDS if any(entries(kind))}
    pages = {f"{title}.md": page(kind) for kind, title in titles.items()}
    pages |= {"public.md": public(), "public-numbers.md": numbers()}
    for name, text in pages.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [folder / name for name in pages]


if __name__ == "__main__":
    for path in write(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/reference")):
        print(path)
    for name, text in stubs().items():
        Path(sfumato.__path__[0], name).write_text(text, encoding="utf-8")
