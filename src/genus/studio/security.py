"""Accept requests only from the page that was opened with the token.

A page of another site can send requests to a loopback address. So every request must name this
server as its host, which defeats DNS rebinding. Everything but static files needs a cookie. Only
opening the address with the token sets it, and browsers do not send it with requests of other
sites. Requests that change something must come from this origin, and have a header that other sites
cannot set.
"""

from __future__ import annotations

import hmac
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, urlsplit

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

OWN_HEADER = "x-genus-studio"
STATIC = "/static/"
MOST_JSON = 8 << 20  # bytes of a request
MOST_MAIL = 64 << 20
MOST_UPLOAD = 2 << 30
LARGER = {"/api/upload": MOST_UPLOAD, "/api/mail": MOST_MAIL}
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
    "cache-control": "no-store",
}


class Refused(Exception):
    """The status and the reason for refusing a request."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class Guard:
    """An ASGI application that refuses requests from other pages, and passes others on to `app`."""

    def __init__(self, app: Any, token: str, host: str, port: int) -> None:
        self.app, self.token, self.host, self.port = app, token, host, port
        self.cookie = f"genus-studio-{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        headers = {
            name.decode("latin-1").lower(): value.decode("latin-1")
            for name, value in scope["headers"]
        }
        given = ""
        try:
            self.check_host(headers)
            self.check_origin(scope, headers)
            if not scope["path"].startswith(STATIC):
                given = self.check_token(scope, headers)
            receive = limited(receive, headers, LARGER.get(scope["path"], MOST_JSON))
            await self.app(scope, receive, self.adding(send, bool(given)))
        except Refused as refused:
            await answer(self.adding(send, False), refused.status, str(refused))

    def check_host(self, headers: dict[str, str]) -> None:
        """Refuse requests for another host."""
        if not is_allowed(headers.get("host", ""), self.host, self.port):
            raise Refused(
                421,
                "This is not the address of the studio. Use the address that `genus studio` "
                "prints.",
            )

    def check_origin(self, scope: Scope, headers: dict[str, str]) -> None:
        """Refuse requests from pages of other sites."""
        origin = headers.get("origin")
        if origin is not None and origin != f"http://{headers.get('host', '')}":
            raise Refused(
                403, "This request comes from another page. Use the page that `genus studio` opens."
            )
        site = headers.get("sec-fetch-site", "same-origin")
        is_reading = scope["method"] in ("GET", "HEAD")
        # A link on another site may open the page itself, but nothing else.
        if site not in ("same-origin", "none") and not (is_reading and scope["path"] == "/"):
            raise Refused(
                403, "This request comes from another page. Use the page that `genus studio` opens."
            )
        if is_reading:
            return
        if OWN_HEADER not in headers:
            raise Refused(
                403,
                f"This request has no header {OWN_HEADER}. Use the page that `genus studio` opens.",
            )

    def check_token(self, scope: Scope, headers: dict[str, str]) -> str:
        """Refuse requests without the token; return the token if it is in the address."""
        query = parse_qs(scope["query_string"].decode("latin-1"))
        given = query.get("token", [""])[0] if scope["path"] == "/" else ""
        if given and self.is_token(given):
            return given
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(self.cookie)
        except CookieError:
            cookie = None
        if cookie is None or not self.is_token(cookie.value):
            raise Refused(
                403,
                "Open the studio with the address that `genus studio` prints, which contains "
                "a token.",
            )
        return ""

    def is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), self.token.encode())

    def adding(self, send: Send, sets_cookie: bool) -> Send:
        """Return a send function that adds headers to the response."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                if sets_cookie:
                    cookie = f"{self.cookie}={self.token}; Path=/; HttpOnly; SameSite=Strict"
                    own.append((b"set-cookie", cookie.encode()))
                message = {**message, "headers": [*message.get("headers", []), *own]}
            await send(message)

        return send_with_headers


def limited(receive: Receive, headers: dict[str, str], most: int) -> Receive:
    """Return a receive function that refuses bodies over the size limit."""
    too_large = (
        f"This is too large: at most {most >> 20:,} MB can be sent. Open a larger table with "
        "genus studio FILE."
    )
    length = headers.get("content-length", "0")
    if not length.isdecimal() or int(length) > most:
        raise Refused(413, too_large)
    received = 0

    async def receive_some() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > most:
            raise Refused(413, too_large)
        return message

    return receive_some


async def answer(send: Send, status: int, text: str) -> None:
    """Send a plain-text response."""
    kind = (b"content-type", b"text/plain; charset=utf-8")
    await send({"type": "http.response.start", "status": status, "headers": [kind]})
    await send({"type": "http.response.body", "body": text.encode()})


def is_allowed(given: str, host: str, port: int) -> bool:
    """Return whether a request is addressed to this server.

    >>> [is_allowed(name, "127.0.0.1", 80) for name in ("localhost", "evil.example")]
    [True, False]
    """
    try:
        parts = urlsplit(f"//{given}")
        name, number = (parts.hostname or "").lower(), parts.port or 80
    except ValueError:
        return False
    if number != port or parts.username is not None or parts.path:
        return False
    if is_loopback(name) or name == host.lower():
        return True
    if not is_everywhere(host):
        return False
    return is_address(name) or name in own_names()


def is_loopback(host: str) -> bool:
    """Return whether a host means only this machine, so that others cannot reach it."""
    if host.lower() == "localhost":
        return True
    return is_address(host) and ipaddress.ip_address(host).is_loopback


def is_everywhere(host: str) -> bool:
    """Return whether a host means all addresses of this machine."""
    return is_address(host) and ipaddress.ip_address(host).is_unspecified


def is_address(host: str) -> bool:
    """Return whether a host is an IP address, so that no name server can redirect it."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def own_names() -> Iterable[str]:
    """Return the names of this machine."""
    return {socket.gethostname().lower(), socket.getfqdn().lower()}
