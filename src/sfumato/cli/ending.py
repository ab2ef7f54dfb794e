"""How a command ends that failed: what is said of its error, and its exit code."""

from __future__ import annotations

import io
import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from ..addresses import bare, hidden, is_address
from ..errors import Complaints, MachineError, OutputError, ReleaseRefused, SfumatoError
from ..machine import NOTHING, refused
from ..texts import one_line
from .saying import say
from .show import print_json


def failed(error: SfumatoError, *, json: bool) -> None:
    """An error, with its remedy."""
    if json:
        print_json(error.to_dict())
    if isinstance(error, ReleaseRefused):
        say(f"refused: {error.message}", file=sys.stderr)
        plans = [remedy for remedy in error.remedies if hasattr(remedy, "plan")]
        if plans and not plans[0].weaker:
            say(
                "  `sfumato protect PLAN --apply 1` does the first and writes PLAN.new.toml",
                file=sys.stderr,
            )
    elif isinstance(error, Complaints):
        _complaints(error)
    else:
        say(f"error: {error.message}", file=sys.stderr)
        if error.remedy:
            say(f"  -> {error.remedy}", file=sys.stderr)


def _complaints(error: Complaints) -> None:
    count = len(error.complaints)
    say(f"{error.subject} has {count} problem{'' if count == 1 else 's'}", file=sys.stderr)
    places = [f"line {c.line}" if c.line is not None else "" for c in error.complaints]
    width = max(map(len, places), default=0)
    for place, complaint in zip(places, error.complaints, strict=True):
        where = f"{complaint.where}: " if complaint.where else ""
        remedy = f"   -> {complaint.remedy}" if complaint.remedy else ""
        said = one_line(f"{where}{complaint.what}") + remedy
        say(f"  {place:<{width}}  {said}", file=sys.stderr)


def is_abort(error: Exception) -> bool:
    """Whether somebody ended the command: by Ctrl-C, or by no answer to a question."""
    return type(error).__name__ == "Abort"


def ended(error: Exception, folder: Path, left: str, given: Sequence[str], *, json: bool) -> int:
    """The exit code of a command that failed, once it is said why; `left` is what it has written to
    `folder`."""
    if _unprintable(error):
        say(f"error: standard output cannot be written: {error}; {left}", file=sys.stderr)
        return OutputError.exit_code
    if not isinstance(error, MachineError) or left != NOTHING:
        error = refused(error, getattr(error, "filename", None) or folder, left=left) or error
    if isinstance(error, SfumatoError):
        failed(error, json=json)
        return error.exit_code
    return _usage_or_fault(error, left, given, json=json)


def _unprintable(error: Exception) -> bool:
    """Whether nobody takes what is printed; then nothing more is, at the end of Python either."""
    if not isinstance(error, OSError) or error.filename is not None:
        return False
    try:
        say(flush=True)  # the library has forgotten what it could not print
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
        return True
    return False


def _usage_or_fault(error: Exception, left: str, given: Sequence[str], *, json: bool) -> int:
    """The exit code of anything else: a wrong command line, or a fault of ours."""

    def told(text: str) -> str:
        for word in filter(is_address, given):
            text = text.replace(word, bare(word))
        return "\n".join(map(hidden, text.splitlines()))

    # Typer has brought its own copy of click since 0.20: its errors are told by what they can do.
    if hasattr(error, "format_message") and hasattr(error, "show"):
        if hasattr(error, "message"):
            error.message = told(str(error.message))
        if json:
            print_json({"error": "usage", "message": error.format_message()})
        sink = io.StringIO()
        error.show(file=sink)
        say(sink.getvalue().rstrip("\n"), file=sys.stderr)
        return 2
    say(told("".join(traceback.format_exception(error))), file=sys.stderr)
    say(f"this is a fault in Sfumato, not in your data; {left}", file=sys.stderr)
    if json:
        print_json({"error": "fault", "message": told(f"{type(error).__name__}: {error}")})
    return 1
