"""genus mail stats, expire and import-bogofilter."""

from __future__ import annotations

import click

from genus.cli.arguments import File
from genus.cli.mail import options


@click.command()
@options.store
@options.site
@options.ham_loss
def stats(store: str | None, site: str | None, ham_loss: float | None) -> None:
    """Say what the store knows.

    How many messages, how far evidence is trusted, and how large the store is.

    \b
    Example:
      genus mail stats
    """
    from genus.mail.spamfilter import SpamFilter
    from genus.mail.stats import stats_of

    spam_filter = SpamFilter.open(store, site, create=False, ham_loss=ham_loss)
    try:
        click.echo(stats_of(spam_filter))
    finally:
        spam_filter.close()


@click.command()
@click.option(
    "--half-life",
    type=click.FloatRange(1, 36_500),
    metavar="DAYS",
    help="Let a message count for half after so many days; after nine times as many it "
    "is forgotten.",
)
@click.option(
    "--keep", type=click.IntRange(0), metavar="N", help="Forget the oldest messages beyond so many."
)
@options.store
@options.site
def expire(half_life: float | None, keep: int | None, store: str | None, site: str | None) -> None:
    """Let old evidence fade, and forget the oldest.

    Run it once a day, say. What is left is exactly what learning with those weights would give.

    \b
    Example:
      genus mail expire --half-life 180 --keep 20000
    """
    from genus.mail.spamfilter import SpamFilter

    if half_life is None and keep is None:
        raise click.UsageError("Say what is to go: --half-life DAYS, --keep N, or both.")
    spam_filter = SpamFilter.open(store, site, create=False)
    try:
        faded, gone = spam_filter.expire(half_life, keep)
        totals = spam_filter.own.totals()
    finally:
        spam_filter.close()
    click.echo(
        f"{faded:,} messages count for less, {gone:,} are forgotten; the store holds "
        f"{totals.ham:,} ham and {totals.spam:,} spam."
    )


@click.command("import-bogofilter")
@click.argument("dump", type=File("DUMP"), default="-")
@options.store
def import_bogofilter(dump: str, store: str | None) -> None:
    """Take over the word list of bogofilter.

    DUMP is what `bogoutil -d ~/.bogofilter/wordlist.db` prints, or - for stdin. Its words are
    counted as evidence of their own until enough messages are learned; importing again replaces
    what was imported before.

    \b
    Example:
      bogoutil -d ~/.bogofilter/wordlist.db | genus mail import-bogofilter
    """
    from genus.mail.bogofilter import import_dump
    from genus.mail.spamfilter import SpamFilter

    spam_filter = SpamFilter.open(store)
    try:
        click.echo(import_dump(spam_filter, dump))
    finally:
        spam_filter.close()
