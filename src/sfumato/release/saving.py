"""What is left of a release that could not be written, or was interrupted."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..data.linkage.earlier import EVIDENCE
from ..errors import Unsettled
from ..machine import NOTHING, refused


class Target:
    """Where a release is to appear, and what was there before."""

    def __init__(self, public: str | Path) -> None:
        self.named, self.path = public, Path(os.path.abspath(public))
        self._before, self._aside = self._made(), set(self._staging())

    def left(self) -> str:
        """What is there now, in words."""
        now = self._made()
        left = [one for one in self._staging() if one not in self._aside]
        if now is None and self._before is not None and left:
            return (
                f"the release that was to be replaced lies in {left[0]}; run again: it is put back"
            )
        said = NOTHING if now is None else f"{NOTHING}, and the release that was there is as it was"
        if now not in (None, self._before):
            said = f"the release is there already: {self.named}"
        return f"{said}; {left[0]} is left, which the next run removes" if left else said

    def _made(self) -> int | None:
        """When the evidence of a release was written, which moving and copying keep."""
        try:
            return (self.path / EVIDENCE).stat().st_mtime_ns
        except OSError:
            return None

    def _staging(self) -> list[Path]:
        return sorted(self.path.parent.glob(f".{glob.escape(self.path.name)}.*.staging"))


@contextmanager
def saving(public: str | Path, *, aside: bool = False) -> Iterator[None]:
    """A disk or a memory that does not suffice is told as such, with what is left."""
    target = Target(public)
    try:
        yield
    except Unsettled:
        raise  # it tells what is left
    except Exception as error:
        told = refused(error, target.path.parent, left=target.left(), aside=aside)
        if told is None:
            raise
        raise told from error
