"""genus mail stats, verify, repair, expire and import-bogofilter."""

from __future__ import annotations

import json

import click

from genus.cli.arguments import File
from genus.cli.mail import options


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON.")
@options.store
@options.site
@options.ham_loss
def stats(as_json: bool, store: str | None, site: str | None, ham_loss: float | None) -> None:
    """Summarise the store: its messages, thresholds, weights and size.

    \b
    Examples:
      genus mail stats
      genus mail stats --json
    """
    from genus.cli.errors import say
    from genus.mail.privacy import open_to_others
    from genus.mail.spamfilter import SpamFilter
    from genus.mail.stats import numbers_of, stats_of

    spam_filter = SpamFilter.open(store, site, create=False, ham_loss=ham_loss)
    try:
        click.echo(json.dumps(numbers_of(spam_filter)) if as_json else stats_of(spam_filter))
        for told in open_to_others(spam_filter.own.name):
            say(f"Note: {told}")
    finally:
        spam_filter.close()


@click.command()
@options.store
def verify(store: str | None) -> None:
    """Check that the store is undamaged.

    Adds up all learned messages (lessons) again, compares the sums with the counts, and, in SQLite,
    compares every row with its checksum. The exit code is 1 if anything is wrong.

    \b
    Example:
      genus mail verify
    """
    from genus.mail.store import open_store
    from genus.mail.verification import faults_in

    opened = open_store(store, create=False)
    try:
        faults = faults_in(opened)
        totals, tokens = opened.totals() if not faults else None, 0
        tokens = 0 if faults else opened.distinct()
    finally:
        opened.close()
    if totals is None:
        raise ValueError(f"{' '.join(faults)} Repair it: genus mail repair.")
    click.echo(
        f"The store is undamaged: its {totals.ham:,} ham and {totals.spam:,} spam add up to the "
        f"counts of {tokens:,} tokens."
    )


@click.command()
@options.store
def repair(store: str | None) -> None:
    """Rebuild the store from the learned messages that can be read.

    Afterwards the counts are the exact sums of the remaining messages. The damaged file is kept
    beside the store, as NAME.damaged, or NAME.damaged-2 if there is one already. In PostgreSQL,
    unreadable messages are removed.

    \b
    Example:
      genus mail repair
    """
    from genus.mail.store import open_store
    from genus.mail.verification import repair as repair_store

    opened = open_store(store, create=False)
    try:
        done = repair_store(opened)
    finally:
        opened.close()
    where = "" if done.old is None else f"; the old file is {done.old}"
    saved = f"{done.saved:,} {'lesson was' if done.saved == 1 else 'lessons were'} saved"
    click.echo(f"{saved}, {done.lost:,} {was(done.lost)} lost{where}.")


@click.command()
@click.option(
    "--half-life",
    type=click.FloatRange(1, 36_500),
    metavar="DAYS",
    help="Halve the weight of a message every DAYS days; forget it after 9 × DAYS days.",
)
@click.option(
    "--keep",
    type=click.IntRange(0),
    metavar="N",
    help="Keep at most N messages; forget the oldest, first those of the larger class.",
)
@options.store
@options.site
def expire(half_life: float | None, keep: int | None, store: str | None, site: str | None) -> None:
    """Let old messages count for less, and forget the oldest.

    Run it once a day, for example. Afterwards the counts are the same as if only the remaining
    messages had been learned, with their new weights.

    \b
    Example:
      genus mail expire --half-life 180 --keep 20000
    """
    from genus.mail.spamfilter import SpamFilter

    if half_life is None and keep is None:
        raise click.UsageError("Name what to expire: --half-life DAYS, --keep N, or both.")
    spam_filter = SpamFilter.open(store, site, create=False)
    try:
        faded, gone = spam_filter.expire(half_life, keep)
        totals = spam_filter.own.totals()
    finally:
        spam_filter.close()
    click.echo(
        f"{faded:,} {'message counts' if faded == 1 else 'messages count'} for less, "
        f"{gone:,} {was(gone)} forgotten; the store holds "
        f"{totals.ham:,} ham and {totals.spam:,} spam."
    )


@click.command("import-bogofilter")
@click.argument("dump", type=File("DUMP"), default="-")
@options.store
def import_bogofilter(dump: str, store: str | None) -> None:
    """Import the word list of bogofilter.

    DUMP is the output of `bogoutil -d ~/.bogofilter/wordlist.db`, or - for stdin. Its counts are
    added to those of learned messages. A second import replaces the first.

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


def was(number: int) -> str:
    """Return the verb for a number of things."""
    return "was" if number == 1 else "were"
