"""docs/cli.md, made of what the program itself says: python -m genus.cli.page > docs/cli.md"""

from __future__ import annotations

import click

from genus.cli.commands import cli

WIDTH = 88  # columns of the help
INTRODUCTION = """# The command line

`genus` learns to predict a column of a table, says how well, explains, and predicts. Data goes to
stdout and talk to stderr; `-` is stdin or stdout; what a file holds is told by its suffix. This
page is made of what the program itself says: `python -m genus.cli.page > docs/cli.md`.
"""


def help_of(name: str | None = None) -> str:
    """The help of a command, or of all."""
    top = click.Context(
        cli,
        info_name="genus",
        terminal_width=WIDTH,
        max_content_width=WIDTH,
        help_option_names=["-h", "--help"],
    )
    if name is None:
        return cli.get_help(top)
    command = cli.commands[name]
    return command.get_help(click.Context(command, parent=top, info_name=name))


def session() -> str:
    """What `genus demo` prints on a terminal."""
    from click.testing import CliRunner

    return CliRunner().invoke(cli, ["demo"], catch_exceptions=False).output


def page() -> str:
    """The page of documentation."""
    parts = [
        INTRODUCTION,
        "## A session\n\nThis is what `genus demo` prints.\n",
        f"```console\n{session().strip()}\n```\n",
        f"## genus\n\n```text\n{help_of()}\n```\n",
        *(f"## genus {name}\n\n```text\n{help_of(name)}\n```\n" for name in cli.commands),
    ]
    return "\n".join(parts)


if __name__ == "__main__":
    click.echo(page(), nl=False)
