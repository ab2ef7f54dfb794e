"""Synthetic tables, for demonstrations and tests. Nobody in them exists."""

from __future__ import annotations

from typing import Any

from ..table import Table, table
from .register import ADMISSION_TYPES, KINDS, ROLES, hospital_frame
from .sets import synthetic_sets as synthetic_sets
from .sets import targeting as targeting
from .sets import write_synthetic_sets as write_synthetic_sets
from .sets import write_targeting as write_targeting
from .tables import businesses as businesses
from .tables import torra_towns as torra_towns


def hospital(n: int = 1000, seed: int = 0) -> Table:
    """A believable discharge register: names, dates, places, diagnoses, laboratory values, charges,
    an outcome.

    >>> register = hospital(100, seed=1)
    >>> register.height, register.schema.of_role("identifier")
    (100, ['name', 'record_no'])
    """
    roles: dict[str, Any] = {}
    for name, role in ROLES.items():
        roles.setdefault(role, []).append(name)
    return table(
        hospital_frame(n, seed),
        kinds=KINDS,
        categories={"admission_type": ADMISSION_TYPES},
        **roles,
    )
