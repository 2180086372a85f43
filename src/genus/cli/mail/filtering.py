"""genus mail filter."""

from __future__ import annotations

import sys

import click

from genus.cli.mail import options


@click.command("filter")
@options.store
@options.site
@options.ham_loss
def filter_message(store: str | None, site: str | None, ham_loss: float | None) -> None:
    """Mark a message on its way to stdout.

    A header is added: X-Genus: spam; probability=0.998; score=6.21. Any that was there before is
    removed. On whatever error the message passes as it came, and the error is said on stderr: no
    mail is lost. The exit code is 0 as long as the message could be passed on.

    \b
    Example:
      genus mail filter < message.eml
    """
    raw = sys.stdin.buffer.read()
    try:
        from genus.mail.marking import mark
        from genus.mail.spamfilter import SpamFilter

        spam_filter = SpamFilter.open(store, site, create=False, ham_loss=ham_loss)
        try:
            marked = mark(raw, spam_filter.check(raw))
        finally:
            spam_filter.close()
    except Exception as error:
        from genus.cli.troubles import say, sentence

        marked = raw
        say(f"Error: {sentence(error)} The message passes as it came.")
    sys.stdout.buffer.write(marked)
    sys.stdout.buffer.flush()
