"""Addresses and what answers them: the studio's pages, its forms, and what is fetched beside."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from ..errors import InputError, SfumatoError
from ..release.report.parts import Markup, tag
from .asked import Asked, Room, Upload
from .desk import Conflict, Desk
from .folder import Folder
from .guard import FRAMED, Guard
from .page import jobs, lobby, page
from .rooms import ROOMS, opening
from .widgets import notice, problem

UPLOAD = 2 << 30
"""Bytes of a file that is dropped on the page; larger ones are chosen in the folder."""
_FORM = 8 << 20
_KINDS = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}
_log = logging.getLogger("sfumato.studio")


class Studio:
    """The pages of one folder; `first` is the plan of the file that was named when it was
    started."""

    def __init__(self, folder: Folder, first: Desk | None = None) -> None:
        self.folder, self.first = folder, first
        self.rooms = {room.key: room for room in ROOMS}

    def app(self, *, token: str, hosts: list[str], port: int, once: str = "") -> Starlette:
        """The application, behind its door."""
        routes = [
            Route("/", self._answered(self._front)),
            Route("/files", self._answered(self._files)),
            Route("/open", self._answered(self._open), methods=["POST"]),
            Route("/upload", self._answered(self._upload), methods=["POST"]),
            Route("/static/{name}", self._static),
            Route("/plan/{key}/", self._answered(self._entrance)),
            Route("/plan/{key}/jobs", self._answered(self._jobs)),
            Route("/plan/{key}/{deed}", self._answered(self._deed), methods=["POST"]),
            Route("/plan/{key}/{room}", self._answered(self._room)),
            Route("/plan/{key}/{room}/{action}", self._answered(self._act), methods=["POST"]),
            Route("/plan/{key}/{room}/file/{name}", self._answered(self._file)),
        ]
        door = Middleware(
            Guard, token=token, once=once, hosts=hosts, port=port, most=UPLOAD, most_words=_FORM
        )
        return Starlette(routes=routes, middleware=[door])

    # --- requests ---

    def _answered(
        self, answer: Callable[[Request, Mapping[str, Any]], Response]
    ) -> Callable[[Request], Any]:
        """A page is made aside, so that others are answered meanwhile; whatever goes wrong is told
        on a page, and the studio goes on."""

        async def handle(request: Request) -> Response:
            form: Mapping[str, Any] = {}
            try:
                if request.method == "POST":
                    form = await _form(request)
                return await run_in_threadpool(answer, request, form)
            except HTTPException:
                raise
            except SfumatoError as error:
                return self._wrong(request, form, error)
            except (OSError, RecursionError) as error:
                return self._wrong(request, form, _unreadable(error))
            except Exception as error:
                _log.exception("a fault in the studio")
                return self._fault(request, error)
            finally:
                await request.close()

        return handle

    def _asked(self, request: Request, form: Mapping[str, Any], here: str = "") -> Asked:
        desk = self.folder.of_key(request.path_params["key"])
        desk.check_room()
        texts = {key: [one for one in value if isinstance(one, str)] for key, value in form.items()}
        files = {
            key: one for key, value in form.items() for one in value if isinstance(one, Upload)
        }
        back = here or _address(request)
        query = dict(request.query_params)
        if form:
            back = _safe((texts.get("back") or [""])[0], desk)
            query = dict(parse_qsl(urlsplit(back).query))
        return Asked(desk, query, texts, files, back)

    def _wrong(self, request: Request, form: Mapping[str, Any], error: SfumatoError) -> Response:
        """The page that a form was on, with what was wrong."""
        told = [_conflict(error) if isinstance(error, Conflict) else problem(error.to_dict())]
        key = request.path_params.get("key")
        if key is None:
            return HTMLResponse(lobby(opening.front(self.folder, ""), *told), 422)
        try:
            asked = self._asked(request, form)
            name = urlsplit(asked.here).path.split("/")[-1]
            room = self.rooms.get(name, ROOMS[0])
            if request.method != "POST":  # the page itself cannot be made
                return HTMLResponse(page(asked, ROOMS, room, Markup(""), *told), 422)
            return HTMLResponse(page(asked, ROOMS, room, _inside(asked, room), *told), 422)
        except (SfumatoError, OSError, RecursionError) as second:
            other = second if isinstance(second, SfumatoError) else _unreadable(second)
            more = problem(other.to_dict()) if str(other) != str(error) else ""
            return HTMLResponse(lobby(_way_back(), *told, more), 422)

    def _fault(self, request: Request, error: Exception) -> Response:
        """What nobody foresaw: its words may hold values, and stand in the terminal alone."""
        words = f"A fault in the studio ({type(error).__name__}); nothing was changed."
        more = ""
        with suppress(SfumatoError, KeyError):
            desk = self.folder.of_key(request.path_params["key"])
            more = (
                f"If it stays, end the studio and remove {desk.room.name}: that is what was read "
                "and tried, and not the plan."
            )
        told = notice(words, tag("p", more) if more else "", look="bad")
        return HTMLResponse(lobby(_way_back(), told), 500)

    # --- before a plan is open ---

    def _front(self, request: Request, form: Mapping[str, Any]) -> Response:
        if self.first is not None:
            return RedirectResponse(f"/plan/{self.first.key}/", 303)
        return self._files(request, form)

    def _files(self, request: Request, form: Mapping[str, Any]) -> Response:
        folder = request.query_params.get("folder", "")
        return HTMLResponse(lobby(opening.front(self.folder, folder)))

    def _open(self, request: Request, form: Mapping[str, Any]) -> Response:
        named = str((form.get("file") or [""])[0])
        desk = self.folder.open(self.folder.inside(named))
        return RedirectResponse(f"/plan/{desk.key}/", 303)

    def _upload(self, request: Request, form: Mapping[str, Any]) -> Response:
        given = (form.get("file") or [None])[0]
        kept = self.folder.keep(given if isinstance(given, Upload) else None)
        return RedirectResponse(f"/plan/{self.folder.open(kept).key}/", 303)

    # --- a plan's pages ---

    def _entrance(self, request: Request, form: Mapping[str, Any]) -> Response:
        desk = self.folder.of_key(request.path_params["key"])
        return RedirectResponse(f"/plan/{desk.key}/{ROOMS[0].key}", 303)

    def _room(self, request: Request, form: Mapping[str, Any]) -> Response:
        room = self.rooms.get(request.path_params["room"])
        if room is None:
            raise HTTPException(404)
        asked = self._asked(request, form)
        return HTMLResponse(page(asked, ROOMS, room, _inside(asked, room)))

    def _act(self, request: Request, form: Mapping[str, Any]) -> Response:
        room = self.rooms.get(request.path_params["room"])
        action = None if room is None else room.actions.get(request.path_params["action"])
        if action is None:
            raise HTTPException(404)
        asked = self._asked(request, form)
        _check_reach(asked)
        place = action(asked)
        goal = f"/plan/{asked.desk.key}/{place}" if place else asked.here
        if place and place.startswith("/plan/"):  # of another plan, which the action began
            goal = place
        return RedirectResponse(goal, 303)

    def _file(self, request: Request, form: Mapping[str, Any]) -> Response:
        room = self.rooms.get(request.path_params["room"])
        made = None if room is None else room.files.get(request.path_params["name"])
        if made is None:
            raise HTTPException(404)
        asked = self._asked(request, form)
        _check_reach(asked)
        found = made(asked)
        request.scope.setdefault("state", {})[FRAMED] = found.framed
        headers = {}
        if found.download:
            headers["content-disposition"] = f"attachment; filename*=UTF-8''{quote(found.download)}"
        return Response(found.body, headers=headers, media_type=found.kind)

    def _jobs(self, request: Request, form: Mapping[str, Any]) -> Response:
        here = f"/plan/{request.path_params['key']}/{ROOMS[0].key}"
        return HTMLResponse(jobs(self._asked(request, form, here)))

    def _deed(self, request: Request, form: Mapping[str, Any]) -> Response:
        deed = _DEEDS.get(request.path_params["deed"])
        if deed is None:
            raise HTTPException(404)
        asked = self._asked(request, form)
        deed(asked)
        return RedirectResponse(asked.here, 303)

    async def _static(self, request: Request) -> Response:
        name = request.path_params["name"]
        kind = _KINDS.get(Path(name).suffix)
        found = resources.files(__package__).joinpath("static", name)
        if kind is None or "/" in name or not found.is_file():
            raise HTTPException(404)
        return Response(found.read_bytes(), media_type=kind)


def _inside(asked: Asked, room: Room) -> Markup:
    """A room's page, once the plan is there and is allowed what it reaches."""
    if not asked.desk.text:
        return opening.drafting(asked)
    if asked.desk.beyond:
        return opening.reaching(asked)
    return room.page(asked)


