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
    """Mark a message on its way to stdout.

    A header is added: X-Genus: spam; probability=0.998; score=6.21. Any that was there before is
    removed. On whatever error the message passes as it came, and the error is said on stderr: no
    mail is lost. The exit code is 0 if the message was passed on, and else it is not.

    \b
    Example:
      genus mail filter < message.eml
    """
    from genus.cli.errors import close_stdout, say, sentence
    from genus.cli.mail.streams import pass_on, received

    with failing(ctx, NOT_PASSED_ON):
        raw = received()
        if not raw:
            raise ValueError("There is no message in stdin.")
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
        say(f"Error: {sentence(error)} The message passes as it came.")
    try:
        pass_on(marked)
    except OSError as error:  # also if whoever should take it has gone
        close_stdout()
        say(f"Error: {sentence(error)} The message was not passed on.")
        ctx.exit(NOT_PASSED_ON)
