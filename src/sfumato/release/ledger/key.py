"""The key by which a ledger knows people again. It never lies beside the ledger: whoever finds one
of the two cannot tell who is in it."""

from __future__ import annotations

import hashlib
import os
import secrets
import sys
import tempfile
from pathlib import Path

from ...errors import OutputError
from ...machine import refused

VARIABLE = "SFUMATO_LEDGER_KEY"
_FEWEST = 16
"""Characters of a key that somebody gave: fewer can be guessed."""
_SIZE = 32


def find_key() -> bytes | None:
    """The key of the environment, else that of the user's configuration folder; None: neither."""
    if given := os.environ.get(VARIABLE, ""):
        if len(given) < _FEWEST:
            raise OutputError(
                f"{VARIABLE} has {len(given)} characters, and can be guessed",
                remedy=f"at least {_FEWEST} random ones",
            )
        return hashlib.sha256(given.encode()).digest()
    path = key_file()
    try:
        found = path.stat()
        text = path.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise OutputError(f"the ledger's key {path} cannot be read: {error}") from error
    if os.name == "posix" and found.st_mode & 0o077:
        raise OutputError(f"others can read the ledger's key {path}", remedy=f"chmod 600 {path}")
    try:
        key = bytes.fromhex(text)
    except ValueError:
        key = b""
    if len(key) != _SIZE:
        raise OutputError(
            f"{path} is not a key of Sfumato's", remedy="restore it from where it is kept safe"
        )
    return key


def make_key() -> bytes:
    """The key there is, else a new one in the user's configuration folder."""
    if (known := find_key()) is not None:
        return known
    path = key_file()
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, aside = tempfile.mkstemp(dir=path.parent)  # mode 0600
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(secrets.token_hex(_SIZE) + "\n")
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(aside, path)  # whole or not at all, and never over another's
        except FileExistsError:
            pass
        finally:
            os.unlink(aside)
    except OSError as error:
        if (told := refused(error, path.parent)) is not None:
            raise told from error
        raise OutputError(
            f"the ledger's key cannot be kept in {path.parent}: {error}",
            remedy=f"set {VARIABLE} to a secret text of your own",
        ) from error
    made = find_key()
    assert made is not None
    return made


def key_file() -> Path:
    """Where the key is kept."""
    return _configuration() / "sfumato" / "ledger.key"


def _configuration() -> Path:
    """Where this system keeps what users have set up."""
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA") or Path.home() / "AppData" / "Roaming")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    named = os.environ.get("XDG_CONFIG_HOME", "")
    return Path(named) if os.path.isabs(named) else Path.home() / ".config"
