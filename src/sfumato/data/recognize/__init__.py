"""Recognizers: what the columns of a table hold, by their values, their names and one another.

One set for everybody: `sfumato init` drafts roles from it, `safe-harbor` treats what it finds, and
the exposure of a release is judged by it.
"""

from __future__ import annotations

from .found import KNOWABLE as KNOWABLE
from .found import PERSONAL as PERSONAL
from .found import WHATS as WHATS
from .found import Found as Found
from .repeated import repeated_fields as repeated_fields
from .tables import determined as determined
from .tables import recognize as recognize