def _check_reach(asked: Asked) -> None:
    if asked.desk.text and asked.desk.beyond:
        raise InputError(
            "the plan reaches outside of the folder, which nobody has allowed yet",
            remedy="look at what it names, then let it, or change the plan",
        )


def _allow(asked: Asked) -> None:
    asked.desk.allow(asked.seen)


def _undo(asked: Asked) -> None:
    what = asked.desk.undo(asked.seen)
    asked.desk.said = f"Taken back: {what}" if what else ""


def _redo(asked: Asked) -> None:
    what = asked.desk.redo(asked.seen)
    asked.desk.said = f"Made again: {what}" if what else ""


def _write(asked: Asked) -> None:
    text = asked.one("text").replace("\r\n", "\n")
    asked.desk.edit("the text by hand", lambda _: text, asked.seen)


def _end(asked: Asked) -> None:
    job = asked.desk.jobs.named(asked.one("job"))
    if job is not None:
        job.end()


_DEEDS = {"allow": _allow, "undo": _undo, "redo": _redo, "write": _write, "end": _end}
"""What changes the plan, or ends work, whatever room one is in."""


async def _form(request: Request) -> dict[str, list[Any]]:
    """The fields of a form by name, files read."""
    found: dict[str, list[Any]] = {}
    given = await request.form(max_files=1, max_fields=100_000, max_part_size=_FORM)
    for key, value in given.multi_items():
        one = value if isinstance(value, str) else Upload(value.filename or "", value.file)
        found.setdefault(key, []).append(one)
    return found


def _address(request: Request) -> str:
    query = request.url.query
    return request.url.path + (f"?{query}" if query else "")


def _safe(back: str, desk: Desk) -> str:
    """The page to come back to: one of this plan's."""
    own = f"/plan/{desk.key}/"
    parts = urlsplit(back)
    if parts.scheme or parts.netloc or not parts.path.startswith(own) or "\\" in back:
        return f"{own}{ROOMS[0].key}"
    return back


def _conflict(error: Conflict) -> Markup:
    changed = tag("pre", "\n".join(error.lines), class_="diff") if error.lines else ""
    return notice(error.message, changed, tag("p", f"→ {error.remedy}"), look="bad")


def _unreadable(error: OSError | RecursionError) -> InputError:
    if isinstance(error, RecursionError):
        return InputError(
            "the plan is nested too deeply", remedy="mend it: its text is at the right"
        )
    why = error.strerror or type(error).__name__
    return InputError(f"what the plan names cannot be looked at: {why}", remedy="name another")


def _way_back() -> Markup:
    return tag("p", tag("a", "Back to the files", href="/files"))
