"""Generate docs/cli.md from the program's own help: python -m genus.cli.page > docs/cli.md"""

from __future__ import annotations

from collections.abc import Iterator

import click

from genus.cli.commands import cli

WIDTH = 88  # columns of the help
INTRODUCTION = """# The command line

`genus` learns to predict a column of a table, measures how good the predictions are, and explains
them. Data goes to stdout and messages to stderr. `-` is stdin or stdout, and a file's suffix
decides its format. This page is generated from the program's own help:
`python -m genus.cli.page > docs/cli.md`.
"""


def commands(group: click.Group = cli, path: str = "genus") -> Iterator[str]:
    """Yield the full names of all commands, each group before its commands."""
    yield path
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, f"{path} {name}")
        else:
            yield f"{path} {name}"


def help_of(path: str) -> str:
    """Return the help of a command, given its full name."""
    top, *names = path.split()
    command: click.Command = cli
    context = click.Context(
        cli,
        info_name=top,
        terminal_width=WIDTH,
        max_content_width=WIDTH,
        help_option_names=["-h", "--help"],
    )
    for name in names:
        assert isinstance(command, click.Group)
        command = command.commands[name]
        context = click.Context(command, parent=context, info_name=name)
    return command.get_help(context)


def session() -> str:
    """Return what `genus demo` prints on a terminal."""
    from click.testing import CliRunner

    return CliRunner().invoke(cli, ["demo"], catch_exceptions=False).output


def page() -> str:
    """Return the page of documentation."""
    parts = [
        INTRODUCTION,
        "## A session\n\nThis is what `genus demo` prints.\n",
        f"```console\n{session().strip()}\n```\n",
        *(f"## {path}\n\n```text\n{help_of(path)}\n```\n" for path in commands()),
    ]
    return "\n".join(parts)


if __name__ == "__main__":
    click.echo(page(), nl=False)
