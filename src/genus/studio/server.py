"""Define the addresses of the server and their responses, and start it."""

from __future__ import annotations

import hashlib
import json
import shutil
import socket
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from genus.display import palette
from genus.studio import changes
from genus.studio.script import script, stem
from genus.studio.security import Guard, Refused
from genus.studio.session import Session, UnsavedError
from genus.studio.views import compare, export, mail, row, rows, scores, state, table, text
from genus.studio.work import BusyError, sentence

STATIC = Path(__file__).parent / "static"
# Formats of dropped files. Databases are excluded, because their views can read other files.
TEXTS = (".csv", ".tsv", ".txt", ".json", ".jsonl", ".ndjson")
UPLOADS = (*TEXTS, ".parquet", ".feather", ".arrow", ".orc", ".xlsx")
PACKED = ("", ".gz", ".bz2", ".xz", ".zst")

View = Callable[[Session, Request], Any]


def application(session: Session) -> Starlette:
    """Return the ASGI application of a session."""
    routes: list[Route | Mount] = [
        Route("/", page),
        Mount("/static", StaticFiles(directory=STATIC)),
        Route("/palette.css", colours),
    ]
    for path, view in READS.items():
        routes.append(Route(path, reading(session, view), methods=["GET"]))
    for path, change in WRITES.items():
        routes.append(Route(path, writing(session, change), methods=["POST"]))
    for path, found in FILES.items():
        routes.append(Route(path, download(session, *found), methods=["GET"]))
    routes.append(Route("/api/upload", uploading(session), methods=["POST"]))
    routes.append(Route("/api/mail", mailing(session), methods=["POST"]))
    return Starlette(routes=routes)


async def page(request: Request) -> Response:
    """Send the page."""
    return Response((STATIC / "index.html").read_bytes(), media_type="text/html")


async def colours(request: Request) -> Response:
    """Send the colours of the package, light and dark, as a style sheet."""
    light, dark = palette.variables(palette.LIGHT), palette.variables(palette.DARK)
    style = f":root {{ {light} }}\n@media (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}\n"
    style += f":root[data-theme=light] {{ {light} }}\n:root[data-theme=dark] {{ {dark} }}\n"
    return Response(style, media_type="text/css")


# Responses


def answered(value: Any, status: int = 200) -> Response:
    """Return a value as a JSON response."""
    from genus.studio.payload import encoded

    return Response(encoded(value), status, media_type="application/json")


def refused(error: Exception) -> Response:
    """Return a response with one sentence about an error."""
    if isinstance(error, Refused):
        return answered({"error": str(error)}, error.status)
    if isinstance(error, BusyError | UnsavedError):
        return answered({"error": str(error)}, 409)
    statuses = {PermissionError: 403, ValueError: 400, OSError: 400}
    status = next((code for kind, code in statuses.items() if isinstance(error, kind)), 500)
    return answered({"error": sentence(error)}, status)


def reading(session: Session, view: View) -> Callable[[Request], Awaitable[Response]]:
    """Return an endpoint that sends the result of a view."""

    async def endpoint(request: Request) -> Response:
        before = session.shown
        try:
            return answered(await run_in_threadpool(view, session, request))
        except Exception as error:
            is_same = session.shown == before
            return refused(error if is_same else BusyError("Another table was opened meanwhile."))

    return endpoint


def writing(
    session: Session, change: Callable[[Session, dict[str, Any]], Any]
) -> Callable[[Request], Awaitable[Response]]:
    """Return an endpoint that makes the change in the JSON body of a request."""

    async def endpoint(request: Request) -> Response:
        try:
            body = parsed(await request.body())
            found = await run_in_threadpool(change, session, body)
            return answered({"serial": session.serial} if found is None else found)
        except Exception as error:
            return refused(error)

    return endpoint


def parsed(body: bytes) -> dict[str, Any]:
    """Return the JSON object in a body; raise an error if there is none."""
    try:
        found = json.loads(body or b"{}")
    except RecursionError:
        found = None
    if not isinstance(found, dict):
        raise ValueError("The body is not a JSON object.")
    return found


def download(
    session: Session, name: str, kind: str, content: Callable[[Session], bytes]
) -> Callable[[Request], Awaitable[Response]]:
    """Return an endpoint that sends a file for download."""

    async def endpoint(request: Request) -> Response:
        try:
            body = await run_in_threadpool(content, session)
        except Exception as error:
            return refused(error)
        plain = "".join(c if c.isascii() else "_" for c in stem(session.name))
        headers = {"content-disposition": f'attachment; filename="{plain}{name}"'}
        return Response(body, media_type=kind, headers=headers)

    return endpoint


def uploading(session: Session) -> Callable[[Request], Awaitable[Response]]:
    """Return an endpoint that opens a file dropped on the page."""

    async def endpoint(request: Request) -> Response:
        try:
            if session.text is not None:
                raise ValueError(
                    "The studio shows a model of texts, so it cannot open a table. Start it with "
                    "the table: genus studio DATA --target COLUMN."
                )
            name = request.query_params.get("name", "table.csv")
            ending = suffix_of(name)
            lost = rows.whole(request.query_params.get("lost"), 0)
            session.refuse_to_lose(lost)
            path = Path(tempfile.mkdtemp(prefix="genus-studio-")) / f"table{ending}"
            content = hashlib.sha256()
            try:
                with path.open("wb") as file:
                    async for block in request.stream():
                        await run_in_threadpool(file.write, block)
                        content.update(block)
                session.refuse_to_lose(lost)  # there may be more by now
                session.open_upload(path, name, content.hexdigest())
            except BaseException:  # too large, disk full, or disconnected: remove all of it
                shutil.rmtree(path.parent, ignore_errors=True)
                raise
            return answered({"serial": session.serial})
        except (ValueError, OSError, BusyError, UnsavedError, Refused) as error:
            return refused(error)

    return endpoint


