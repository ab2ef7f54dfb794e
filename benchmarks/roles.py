"""How many kinds and roles `sfumato init` drafts right, and whether anything grave is published.

    python benchmarks/roles.py              the roles data, and our own in sixteen languages
    python benchmarks/roles.py --wrong      with every column that is not right
    python benchmarks/roles.py --developed  without the files that were held out

The roles data are looked for in SFUMATO_DATA, else in ../shared/data; right is any role that its
table lists, and for what is listed as insensitive also a stricter one, which counts as over-strict.
Files of our own: tests/data/recognize/people_files.py and office_files.py, of which half was held
out, and far_files.py in eight further languages.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.data.recognize.scoring import (  # noqa: E402
    HEADING,
    Score,
    developed,
    far,
    held_out,
    own,
    shared,
    total,
)

DATA = Path(os.environ.get("SFUMATO_DATA", ROOT.parent / "shared" / "data"))


def show(scores: list[Score], title: str, *, wrong: bool) -> None:
    """Print the files and their sum."""
    for one in scores:
        print(one.line)
        if wrong and one.wrong:
            print(*(f"    {line}" for line in one.wrong), sep="\n")
    print(total(title, scores).line, "", sep="\n")


def main() -> None:
    wrong = "--wrong" in sys.argv
    print(HEADING)
    if (DATA / "roles").is_dir():
        show(shared(DATA), "the roles data", wrong=wrong)
    else:
        print(f"the roles data are not at {DATA}: set SFUMATO_DATA")
    show(own(developed()), "our own, developed on", wrong=wrong)
    if "--developed" not in sys.argv:
        show(own(held_out()), "our own, held out", wrong=wrong)
    show(own(far()), "our own, further languages", wrong=wrong)


if __name__ == "__main__":
    main()
