"""genus mail allow, block and rules."""

from __future__ import annotations

import click

from genus.cli.mail import options

senders = click.argument("senders", nargs=-1, required=True, metavar="SENDER...")
remove = click.option(
    "--remove", is_flag=True, help="Remove the rules of these senders instead of adding them."
)


@click.command()
@senders
@remove
@options.store
def allow(senders: tuple[str, ...], remove: bool, store: str | None) -> None:
    """Always classify mail from a sender as ham.

    SENDER is an address, or a domain with its subdomains. The rule does not apply to a message
    that fails DMARC, or whose From also contains an address that is not allowed; see
    `Authentication-Results` in the documentation of mail.

    \b
    Examples:
      genus mail allow ann@example.org example.com
      genus mail allow --remove example.com
    """
    decide("allow", senders, remove, store)


@click.command()
@senders
@remove
@options.store
def block(senders: tuple[str, ...], remove: bool, store: str | None) -> None:
    """Always classify mail from a sender as spam.

    SENDER is an address, or a domain with its subdomains.

    \b
    Example:
      genus mail block shop.example
    """
    decide("block", senders, remove, store)


@click.command()
@options.store
@options.site
def rules(store: str | None, site: str | None) -> None:
    """List the senders that are allowed or blocked.

    \b
    Example:
      genus mail rules
    """
    from genus.mail.rules import rules_in
    from genus.mail.store import open_store

    opened = open_store(store, site, create=False)
    try:
        for _, rule in sorted(rules_in(opened).items()):
            click.echo(f"{rule.kind}  {rule.sender}")
    finally:
        opened.close()


def decide(kind: str, senders: tuple[str, ...], remove: bool, store: str | None) -> None:
    from genus.mail.rules import put_rules
    from genus.mail.store import open_store

    opened = open_store(store)
    try:
        number = put_rules(opened, None if remove else kind, senders)
    finally:
        opened.close()
    done = "removed" if remove else "added"
    click.echo(f"{number:,} {'rule was' if number == 1 else 'rules were'} {done}.")
