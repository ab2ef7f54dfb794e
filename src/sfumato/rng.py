"""One secret seed -> independent streams, one for each step of a plan.

A stream depends on the seed, the index of the step and a name, never on the order in which
streams are asked for nor on the number of threads, so that the same plan, seed and input give
the same bytes.
"""

from __future__ import annotations

import hashlib
import operator
import secrets
from typing import TYPE_CHECKING

from .errors import ParameterError

if TYPE_CHECKING:
    import numpy as np

SEED_BITS = 128


def draw_seed() -> int:
    """A fresh secret seed from the operating system."""
    return secrets.randbits(SEED_BITS)


def checked_seed(seed: object) -> int:
    """A seed that somebody gave, if it is one."""
    try:
        number = operator.index(seed)  # type: ignore[arg-type]
    except TypeError:
        number = -1
    if isinstance(seed, bool) or number < 0:
        raise ParameterError(
            f"a seed is a non-negative whole number, not {seed!r}", remedy="leave it out"
        )
    return number


def stream(seed: int, step: int, name: str) -> np.random.Generator:
    """The generator of one step.

    The key is a hash, so that streams of related seeds are unrelated, and Philox takes it whole.

    >>> float(stream(0, 1, "noise").random()) == float(stream(0, 1, "noise").random())
    True
    >>> float(stream(0, 1, "noise").random()) == float(stream(0, 2, "noise").random())
    False
    """
    import numpy as np

    if seed < 0:
        raise ValueError(f"a seed is a non-negative integer, not {seed}")
    digest = hashlib.sha256(f"sfumato/{seed}/{step}/{name}".encode()).digest()
    key = np.frombuffer(digest[:16], dtype="<u8").astype(np.uint64)
    return np.random.Generator(np.random.Philox(key=key))


def children(rng: np.random.Generator, count: int) -> list[np.random.Generator]:
    """Generators of their own for work that runs side by side, whatever kind `rng` is.

    Each has a key of 128 bits drawn from `rng`, so that it is as secret as its parent.
    """
    import numpy as np

    keys = rng.integers(2**64, size=(count, 2), dtype=np.uint64)
    return [np.random.Generator(np.random.Philox(key=key)) for key in keys]
