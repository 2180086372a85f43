"""Serve the counters of all processes to Prometheus, at /metrics over HTTP."""

from __future__ import annotations

from genus.mail.spamd.access import Peer
from genus.mail.spamd.worker import PATIENCE, Talk, Worker

LONGEST = 16_384  # bytes of a request


class Scrape(Talk):
    """One HTTP request and its answer."""

    def __init__(self, worker: Worker, peer: Peer) -> None:
        super().__init__(worker, peer)
        self.heard = b""

    @property
    def begun(self) -> bool:
        return False

    def keeps_waiting(self, now: float) -> bool:
        return now - self.since > PATIENCE

    def data_received(self, data: bytes) -> None:
        self.heard += data
        if b"\r\n\r\n" in self.heard or b"\n\n" in self.heard or len(self.heard) > LONGEST:
            line = self.heard.partition(b"\n")[0].split()
            found = line[:2] in ([b"GET", b"/metrics"], [b"GET", b"/"])
            status = "200 OK" if found else "404 Not Found"
            text = self.worker.service.tallies.text() if found else "There is only /metrics.\n"
            head = (
                f"HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
                f"Content-Length: {len(text)}\r\nConnection: close\r\n\r\n"
            )
            self.transport.write((head + text).encode())
            self.transport.close()
