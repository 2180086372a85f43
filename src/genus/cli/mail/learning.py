"""genus mail learn and forget."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TypeVar

import click

from genus.cli.arguments import File
from genus.cli.mail import options
from genus.cli.mail.unreadable import Missed

T = TypeVar("T")


class Several(click.Option):
    """An option that takes all words up to the next option: --spam A B C --ham D."""


class TakesSeveral(click.Command):
    """A command whose repeatable options accept several values after one name."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        names = {name for each in self.params if isinstance(each, Several) for name in each.opts}
        spread: list[str] = []
        current, given = None, True
        for word in [*args, "--"]:
            if word == "-" or not word.startswith("-"):
                spread += [current, word] if current is not None else [word]
                given = True
                continue
            if not given:
                raise click.UsageError(f"Option '{current}' needs a PATH after it.", ctx)
            current, given = (word, False) if word in names else (None, True)
            spread += [] if current else [word]
        return super().parse_args(ctx, spread[:-1])


@click.command(cls=TakesSeveral)
@click.option(
    "--spam", cls=Several, multiple=True, type=File("PATH…"), help="Learn this mail as spam."
)
@click.option(
    "--ham", cls=Several, multiple=True, type=File("PATH…"), help="Learn this mail as ham."
)
@options.store
@options.site
@click.pass_context
def learn(
    ctx: click.Context,
    spam: tuple[str, ...],
    ham: tuple[str, ...],
    store: str | None,
    site: str | None,
) -> None:
    """Learn messages as spam or as ham (mail that is not spam).

    A message that was learned before is not counted twice. If its weight has faded (`genus mail
    expire`), it counts in full again; if it was learned as the other class, it is corrected. `genus
    mail forget` undoes the learning.

    \b
    Examples:
      genus mail learn --spam ~/Maildir/.Junk --ham ~/Maildir/.Archive ~/Maildir/.Work
      genus mail learn --spam - < message.eml
    """
    from genus.display.text import count
    from genus.mail.spamfilter import SpamFilter
    from genus.mail.stats import advice

    if not spam and not ham:
        raise click.UsageError("Name mail to learn: --spam PATH…, --ham PATH…, or both.")
    spam_filter = SpamFilter.open(store, site)
    known = spam_filter.own.totals()
    before = known.ham + known.spam
    missed = Missed()
    try:
        labels: list[str] = []

        def labelled() -> Iterator[tuple[bytes, bool]]:
            for label, paths in (("spam", spam), ("ham", ham)):
                for raw in raws(paths, missed):
                    labels.append(label)
                    yield raw, label == "spam"

        every = spam_filter.learn_labelled(passing("learn", labelled()))
        added = every.count("learned")
        for label, paths in (("spam", spam), ("ham", ham)):
            if paths:
                outcomes = [each for each, of in zip(every, labels, strict=True) if of == label]
                kinds = ("learned", "known", "corrected", *{"renewed"}.intersection(outcomes))
                click.echo(f"{label}: {told(outcomes, kinds)}")
        totals = spam_filter.own.totals()
        gone = before + added - totals.ham - totals.spam
        if gone > 0:
            click.echo(
                f"Forgot {count(gone, 'old message')}, first those of the larger class, to keep "
                "the store within its limit."
            )
        click.echo(f"The store holds {totals.ham:,} ham and {totals.spam:,} spam.")
        for each in advice(spam_filter):
            click.echo(each, err=True)
    finally:
        spam_filter.close()
    missed.exit(ctx)


@click.command()
@options.paths
@options.store
@options.site
@click.pass_context
def forget(ctx: click.Context, paths: tuple[str, ...], store: str | None, site: str | None) -> None:
    """Forget messages: undo exactly what learning them did.

    \b
    Example:
      genus mail forget message.eml
    """
    from genus.mail.spamfilter import SpamFilter

    if not paths:
        raise click.UsageError("Name what to forget: a message, or a folder of them.")
    spam_filter = SpamFilter.open(store, site, create=False)
    missed = Missed()
    try:
        outcomes = spam_filter.forget(passing("forget", raws(paths, missed)))
        if "forgotten" in outcomes:
            spam_filter.store.tidy()
        click.echo(told(outcomes, ("forgotten", "unknown")))
    finally:
        spam_filter.close()
    missed.exit(ctx)


def raws(paths: Iterable[str], missed: Missed) -> Iterator[bytes]:
    from genus.mail.boxes import messages_in

    return (raw for _, raw in messages_in(paths, missed))


def passing(what: str, messages: Iterator[T]) -> Iterator[T]:
    """Yield the messages, and show their number on a terminal."""
    from genus.cli.progress import passing as counted

    return counted(what, messages, " messages")


def told(outcomes: list[str], kinds: tuple[str, ...]) -> str:
    """Say how many messages had each outcome: 3 learned, 1 already known, 1 corrected."""
    number = Counter(outcomes)
    names = {"known": "already known", "unknown": "not known"}
    return ", ".join(f"{number[kind]:,} {names.get(kind, kind)}" for kind in kinds)
