"""genus mail check."""

from __future__ import annotations

import sys

import click

from genus.cli.mail import options
from genus.cli.mail.codes import FAILED, HAM, SPAM, UNSURE, UsageIsAnError, failing
from genus.cli.mail.unreadable import Missed

CODES = {"spam": SPAM, "ham": HAM, "unsure": UNSURE}


@click.command(cls=UsageIsAnError)
@options.paths
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON for each message.")
@options.store
@options.site
@options.ham_loss
@click.pass_context
def check(
    ctx: click.Context,
    paths: tuple[str, ...],
    as_json: bool,
    store: str | None,
    site: str | None,
    ham_loss: float | None,
) -> None:
    """Classify messages as ham, spam or unsure.

    Without PATH the message is read from stdin. The score is the logarithm of the odds of spam. If
    the verdict does not follow from it, the reason is at the end of the line: (allow-rule),
    (block-rule), (mostly-new), (mostly-unread) or (too-little-learned).

    \b
    Exit codes (of the last message, if there are several):
      0 spam   1 ham   2 unsure   3 error (also if any of the messages cannot be read)

    \b
    Examples:
      genus mail check message.eml
      genus mail check --json ~/Maildir | sort
    """
    with failing(ctx, FAILED):
        from genus.mail.boxes import messages_in
        from genus.mail.spamfilter import SpamFilter
        from genus.mail.verdict import NEW, printable

        spam_filter = SpamFilter.open(store, site, create=False, ham_loss=ham_loss)
        try:
            verdict, reasons, missed = None, set(), Missed()
            for name, verdict in spam_filter.check_named(messages_in(paths or ("-",), missed)):
                if as_json:
                    click.echo(verdict.line(name))
                else:
                    click.echo(
                        f"{verdict.verdict:6}  {six_digits(verdict.probability)}  "
                        f"{verdict.score:+9.3f}  {printable(name)}"
                        + f"  ({verdict.code})"
                        * bool(verdict.code)
                    )
                if not verdict.rule:
                    reasons.add(verdict.reason)
        finally:
            spam_filter.close()
        for reason in sorted(reasons - {"", NEW}):
            click.echo(reason, err=True)
        sys.stdout.flush()
        missed.exit(ctx, FAILED)
        if verdict is None:
            raise ValueError(f"There is no message in {', '.join(paths) or 'stdin'}.")
        ctx.exit(CODES[verdict.verdict])


def six_digits(probability: float) -> str:
    """Format a probability for a column; it is never shown as 0 or 1."""
    from genus.mail.marking import shown

    text = shown(probability)
    return f"{text:8}" if "e" in text else text.ljust(8, "0")
