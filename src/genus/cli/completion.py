"""genus completion."""

from __future__ import annotations

import click


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print a script that lets a shell complete commands.

    \b
    Examples:
      eval "$(genus completion bash)"        in ~/.bashrc
      eval "$(genus completion zsh)"         in ~/.zshrc
      genus completion fish > ~/.config/fish/completions/genus.fish
    """
    from click.shell_completion import get_completion_class

    known = get_completion_class(shell)
    if known is None:
        raise click.ClickException(
            f"The installed version of click does not support {shell}. Upgrade click."
        )
    click.echo(known(ctx.find_root().command, {}, "genus", "_GENUS_COMPLETE").source())
