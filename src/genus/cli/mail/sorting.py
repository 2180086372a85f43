"""genus mail sort."""

from __future__ import annotations

import click

from genus.cli.arguments import File
from genus.cli.mail import options
from genus.cli.mail.unreadable import Missed


@click.command()
@click.argument("maildir", type=File("MAILDIR"))
@click.option(
    "--junk",
    default=".Junk",
    show_default=True,
    metavar="FOLDER",
    help="Move spam to this folder of the Maildir, or to this path. A missing folder is created.",
)
@click.option(
    "--unsure", metavar="FOLDER", help="Move unsure messages to this folder. By default they stay."
)
@click.option("--dry-run", is_flag=True, help="Print what would be moved, and move nothing.")
@options.store
@options.site
@options.ham_loss
@click.pass_context
def sort(
    ctx: click.Context,
    maildir: str,
    junk: str,
    unsure: str | None,
    dry_run: bool,
    store: str | None,
    site: str | None,
    ham_loss: float | None,
) -> None:
    """Move spam from a Maildir into its Junk folder.

    Within a file system, files are moved by renaming them, so a message is always in exactly one
    folder. Messages keep their flags. The paths of moved messages go to stdout.

    A subfolder of a Maildir++, such as ~/Maildir/.Lists, has its Junk folder in the top-level
    Maildir. Started as root, the command switches to the owner of the Maildir before it opens
    anything, so it uses the owner's store.

    \b
    Example:
      genus mail sort ~/Maildir --junk .Junk --unsure .Maybe --dry-run
    """
    from genus.cli.errors import say
    from genus.mail.ownership import act_as_owner
    from genus.mail.sorting import sort_maildir
    from genus.mail.spamfilter import SpamFilter
    from genus.mail.verdict import NEW, printable

    act_as_owner(maildir)
    spam_filter = SpamFilter.open(store, site, create=False, ham_loss=ham_loss)
    try:
        counts = {"ham": 0, "unsure": 0, "spam": 0}
        reasons, missed = set(), Missed()
        for moved in sort_maildir(spam_filter, maildir, junk, unsure, dry_run, missed):
            counts[moved.verdict.verdict] += 1
            reasons.add(moved.verdict.reason)
            if moved.target is not None:
                click.echo(printable(f"{moved.path} -> {moved.target}"))
    finally:
        spam_filter.close()
    for reason in sorted(reasons - {"", NEW}):
        say(reason)
    done = " would be moved" if dry_run else " moved"
    unsure_done = "" if unsure is None else done
    say(
        f"{counts['spam']:,} spam{done}, {counts['ham']:,} ham, "
        f"{counts['unsure']:,} unsure{unsure_done}."
    )
    missed.exit(ctx)
