"""Arrays in, arrays out; compiled by numba, and kept compiled where there is a place for it.

Compiled code is kept beside the modules, or in the folder that NUMBA_CACHE_DIR names. Where the
package cannot be written to, it is kept in the user's cache folder; where that cannot be used
either, functions are compiled anew by every process, and a warning says so once.
"""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path
from typing import Any


def _users_cache() -> Path:
    """Where this system keeps what programs can make again."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    named = os.environ.get("XDG_CACHE_HOME", "")
    return Path(named) if os.path.isabs(named) else Path.home() / ".cache"


def _private_folder() -> Path | None:
    """A folder that nobody else can write to, since code is loaded from it, or None."""
    try:
        folder = _users_cache() / "sfumato" / "compiled"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if hasattr(os, "getuid"):
            found = folder.stat()
            if found.st_uid != os.getuid() or found.st_mode & 0o022:
                return None
    except (OSError, RuntimeError):  # RuntimeError: nobody knows where the home folder is
        return None
    return folder if os.access(folder, os.W_OK | os.X_OK) else None


def _writable(package: Path) -> bool:
    """Whether numba can keep code beside the modules of a package."""
    kept = package / "__pycache__"
    return os.access(kept if kept.is_dir() else package, os.W_OK | os.X_OK)


def _keep_nothing() -> None:
    """`cache=True` asks for a folder at once and raises where there is none: ours ask no more."""
    from numba.core import dispatcher

    kind: Any = dispatcher.Dispatcher
    enable = kind.enable_caching

    def unless_ours(made: Any) -> None:
        if not made.py_func.__module__.startswith("sfumato."):
            enable(made)

    kind.enable_caching = unless_ours


def _choose_cache() -> None:
    """Before the first function is decorated, which is when numba looks for its folder."""
    if os.environ.get("NUMBA_CACHE_DIR") or _writable(Path(__file__).parent):
        return
    folder = _private_folder()
    if folder is not None:
        from numba.core import config

        # Numba reads the environment again when it compiles, and only if it has changed since.
        os.environ["NUMBA_CACHE_DIR"] = str(folder)
        again: Any = config.reload_config
        again()
        return
    warnings.warn(
        "compiled code cannot be kept, so every run compiles anew: neither the package nor the "
        "user's cache folder can be written to by this user alone; set NUMBA_CACHE_DIR to a "
        "folder of your own",
        RuntimeWarning,
        stacklevel=2,
    )
    _keep_nothing()


_choose_cache()
