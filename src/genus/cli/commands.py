"""All commands, as one group."""

from __future__ import annotations

import click

from genus.cli.checking import check
from genus.cli.comparing import compare
from genus.cli.completion import completion
from genus.cli.demo import demo
from genus.cli.errors import Commands
from genus.cli.evaluating import evaluate
from genus.cli.explaining import explain
from genus.cli.figures import figures
from genus.cli.fitting import fit
from genus.cli.mail import mail
from genus.cli.merging import add, forget
from genus.cli.planning import plan
from genus.cli.predicting import predict
from genus.cli.reporting import report
from genus.cli.sampling import sample
from genus.cli.showing import show
from genus.cli.studio import studio

SETTINGS = {"max_content_width": 88, "help_option_names": ["-h", "--help"]}


@click.group(cls=Commands, context_settings=SETTINGS)
@click.version_option(package_name="genus")
def cli() -> None:
    """Learn to predict a column of a table; measure and explain the predictions.

    DATA is a file or a glob of files (CSV, TSV, Parquet, JSON lines, Arrow, Excel; also
    compressed), a query such as "SELECT * FROM 'x.parquet' WHERE year > 2020", a table of a
    database (shop.sqlite#orders, postgresql://localhost/shop#orders), or - for stdin. If DATA is
    given several times, all of it is read as one table. MODEL is a file that `genus fit` wrote.
    Data goes to stdout, messages go to stderr. Progress bars and colours appear on terminals only.

    \b
    Example:
      genus fit customers.csv --target churned
      genus evaluate customers.csv --target churned
      genus explain customers.genus customers.csv --row 12
      genus predict customers.genus new.csv -o scored.csv

    \b
    Exit codes:
      0    success (also if the reader of a pipe stops early)
      1    an error in the data, the model or a file
      2    the command was not understood
      130  interrupted by Ctrl-C

    `genus COMMAND --help` describes a command, with an example. `genus demo` shows the main
    commands.
    """


for command in (
    fit,
    predict,
    evaluate,
    check,
    explain,
    show,
    sample,
    plan,
    add,
    forget,
    report,
    compare,
    studio,
    mail,
    figures,
    demo,
    completion,
):
    cli.add_command(command)
