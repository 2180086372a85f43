"""Allow or block senders by rules, which override the evidence.

A rule names an address, or a domain and all its subdomains, and applies to the sender in From. The
most specific rule applies; of two rules for the same name, the user's overrides the site's. Anybody
can write anything into From. So mail is allowed only if rules allow every address in From, even one
in a name, and if the user's own server has not found that the domain disowns the message
(dmarc=fail). Mail is blocked if a rule blocks any of these addresses.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from genus.mail.authentication import results_of
from genus.mail.message import LIMITS, Reader, divide, lines_of
from genus.mail.store import Store
from genus.mail.verdict import HAM, SPAM, Verdict

PREFIX = "rule "  # of notes in a store
ALLOW, BLOCK = "allow", "block"
VERDICTS = {ALLOW: HAM, BLOCK: SPAM}
LONGEST = 254
ADDRESS = re.compile(r"""([^\s<>,;:"()@]{1,64})@((?:[^\W_]|[.-]){1,255})""")
LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
DOMAIN = re.compile(rf"{LABEL}(?:\.{LABEL})*")


@dataclass(frozen=True)
class Rule:
    """A rule that allows or blocks a sender."""

    kind: str
    sender: str

    def decide(self, verdict: Verdict) -> Verdict:
        """Return the rule's verdict, with the given verdict's probability and score."""
        word = "allows" if self.kind == ALLOW else "blocks"
        told = f"A rule {word} {self.sender}, whatever the evidence is."
        return replace(verdict, verdict=VERDICTS[self.kind], reason=told, rule=self.kind)


def sender_named(text: str) -> str:
    """Return an address or a domain in the form that rules are stored in.

    >>> sender_named("Ann@Example.org"), sender_named("@bücher.example")
    ('ann@example.org', 'xn--bcher-kva.example')
    """
    local, at, domain = text.strip().lower().rpartition("@")
    domain = in_ascii(domain)
    name = f"{local}{at}{domain}"
    is_address = at and local and ADDRESS.fullmatch(name) is not None
    if len(name) > LONGEST or DOMAIN.fullmatch(domain) is None or (at and local and not is_address):
        raise ValueError(
            f"{text[:100]!r} is not an address or a domain. Give one, such as ann@example.org or "
            "example.org."
        )
    return name if is_address else domain


def in_ascii(domain: str) -> str:
    """Return a domain with its international labels in Punycode, as servers and DNS write them.

    The codec "idna" of Python would turn ß into ss, which is another domain today (RFC 5891).
    """
    if domain.isascii():
        return domain
    labels = unicodedata.normalize("NFKC", domain.lower().replace("\u3002", ".")).split(".")
    return ".".join(
        each if each.isascii() else f"xn--{each.encode('punycode').decode()}" for each in labels
    )


def rules_in(store: Store) -> dict[str, Rule]:
    """Return the rules of a store and its layers, by sender; upper layers have priority."""
    found: dict[str, Rule] = {}
    for layer in reversed(list(store.layers)):
        for name, kind in layer.notes(PREFIX).items():
            if kind in VERDICTS:
                found[name.removeprefix(PREFIX)] = Rule(kind, name.removeprefix(PREFIX))
    return found


def put_rules(store: Store, kind: str | None, senders: Sequence[str]) -> int:
    """Add rules, or remove them if `kind` is None; return how many have changed."""
    names = [sender_named(each) for each in senders]
    with store.change() as change:
        changed = [name for name in dict.fromkeys(names) if change.get(PREFIX + name) != kind]
        for name in changed:
            change.put(PREFIX + name, kind)
    return len(changed)


def rule_for(raw: bytes, rules: Mapping[str, Rule]) -> Rule | None:
    """Return the rule that applies to a message, or None."""
    if not rules:
        return None
    headers = Reader(LIMITS, []).headers(divide(lines_of(raw))[0], LIMITS.head)
    sender = " ".join(value for name, value in headers if name == "from")
    found = [rule_of(local, domain, rules) for local, domain in ADDRESS.findall(sender)]
    blocked = next((rule for rule in found if rule is not None and rule.kind == BLOCK), None)
    is_plain = found and None not in found and sender.count("@") == len(found)
    if blocked is not None or not is_plain:
        return blocked
    return None if results_of(headers).is_forged else found[0]


def rule_of(local: str, domain: str, rules: Mapping[str, Rule]) -> Rule | None:
    """Return the most specific rule for an address, or None."""
    domain = in_ascii(domain.lower().strip("."))
    parts = domain.split(".")
    names = [f"{local.lower()}@{domain}", *(".".join(parts[at:]) for at in range(len(parts)))]
    return next((rules[name] for name in names if name in rules), None)
