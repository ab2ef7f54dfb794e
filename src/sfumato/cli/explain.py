"""`sfumato explain NAME`, from the declaration alone."""

from __future__ import annotations

from ..registry import find
from ..release.plan.facts import facts, taking, toml_or_dash
from .saying import say
from .show import print_json


def _indented(text: str) -> str:
    return f"  {text}\n".replace("\n", "\n  ").rstrip() + "\n"


def explain(name: str, *, json: bool) -> None:
    """Print what there is to know."""
    found = facts(find(name))
    if json:
        print_json(found)
        return
    say(f"{found['name']} ({found['kind']})")
    first, _, rest = found["about"].partition("\n\n")
    say(_indented(first))
    if found["candidate"]:  # before all that is to be known of it
        say(*taking(found["candidate"]), sep="\n")
        say("`sfumato advise FILE` tries it on a file, beside the others.\n")
    if rest:
        say(_indented(rest))
    if found["acts_on"]:
        say(f"Acts on: {found['acts_on']}\n")
    if found["parameters"]:
        say("Parameters")
        for parameter in found["parameters"]:
            default = (
                "needed"
                if parameter["required"]
                else f"default {toml_or_dash(parameter['default'])}"
            )
            say(f"  {parameter['name']:<18} {parameter['domain']}; {default}")
            say(f"  {'':<18} {parameter['meaning']}")
        say()
    if found["paper"]:
        say(f"Paper: {found['paper']}\n")
    say("In a plan\n  " + found["example"].rstrip().replace("\n", "\n  "))
