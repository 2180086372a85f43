"""genus mail filter."""

from __future__ import annotations

import click

from genus.cli.mail import options
from genus.cli.mail.codes import failing

NOT_PASSED_ON = 1


@click.command("filter")
@options.store
@options.site
@options.ham_loss
@click.pass_context
def filter_message(
    ctx: click.Context, store: str | None, site: str | None, ham_loss: float | None
) -> None:
    """Copy a message from stdin to stdout, and add its verdict.

    The verdict is a header, such as X-Genus: spam; probability=0.998; score=6.21. It replaces any
    X-Genus header that the message already has. If anything fails, the message passes unchanged and
    the error goes to stderr, so no mail is lost. The exit code is 0 if the message was
    written to stdout.

    \b
    Example:
      genus mail filter < message.eml
    """
    from genus.cli.errors import close_stdout, say, sentence
    from genus.cli.mail.streams import pass_on, received

    with failing(ctx, NOT_PASSED_ON):
        raw = received()
        if not raw:
            raise ValueError(
                "There is no message on stdin. Redirect one: genus mail filter < message.eml."
            )
    try:
        from genus.mail.marking import mark
        from genus.mail.spamfilter import SpamFilter

        spam_filter = SpamFilter.open(store, site, create=False, ham_loss=ham_loss)
        try:
            marked = mark(raw, spam_filter.check(raw))
        finally:
            spam_filter.close()
    except Exception as error:
        marked = raw
        say(f"Error: {sentence(error)} The message passes unchanged.")
    try:
        pass_on(marked)
    except OSError as error:  # also if the reader has gone
        close_stdout()
        say(f"Error: {sentence(error)} The message was not passed on.")
        ctx.exit(NOT_PASSED_ON)
