"""genus mail filter."""

from __future__ import annotations

import mmap

import click

from genus.cli.mail import options
from genus.cli.mail.codes import failing

NOT_PASSED_ON = 1
MOST = 1 << 26  # bytes of a message that is judged; mail servers accept 10 to 150 MB
NEEDED = 100 << 20  # bytes of address space in which the filter can be loaded


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
    the error goes to stderr, so no mail is lost. A message larger than 67,108,864 bytes passes
    unchanged, too. The exit code is 0 if the message was written to stdout.

    \b
    Example:
      genus mail filter < message.eml
    """
    from genus.cli.errors import close_stdout, say, sentence
    from genus.cli.mail.streams import pass_on, received

    with failing(ctx, NOT_PASSED_ON):
        pieces, is_all = received(MOST)
        if not pieces:
            raise ValueError(
                "There is no message on stdin. Redirect one: genus mail filter < message.eml."
            )
    try:
        if is_all:
            pieces = [marked(pieces, store, site, ham_loss)]
        else:
            say(
                f"The message is larger than {MOST:,} bytes, or than the memory. It passes "
                "unchanged."
            )
    except Exception as error:
        say(f"Error: {sentence(error)} The message passes unchanged.")
    try:
        pass_on(pieces)
    except OSError as error:  # also if the reader has gone
        close_stdout()
        say(f"Error: {sentence(error)} The message was not passed on.")
        ctx.exit(NOT_PASSED_ON)


def marked(
    pieces: list[bytes], store: str | None, site: str | None, ham_loss: float | None
) -> bytes:
    """Return the message in some pieces with the header that states its verdict."""
    require_memory()
    from genus.mail.boxes import warn_of_mbox
    from genus.mail.marking import mark
    from genus.mail.spamfilter import SpamFilter

    raw = b"".join(pieces)
    pieces[:] = [raw]
    warn_of_mbox(raw)
    spam_filter = SpamFilter.open(store, site, create=False, ham_loss=ham_loss)
    try:
        return mark(raw, spam_filter.check(raw))
    finally:
        spam_filter.close()


def require_memory() -> None:
    """Raise an error if there is too little memory for NumPy, as OpenBLAS would end the process."""
    try:
        mmap.mmap(-1, NEEDED).close()
    except OSError as error:
        raise MemoryError from error
