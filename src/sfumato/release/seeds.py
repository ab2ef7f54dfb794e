"""Seeds that can be guessed: told wherever they are used, and refused where a release is saved.

Whoever has the public folder and tries all small seeds finds the one that gives its bytes back, and
with it the order of the records, the noise, keys and pseudonyms.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import ParameterError
from ..rng import checked_seed

if TYPE_CHECKING:
    from .plan.plan import Plan

GUESSABLE = 2**64
"""Seeds below it can all be tried; one that is drawn has 128 bits."""
_TOLD = (
    "the seed was given and can be guessed: whoever tries all small seeds undoes the shuffle and "
    "the noise, and finds keys and pseudonyms; publish one made without a seed"
)
_PUBLIC = (
    "made with a seed that can be guessed: whoever tries all small seeds can undo the shuffle and "
    "the noise, and find keys and pseudonyms"
)


def checked_or_told(seed: int, notes: list[str]) -> int:
    """A seed that somebody gave, with a note where it can be guessed."""
    number = checked_seed(seed)
    if number < GUESSABLE:
        notes.append(_TOLD)
    return number


def guessable(seed: int) -> str:
    """What everybody is told of a release with this seed; "" where nobody can guess it."""
    return _PUBLIC if seed < GUESSABLE else ""


def allowed(plan: Plan, seed: int, asked: bool = False) -> Plan:
    """The plan of a release that is saved with this seed, which says that it may be; refused where
    the seed can be guessed and neither the plan nor whoever asked says that this is meant."""
    if seed >= GUESSABLE:
        return plan
    if not (asked or plan.output.allow_guessable_seed):
        raise ParameterError(
            f"a release with the seed {seed} is not saved: seeds below 2^64 can be guessed, and "
            "whoever does undoes the shuffle and the noise, and finds keys and pseudonyms",
            remedy="leave the seed out; to repeat a release, give the seed of its private folder; "
            "for people who do not exist, --allow-guessable-seed "
            "(allow_guessable_seed=True, [output] allow-guessable-seed = true)",
        )
    said = plan.output.model_copy(update={"allow_guessable_seed": True})
    return plan.with_(output=said)