def reopen(session: Session, body: dict[str, Any]) -> None:
    """Read the table that the command named, after another one was dropped on the page."""
    session.refuse_to_lose(rows.whole(body.get("lost"), 0))
    session.reopen()


def suffix_of(name: str) -> str:
    """Return the suffix of a dropped file; raise an error if it is not a table."""
    lower = name.lower()
    for packed in PACKED:
        for suffix in UPLOADS:
            if lower.endswith(suffix + packed):
                return suffix + packed
    raise ValueError(f"A table must be a file that ends in {', '.join(UPLOADS)}.")


def mailing(session: Session) -> Callable[[Request], Awaitable[Response]]:
    """Return an endpoint that classifies or learns the message in the body."""

    async def endpoint(request: Request) -> Response:
        try:
            raw = await request.body()
            query = request.query_params
            number = rows.whole(query.get("number"), 0)
            return answered(
                await run_in_threadpool(mail_action, session, query.get("do", ""), raw, number)
            )
        except Exception as error:
            return refused(error)

    return endpoint


def mail_action(session: Session, do: str, raw: bytes, number: int) -> Any:
    store = mailbox(session)
    if do == "list":
        return mail.messages(store, raw)
    if do == "why":
        return mail.why(store, raw, number)
    done = mail.correct(store, raw, number, do)
    session.bump()
    return done


def mailbox(session: Session) -> Any:
    if session.mail is None:
        raise ValueError("No mail store was given. Start with genus studio --mail STORE.")
    return session.mail


def asked(request: Request, name: str) -> int:
    return rows.whole(request.query_params.get(name), -1)


READS: dict[str, View] = {
    "/api/state": lambda session, request: state.state(session),
    "/api/targets": lambda session, request: state.targets(session),
    "/api/table": lambda session, request: table.table(session),
    "/api/column": lambda session, request: table.column(session, asked(request, "column")),
    "/api/pair": lambda session, request: table.pair(
        session, asked(request, "column"), asked(request, "other")
    ),
    "/api/scores": lambda session, request: scores.scores(session),
    "/api/rows": lambda session, request: rows.listed(session, dict(request.query_params)),
    "/api/row": lambda session, request: row.detail(session, asked(request, "row")),
    "/api/number": lambda session, request: rows.by_number(session, asked(request, "number")),
    "/api/blank": lambda session, request: row.blank(session),
    "/api/compare": lambda session, request: compare.comparison(session),
    "/api/words": lambda session, request: text.words(session),
    "/api/stats": lambda session, request: mail.stats(mailbox(session)),
    "/api/export": lambda session, request: export.offered(session),
}


def nothing(work: Callable[[Session], Any]) -> Callable[[Session, dict[str, Any]], None]:
    """Return a change that runs `work` on the session and ignores the body."""

    def change(session: Session, body: dict[str, Any]) -> None:
        work(session)

    return change


WRITES: dict[str, Callable[[Session, dict[str, Any]], Any]] = {
    "/api/act": changes.act,
    "/api/undo": nothing(lambda session: session.undo()),
    "/api/stop": lambda session, body: (
        session.aside if body.get("aside") else session.worker
    ).stop(),
    "/api/judge": nothing(lambda session: session.judge()),
    "/api/target": changes.choose,
    "/api/reopen": reopen,
    "/api/decide": lambda session, body: scores.decide(
        session, body.get("threshold"), body.get("costs"), body.get("positive")
    ),
    "/api/what-if": changes.what_if,
    "/api/compare": nothing(compare.start),
    "/api/curves": nothing(compare.start_curves),
    "/api/report": nothing(export.start_report),
    "/api/message": lambda session, body: text.judge(
        session, str(body.get("text", "")), rows.whole(body.get("column"), 0)
    ),
}
FILES: dict[str, tuple[str, str, Callable[[Session], bytes]]] = {
    "/export/model": (".genus", "application/octet-stream", export.model),
    "/export/rows": ("-corrected.csv", "text/csv", export.rows),
    "/export/report": ("-report.html", "application/octet-stream", export.report),
    "/export/script": (".py", "text/x-python", lambda session: script(session).encode()),
}


# Starting


def listen(host: str, port: int | None) -> socket.socket:
    """Return a listening socket; use another port if the given one is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for one in (port or 0, 0):
        bound = socket.socket(family, socket.SOCK_STREAM)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind((host, one))
        except OSError:
            bound.close()
            if one == 0:
                raise
            continue
        bound.listen(128)
        return bound
    raise AssertionError


def address(host: str, port: int, token: str) -> str:
    """Return the address to open."""
    name = "127.0.0.1" if host in ("0.0.0.0", "") else "[::1]" if host == "::" else host
    name = f"[{name}]" if ":" in name and not name.startswith("[") else name
    return f"http://{name}:{port}/?token={token}"


def server(session: Session, token: str, bound: socket.socket, host: str) -> uvicorn.Server:
    """Return the server of a session; it responds on a socket once it is run."""
    guarded = Guard(application(session), token, host, bound.getsockname()[1])
    config = uvicorn.Config(
        guarded,
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        lifespan="off",
        timeout_graceful_shutdown=1,
    )
    return uvicorn.Server(config)


def serve(session: Session, token: str, bound: socket.socket, host: str) -> None:
    """Serve until Ctrl-C."""
    with suppress(KeyboardInterrupt):
        server(session, token, bound, host).run(sockets=[bound])
