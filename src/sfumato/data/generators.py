"""Synthetic tables, for demonstrations and tests. Nobody in them exists."""

from __future__ import annotations

from typing import Any

from .register import ADMISSION_TYPES, KINDS, ROLES, hospital_frame
from .set_generators import synthetic_sets as synthetic_sets
from .set_generators import targeting as targeting
from .set_generators import write_synthetic_sets as write_synthetic_sets
from .set_generators import write_targeting as write_targeting
from .table import Table, table
from .table_generators import businesses as businesses
from .table_generators import torra_towns as torra_towns


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
