"""Addresses of databases, and what may be told of them.

An address may hold a password, also where it is misspelt. So whatever shows one goes through here,
and what cannot be taken apart is hidden.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

HIDDEN = "***"
ELSEWHERE = "set PGPASSWORD, or write ~/.pgpass"
"""Where a password belongs, as PostgreSQL's own tools read it."""
_HOST = r"(?:\[[\w:.%]+\]|[^/?#@:,\s\[\]]*)(?::\d{0,5})?"
SERVER = re.compile(
    rf"(?:(?P<user>[^/?#@:\s]*)(?::[^/?#@:\s]*)?@)?(?P<host>{_HOST}(?:,{_HOST})*)"
    r"(?P<path>/[^/?#@:\s]*)?(?:\?(?P<words>[^=&#@\s]+=[^=&#@\s]*(?:&[^=&#@\s]+=[^=&#@\s]*)*)?)?"
)
"""What follows postgresql://, where it is well formed."""
_KINDS = re.compile(
    r"\s*(?:jdbc:)?(?P<kind>postgres(?:ql)?|psycopg|sqlite|duckdb|spark|mysql|mariadb)[\w+.-]*\s*:",
    re.IGNORECASE,
)
_SECRET = r"(?:ssl|pg)?password|passwd|pwd|passfile|sslkey|\w*_token"
_KEYWORDS = re.compile(
    rf"\s*(?:\w+\s*=\s*\S+\s+)*(?:{_SECRET})\s*="
    r"|\s*(?:host|hostaddr|port|dbname|user|service)\s*=.*\s(?:host|port|dbname|user|sslmode)\s*=",
    re.IGNORECASE,
)
_HARMLESS = (
    *("host", "hostaddr", "port", "dbname", "user", "service", "options", "application_name"),
    *("connect_timeout", "client_encoding", "target_session_attrs", "load_balance_hosts"),
    *("sslmode", "sslrootcert", "sslcert", "sslcrl", "sslnegotiation", "channel_binding"),
    *("gssencmode", "krbsrvname", "require_auth", "keepalives", "keepalives_idle"),
)
"""Parameters that tell no secret, nor where one lies."""
_SHOWN = (
    (re.compile(r"([A-Za-z][\w+.-]+:/+|postgres(?:ql)?[\w+]*\s*:).*@", re.IGNORECASE), r"\1***@"),
    (re.compile(r"([A-Za-z][\w+.-]+:/[^\s?]*\?).*"), r"\1***"),
    # An @ was forgotten: what follows a user is no port.
    (re.compile(r"([A-Za-z][\w+.-]+:/+)[^/\s:@]+:(?!\d{1,5}(?:[/\s,?]|$))[^/\s]+"), r"\1***"),
    (re.compile(rf"\b({_SECRET})(\s*=\s*).*", re.IGNORECASE), r"\1\2***"),
    (re.compile(r"[^\s'\"/]{2,}:(?!/)[^\s'\"]+@"), "***@"),
)


def is_address(text: str) -> bool:
    """Whether a text is meant as a database's address, well formed or not, and not as a path.

    >>> is_address("postgresql:/ann:pw@db"), is_address("host=db password=pw"), is_address("a.csv")
    (True, True, False)
    """
    return "://" in text or bool(_KINDS.match(text)) or bool(_KEYWORDS.match(text))


def hidden(message: str) -> str:
    """A message in which no address shows its user and password.

    >>> hidden("no postgres://ann:p@ss@db/x here"), hidden("host=db password=a b")
    ('no postgres://***@db/x here', 'host=db password=***')
    """
    for pattern, instead in _SHOWN:
        message = pattern.sub(instead, message)
    return message


def bare(address: str) -> str:
    """An address as a plan may hold it: without passwords, and without where one lies.

    >>> bare("postgresql://ann:pw@db:5433/clinic?sslmode=require&password=pw")
    'postgresql://ann@db:5433/clinic?sslmode=require'
    >>> bare("postgresql://ann:p@ss@db"), bare("visits.csv"), bare("sqlite:///clinic.db")
    ('postgresql://***', 'visits.csv', 'sqlite:///clinic.db')
    """
    if not is_address(address):
        return address
    scheme, slashes, rest = address.strip().partition("://")
    if not re.fullmatch(r"[\w+.-]+", scheme) or not slashes:
        return f"postgresql://{HIDDEN}"
    if not scheme.lower().startswith("postgres"):
        return address if not re.search(r"[@?]", rest) else f"{scheme}://{HIDDEN}"
    server = SERVER.fullmatch(rest)
    if server is None:
        return f"postgresql://{HIDDEN}"
    user = f"{server['user']}@" if server["user"] else ""
    kept = [pair for pair in _pairs(address) if unquote(pair.partition("=")[0]) in _HARMLESS]
    asked = f"?{'&'.join(kept)}" if kept else ""
    return f"postgresql://{user}{server['host']}{server['path'] or ''}{asked}"


def holds_secret(address: str) -> bool:
    """Whether an address says what nobody but its user may know.

    >>> holds_secret("postgresql://ann@db/clinic"), holds_secret("postgresql://ann:pw@db/clinic")
    (False, True)
    >>> holds_secret("postgresql://db/clinic?password=pw"), holds_secret("visits.csv")
    (True, False)
    """
    if not is_address(address):
        return False
    user = address.partition("://")[2].rpartition("@")[0]
    named = {unquote(pair.partition("=")[0]).lower() for pair in _pairs(address)}
    found = not named.isdisjoint(("password", "sslpassword"))
    return ":" in user or found or HIDDEN in bare(address)


def redact(message: str, url: str) -> str:
    """The message with every secret of the URL struck out, whole or in parts."""
    for secret in _secrets(url):
        # A user named "u" must not turn "refused" into "ref***sed".
        edges = ("", "") if len(secret) > 5 else (r"(?<!\w)", r"(?!\w)")
        message = re.sub(f"{edges[0]}{re.escape(secret)}{edges[1]}", HIDDEN, message)
    return hidden(message)


def _secrets(url: str) -> list[str]:
    """The parts of a URL that no message may show: user, password and parameters."""
    userinfo = url.partition("://")[2].rpartition("@")[0]
    user, _, password = userinfo.partition(":")
    pairs = [pair.partition("=")[::2] for pair in _pairs(url)]
    private = [value for key, value in pairs if unquote(key) not in _HARMLESS or key == "user"]
    found = [url, userinfo, user, password, *private]
    found += [unquote(secret) for secret in found]
    return sorted({secret for secret in found if secret}, key=len, reverse=True)


def _pairs(url: str) -> list[str]:
    return [pair for pair in url.partition("?")[2].split("&") if pair]
