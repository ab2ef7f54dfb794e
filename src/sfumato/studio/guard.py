"""Who may ask, and what an answer may do: the door in front of every page.

Only this machine's browser gets in, by a token that it was given in the address that the terminal
prints and keeps in a cookie from then on. Other sites that the same browser shows are kept out by
Host, Origin and SameSite; what a page may load, by its content policy.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

FRAMED = "sfumato.framed"
"""Set in the state of a request whose answer is a page of its own in a frame, such as a report."""
_OWN = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; font-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
_REPORT = "sandbox; default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'self'"
_HEADERS = {
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    # Not "no-referrer": with it, a form that is sent without the script says Origin: null.
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


class TooMuch(HTTPException):
    """A body that is longer than what is taken: told as such, wherever it is read."""

    def __init__(self, most: int) -> None:
        super().__init__(413, f"more than {most:,} bytes are not taken")


class Guard:
    """Lets in whoever has the token and asks for one of `hosts`."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        token: str,
        hosts: Iterable[str],
        port: int,
        most: int,
        once: str = "",
        most_words: int = 8 << 20,
    ) -> None:
        if not token:
            raise ValueError("a studio without a token would let everybody in")
        self.app, self.token, self.most, self.most_words = app, token, most, most_words
        self.once = once
        """A token that lets in once: it stands where others may read it."""
        self.hosts = {f"{host}:{port}" for host in hosts}
        # Cookies do not tell ports apart: two studios keep theirs under two names.
        self.cookie = f"sfumato-{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":  # there are no sockets
            await send({"type": "websocket.close", "code": 1008})
            return
        headers = Headers(scope=scope)
        refused = self._refused(scope, headers)
        if refused:
            await self._answer(PlainTextResponse(f"{refused}\n", 403), scope, receive, send)
            return
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if scope["path"] == "/" and scope["method"] == "GET" and given:
            if not self._fits(given):
                answer: Response = PlainTextResponse("this is not the token of this studio\n", 403)
            else:
                # The token leaves the address, so that no history or bookmark keeps it.
                answer = RedirectResponse("/", 303)
                answer.set_cookie(self.cookie, self.token, httponly=True, samesite="strict")
            await self._answer(answer, scope, receive, send)
            return
        if not self._known(headers):
            words = "open the address that `sfumato studio` printed in the terminal\n"
            await self._answer(PlainTextResponse(words, 403), scope, receive, send)
            return
        await self._bounded(scope, headers, receive, send)

    def _refused(self, scope: Scope, headers: Headers) -> str:
        """Why a request is not even looked at; nothing if it may be one of this studio's pages."""
        host = headers.get("host", "")
        if host not in self.hosts or len(headers.getlist("host")) != 1:
            return "this studio is not known by that name"
        if scope["method"] not in ("GET", "HEAD", "POST"):
            return "this studio is read and posted to"
        if scope["method"] == "POST" and headers.get("origin") != f"http://{host}":
            return "another site cannot change what is here"
        if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return "another site cannot read what is here"
        return ""

    def _fits(self, given: str) -> bool:
        """Whether a token opens; the one that opens once does so no more."""
        if secrets.compare_digest(given.encode(), self.token.encode()):
            return True
        opened = bool(self.once) and secrets.compare_digest(given.encode(), self.once.encode())
        if opened:
            self.once = ""
        return opened

    def _known(self, headers: Headers) -> bool:
        try:
            kept = SimpleCookie(headers.get("cookie", "")).get(self.cookie)
        except CookieError:
            return False
        return kept is not None and secrets.compare_digest(kept.value.encode(), self.token.encode())

    async def _bounded(self, scope: Scope, headers: Headers, receive: Receive, send: Send) -> None:
        """Pass the request on, its body no longer than what is taken."""
        said = headers.get("content-length", "0")
        # Only files are put by on the disk while they come; all else is held in memory.
        files = headers.get("content-type", "").startswith("multipart/form-data")
        most = self.most if files else min(self.most, self.most_words)
        too_much = PlainTextResponse(f"more than {most:,} bytes are not taken\n", 413)
        if not (said.isascii() and said.isdigit()) or len(said) > 18 or int(said) > most:
            await self._answer(too_much, scope, receive, send)
            return
        seen, begun = 0, False

        async def counted() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > most:
                raise TooMuch(most)
            return message

        async def dressed(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(_dressed(scope, message))

        try:
            await self.app(scope, counted, dressed)
        except TooMuch:
            if not begun:
                await self._answer(too_much, scope, receive, send)

    async def _answer(self, answer: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        async def dressed(message: Message) -> None:
            await send(_dressed(scope, message))

        await answer(scope, receive, dressed)


def _dressed(scope: Scope, message: Message) -> Message:
    """An answer that says what the browser may do with it."""
    if message["type"] == "http.response.start":
        headers = MutableHeaders(raw=message.setdefault("headers", []))
        for name, value in _HEADERS.items():
            headers[name] = value
        framed = scope.get("state", {}).get(FRAMED, False)
        headers["content-security-policy"] = _REPORT if framed else _OWN
    return message
