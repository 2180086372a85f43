"""Read what the user's own server found out about a sender: SPF, DKIM and DMARC (RFC 8601).

A server writes its results into the header Authentication-Results, but so can anybody. Only the
header of the user's own server counts: the one with the name in $GENUS_AUTHSERV_ID, or, if that is
not set, one above the second Received line, where no stranger can write. If several programs of a
server check methods, it writes several headers, with no Received line between them; for each
method, the first header that names it counts. This needs no DNS.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass

VARIABLE = "GENUS_AUTHSERV_ID"
METHODS = ("spf", "dkim", "dmarc", "arc", "iprev", "auth")
MOST = 20  # results of one header
RESULT = re.compile(r"(?:^|;)\s*([a-z-]{1,20})(?:/[0-9.]+)?\s*=\s*([a-z]{1,20})([^;]*)", re.I)
SIGNER = re.compile(r"header\.[di]\s*=\s*(?:[^\s;@]*@)?([a-z0-9.-]{1,100})", re.I)
COMMENT = re.compile(r"\([^()]*\)")


@dataclass(frozen=True)
class Results:
    """The result of each method, and the domains whose DKIM signature is valid."""

    found: tuple[tuple[str, str], ...] = ()
    signers: tuple[str, ...] = ()

    def __add__(self, below: Results) -> Results:
        """Add the results of a lower header, for methods that these results do not contain."""
        methods = {method for method, _ in self.found}
        more = [each for each in below.found if each[0] not in methods]
        signers = () if "dkim" in methods else below.signers
        return Results((*self.found, *more)[:MOST], self.signers + signers)

    @property
    def is_forged(self) -> bool:
        """Whether the message failed DMARC, so that the sender's domain disowns it."""
        return ("dmarc", "fail") in self.found


def results_of(headers: Iterable[tuple[str, str]]) -> Results:
    """Return the results that the user's own server wrote into a message.

    >>> top = "mx.example.org; spf=pass; dkim=pass header.d=shop.example; dmarc=fail (p=none)"
    >>> results = results_of([("authentication-results", top), ("received", "from x")])
    >>> results.found, results.signers, results.is_forged
    ((('spf', 'pass'), ('dkim', 'pass'), ('dmarc', 'fail')), ('shop.example',), True)
    """
    own, hops = os.environ.get(VARIABLE, "").lower(), 0
    found = None
    for name, value in headers:
        if name == "received":
            hops += 1
            if found is not None or (hops > 1 and not own):
                break
        elif name == "authentication-results":
            named, _, rest = COMMENT.sub(" ", value).partition(";")
            server = named.strip().lower().partition(" ")[0]
            own = own or server
            if server == own:
                found = (found or Results()) + read_results(rest)
    return found or Results()


def read_results(text: str) -> Results:
    found: list[tuple[str, str]] = []
    signers: list[str] = []
    for each in RESULT.findall(text)[:MOST]:
        method, result = each[0].lower(), each[1].lower()
        if method in METHODS:
            found.append((method, result))
            if (method, result) == ("dkim", "pass"):
                signers += [domain.lower().strip(".") for domain in SIGNER.findall(each[2])]
    return Results(tuple(dict.fromkeys(found)), tuple(dict.fromkeys(signers)))
