"""The rooms of the page, in the order of the work: the `ROOM` of each module."""

from .. import forms
from . import data, explore, hierarchies, protect, publish, risk, tables, utility


def warm() -> None:
    """Import what pages need when they are first asked for, so that nobody waits for it."""
    explore.warm()
    forms.warm()


ROOMS = (
    data.ROOM,
    hierarchies.ROOM,
    protect.ROOM,
    explore.ROOM,
    risk.ROOM,
    utility.ROOM,
    tables.ROOM,
    publish.ROOM,
)
