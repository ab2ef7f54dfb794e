"""How functions are compiled that only compiled code calls.

Without entry points from Python they compile in about half the time; they are kept as part of the
functions that call them.
"""

from __future__ import annotations

from typing import Any

INNER: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
