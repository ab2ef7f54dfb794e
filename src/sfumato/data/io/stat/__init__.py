"""Files of SPSS, Stata and SAS, with what their codes and variables are called."""

from __future__ import annotations

from .labels import Labelled, labelled
from .reading import read_stat
from .writing import uncoded, write_stat

__all__ = ["Labelled", "labelled", "read_stat", "uncoded", "write_stat"]
