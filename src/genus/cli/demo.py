"""genus demo: generate a small table, and run the main commands on it."""

from __future__ import annotations

import csv
import os
import random
import shlex
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

ROWS, NEW = 600, 5
PRAISE = ("friendly staff", "fast delivery", "easy to use", "fair price", "works well", "kind help")
BLAME = (
    "too expensive",
    "hours on hold",
    "app keeps crashing",
    "wrong bill",
    "slow line",
    "rude staff",
)
SMALL = ("asked for an invoice", "new address", "about the contract", "second card", "new phone")
NAMES = ("customer", "age", "city", "plan", "calls", "spent", "note", "status")
COMMANDS = (
    "genus fit customers.csv --target status",
    "genus evaluate customers.csv --target status --folds 5",
    "genus explain customers.genus new.csv --row 2",
    "genus predict customers.genus new.csv -o scored.csv",
)


@click.command()
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False),
    help="Write the tables customers.csv and new.csv to this folder, and run no commands.",
)
@click.pass_context
def demo(ctx: click.Context, output: str | None) -> None:
    """Run the main commands on a small table.

    The table is generated in a temporary folder, which is removed afterwards.

    \b
    Examples:
      genus demo
      genus demo -o .
    """
    from genus.cli.scores import bold

    if output is not None:
        keep(Path(output))
        return
    with tempfile.TemporaryDirectory(prefix="genus-demo-") as folder, inside(folder):
        keep(Path())
        show("head -4 customers.csv", Path("customers.csv"), 4)
        for command in COMMANDS:
            click.echo(bold(f"$ {command}"))
            run(ctx.find_root(), shlex.split(command)[1:])
            click.echo()
        show("cut -d, -f1-3,8- scored.csv", Path("scored.csv"), NEW + 1, left_out=slice(3, 7))


def keep(folder: Path) -> None:
    """Write the tables of customers and of new customers to a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, seed, rows in (("customers.csv", 1, ROWS), ("new.csv", 2, NEW)):
        path = folder / name
        if path.exists():
            raise click.ClickException(f"{path} already exists. Give another folder.")
        write(path, random.Random(seed), rows)


def run(root: click.Context, arguments: list[str]) -> None:
    """Run a command as if it had been typed."""
    name, *rest = arguments
    command = root.command.commands[name]  # type: ignore[attr-defined]
    with command.make_context(name, rest, parent=root) as ctx:
        command.invoke(ctx)


@contextmanager
def inside(folder: str) -> Iterator[None]:
    """Change to a folder inside the `with` block."""
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def show(command: str, path: Path, lines: int, left_out: slice | None = None) -> None:
    """Print the first lines of a file, leaving out some columns."""
    from genus.cli.scores import bold

    click.echo(bold(f"$ {command}"))
    for line in path.read_text(encoding="utf-8").splitlines()[:lines]:
        cells = line.split(",")
        if left_out is not None:
            del cells[left_out]
        click.echo(",".join(cells))
    click.echo()


def write(path: Path, rng: random.Random, rows: int) -> None:
    """Write a table of customers, with numbers, categories, texts and missing values."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(NAMES)
        writer.writerows(customer(rng) for _ in range(rows))


def customer(rng: random.Random) -> list[str | int]:
    """Return one customer; those who leave are younger, call more often, and complain."""
    leaves = rng.random() < 0.35
    age = min(max(round(rng.gauss(36 if leaves else 47, 11)), 18), 90)
    plans = (
        ("basic", "basic", "plus", "premium") if leaves else ("basic", "plus", "plus", "premium")
    )
    calls = sum(rng.random() < (0.3 if leaves else 0.12) for _ in range(12))
    spent = round(rng.lognormvariate(3.6 if leaves else 4.0, 0.6), 2)
    words = rng.choices((BLAME, PRAISE, SMALL), (5, 1, 4) if leaves else (1, 4, 5), k=3)
    note = "; ".join(rng.choice(some) for some in words)
    return [
        f"c{rng.randrange(10**6):06d}",
        "" if rng.random() < 0.05 else age,
        rng.choice(("Trier", "Köln", "Mainz", "Bonn")),
        rng.choice(plans),
        calls,
        "" if rng.random() < (0.2 if leaves else 0.05) else f"{spent:.2f}",
        "" if rng.random() < 0.1 else note,
        "left" if leaves else "stayed",
    ]
