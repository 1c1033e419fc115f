"""`skillwire completion`: print a script that completes command lines in a shell.

The scripts are generated from the table of commands by `scripts/sync-docs`. They complete without starting
Skillwire.
"""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from skillwire.terminal.messages import print_text

SCRIPTS = Path(__file__).parent / "completions"
"""The folder of the scripts. Each is named `skillwire.SHELL`."""


def completion(
    shell: Annotated[Literal["bash", "zsh", "fish"], Parameter(name="SHELL", help="Your shell.")], /
) -> int:
    """Print a script that completes commands, options and their values in your shell.

    Save the script where your shell looks for completions, and open a new shell. For zsh, the folder must be
    in `fpath` before `compinit` runs.

    For example:

    ```
    skillwire completion bash > ~/.local/share/bash-completion/completions/skillwire
    skillwire completion zsh > ~/.zfunc/_skillwire
    skillwire completion fish > ~/.config/fish/completions/skillwire.fish
    ```
    """
    print_text((SCRIPTS / f"skillwire.{shell}").read_text(encoding="utf-8"))
    return 0
