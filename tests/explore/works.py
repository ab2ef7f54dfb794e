"""Jobs that a worker can be sent; it loads little else, so that many can be started."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass

from sfumato.errors import MethodError


@dataclass(frozen=True)
class Job:
    """A number to be worked on, or what ends its worker."""

    number: int
    does: str = ""

    @property
    def key(self) -> str:
        return str(self.number)


@dataclass(frozen=True)
class Worked:
    """What came of a job."""

    number: int
    pair: tuple[int, tuple[float, ...]] = (0, ())


@dataclass(frozen=True)
class Works:
    """A ground that can be sent to a process of its own."""

    key: str = "works"

    def tried(self, job: Job) -> Worked:
        if job.does == "dies":
            os.kill(os.getpid(), signal.SIGKILL)
        if job.does == "fails":
            raise MethodError("no such luck", remedy="another number")
        if job.does == "odd":
            raise Unsendable(lambda: None)
        if job.does == "prints":
            print("words of a method")
        return Worked(job.number**2, (job.number, (job.number / 3, 1e-300)))


class Unsendable(Exception):
    """An error that cannot be pickled."""
