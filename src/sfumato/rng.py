"""One secret seed -> independent streams, one for each step of a plan.

A stream depends on the seed, the index of the step and a name, never on the order in which
streams are asked for nor on the number of threads, so that the same plan, seed and input give
the same bytes.
"""

from __future__ import annotations

import hashlib
import hmac
import json
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


class Key:
    """A secret from which the keys of steps, columns and records are derived.

    Random numbers of a record (`kernels.draws.Draws`) depend on a key, and on the record's number.
    The key of a step depends on its name and parameters: were it one key for all, two releases with
    noise e and 2e would give the values back.

    >>> weak, strong = Key.of_seed(0).of("noise", 0.1), Key.of_seed(0).of("noise", 0.2)
    >>> weak.words.tolist() == strong.words.tolist()
    False
    """

    __slots__ = ("_secret", "lasting")

    def __init__(self, secret: bytes, *, lasting: bool = False) -> None:
        self._secret = secret
        self.lasting = lasting
        """Whether what people get from it is to be the same in every release."""

    @classmethod
    def of_seed(cls, seed: int) -> Key:
        """The key that all of a release's keys come from."""
        return cls(hashlib.sha256(f"sfumato/records/{seed}".encode()).digest())

    @classmethod
    def drawn(cls, rng: np.random.Generator) -> Key:
        """A key from a stream, where records are masked without a plan."""
        return cls(rng.bytes(32))

    def of(self, *words: object) -> Key:
        """The key of what these words name; lists and tables of words are told apart."""
        text = json.dumps(words, sort_keys=True, default=str, separators=(",", ":"))
        return Key(hmac.digest(self._secret, text.encode(), "sha256"), lasting=self.lasting)

    @property
    def words(self) -> np.ndarray:
        """uint64 (2): what Philox takes."""
        import numpy as np

        return np.frombuffer(self._secret[:16], dtype="<u8").astype(np.uint64)

    def stream(self) -> np.random.Generator:
        """A generator for what belongs to no record."""
        import numpy as np

        # The other half: a record's numbers are not those of the stream.
        key = np.frombuffer(self._secret[16:32], dtype="<u8").astype(np.uint64)
        return np.random.Generator(np.random.Philox(key=key))

    def __repr__(self) -> str:
        return "Key(...)"


def children(rng: np.random.Generator, count: int) -> list[np.random.Generator]:
    """Generators of their own for work that runs side by side, whatever kind `rng` is.

    Each has a key of 128 bits drawn from `rng`, so that it is as secret as its parent.
    """
    import numpy as np

    keys = rng.integers(2**64, size=(count, 2), dtype=np.uint64)
    return [np.random.Generator(np.random.Philox(key=key)) for key in keys]
