"""genus mail why."""

from __future__ import annotations

import click

from genus.cli.arguments import File
from genus.cli.mail import options


@click.command()
@click.argument("path", type=File("PATH"), default="-")
@click.option(
    "-n",
    "--number",
    type=click.IntRange(1),
    default=20,
    show_default=True,
    help="Show at most this many tokens for spam, and as many against it.",
)
@options.store
@options.site
@options.ham_loss
def why(
    path: str, number: int, store: str | None, site: str | None, ham_loss: float | None
) -> None:
    """Explain the verdict on a message.

    Lists the tokens that contribute most to the score, and where in the message they are.

    \b
    Example:
      genus mail why message.eml
    """
    from genus.cli.errors import say
    from genus.mail.boxes import message_named
    from genus.mail.spamfilter import SpamFilter

    spam_filter = SpamFilter.open(store, site, create=False, ham_loss=ham_loss)
    try:
        name, raw, alone = message_named(path)
        click.echo(spam_filter.why(raw).text(number))
        if not alone:
            say(f"This is {name}, the first of several messages in {path}.")
    finally:
        spam_filter.close()
