"""A source that somebody wants to keep: whether it can be served, and how it is written down."""

from skillwire.config.configured import Configured, ConfiguredSource
from skillwire.config.kinds import is_local, kind_of, local_path
from skillwire.config.opening import LibraryOptions
from skillwire.config.wanted import GivenBy, Wanted, must_open
from skillwire.model.display import quoted
from skillwire.model.errors import UsageError


def spelled(argument: str) -> str:
    """Return a source as it can be written down. Raises `UsageError`.

    A folder becomes a whole path, because a server may be started anywhere. A token is never written.
    """
    if is_local(argument):
        path = local_path(argument)
        if not path.exists():
            raise UsageError(f"{quoted(argument)} does not exist", hint="make it first, or mend its name")
        return str(path.resolve())
    if kind_of(argument).name == "repository":
        from skillwire.sources.git.repository import Repository  # noqa: PLC0415 - only who names one

        repository = Repository.parse(argument)
        if repository.token or repository.user:  # a token may stand where a name does
            raise UsageError(
                "there is a token in this address, and the configuration is a file that others may read",
                hint="leave it out, put it into an environment variable, and name that with `--token-env`",
            )
    return argument


def check_opens(source: ConfiguredSource) -> None:
    """Raise `UsageError` if the source can never be served."""
    wanted = Wanted(source.source, GivenBy.CONFIGURATION, source.label, source.prefix, source.token_env)
    must_open(wanted, LibraryOptions(live=True).for_sources(Configured()))
