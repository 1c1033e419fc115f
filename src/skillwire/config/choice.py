"""The options `--config`, `--with-config` and `--no-config`, and what a command takes from the file."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeAlias

from cyclopts import Parameter

from skillwire.config.file import ConfigFile, SourceSettings, default_config, read_overrides
from skillwire.errors import UsageError
from skillwire.safe_text import escape_invisible
from skillwire.terminal.messages import pluralize, print_notice


@dataclass(frozen=True, slots=True)
class ConfigChoice:
    """What a command takes from the configuration file."""

    file: ConfigFile | None
    """The file, whose limits, allowed origins and visibility apply; None with `--no-config`."""
    sources: bool
    """Whether the sources in the file are used: with `--with-config`, or if no source is named."""


@dataclass(frozen=True, slots=True)
class ConfigFlags:
    """The options that choose a configuration file."""

    config: Annotated[
        Path | None,
        Parameter(name="--config", metavar="FILE", help="Use this configuration file instead of your own."),
    ] = None
    with_config: Annotated[
        bool,
        Parameter(
            name="--with-config", help="Also use the sources in the configuration file if you name others."
        ),
    ] = False
    no_config: Annotated[
        bool,
        Parameter(name="--no-config", help="Ignore the configuration file, also its limits and visibility."),
    ] = False

    def choose(self, *, named: bool) -> ConfigChoice:
        """Return what to take from the file. `named` tells whether the command line names a source.

        Prints a notice if the chosen file does not exist, or if restrictions in it are ignored. Raises
        `UsageError` for options that contradict each other.
        """
        if self.no_config:
            for option, given in (("--config", self.config), ("--with-config", self.with_config)):
                if given:
                    raise UsageError(
                        f"`{option}` and `--no-config` contradict each other", hint="remove one of them"
                    )
            _report_ignored(ConfigFile(default_config()))
            return ConfigChoice(None, sources=False)
        if self.config is not None and not self.config.exists():
            path = escape_invisible(str(self.config))
            print_notice(f"the configuration file `{path}` does not exist; nothing is configured")
        return ConfigChoice(ConfigFile(self.config or default_config()), self.with_config or not named)


ConfigOptions: TypeAlias = Annotated[ConfigFlags | None, Parameter(name="*")]


def choose_config(flags: ConfigFlags | None, *, named: bool) -> ConfigChoice:
    """Return what a command takes from the configuration file. `flags` is None if no option is given."""
    return (flags or ConfigFlags()).choose(named=named)


def _report_ignored(file: ConfigFile) -> None:
    """Print a notice if the file restricts what is served. An invalid file cannot be said to restrict."""
    try:
        limits, overrides = SourceSettings.read(file).limits, read_overrides(file)
    except UsageError:
        return
    hidden = sum(False in {each.assistant, each.user} for each in overrides.values())
    ignored = [*(["its limits"] if limits else []), *([_visibility_of(hidden)] if hidden else [])]
    if ignored:
        path = escape_invisible(str(file.path))
        print_notice(f"`--no-config` ignores the configuration file `{path}`, also {' and '.join(ignored)}")


def _visibility_of(number: int) -> str:
    return f"the visibility of {pluralize(number, 'skill')}"
