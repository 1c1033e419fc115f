"""`skillwire push`: publish versions of skills in a registry."""

import getpass
import shlex
from collections.abc import Sequence
from typing import Annotated

import anyio
from cyclopts import Parameter

from skillwire.config.choice import ConfigOptions, choose_config
from skillwire.config.library import load_library
from skillwire.core.patterns import Selection
from skillwire.errors import SourceError
from skillwire.library.library import Library
from skillwire.registry.address import DEFAULT, DEFAULT_CHANNEL, RegistryAddress
from skillwire.registry.commands.options import REGISTRY, parse_address
from skillwire.registry.open import open_store
from skillwire.registry.publication import Published, Publisher, Refusal
from skillwire.registry.push import prepare, publish
from skillwire.registry.store import Store
from skillwire.registry.version import check_version
from skillwire.safe_text import escape_invisible, quoted, redact_secrets
from skillwire.terminal.messages import NO_SKILLS, pluralize, print_notice
from skillwire.terminal.options import Exclude, FollowLinks, Only, json_of
from skillwire.terminal.output import print_error, print_json, print_line, stderr_console


def push(
    sources: Annotated[
        list[str] | None,
        Parameter(name="SOURCE", help="Source to push. Default: `SKILLS_DIR` and the configuration file."),
    ] = None,
    /,
    *,
    to: Annotated[
        str,
        Parameter(
            group=REGISTRY,
            name="--to",
            metavar="REGISTRY",
            show_default=True,
            help="Registry to push to. `registry:` is a file of your own, created by the first push.",
        ),
    ] = DEFAULT,
    version: Annotated[
        str | None,
        Parameter(
            group=REGISTRY,
            metavar="VERSION",
            help="Version of all skills. Default: the version that each skill declares, else one that "
            "changes with its content.",
        ),
    ] = None,
    channel: Annotated[
        str | None,
        Parameter(
            group=REGISTRY,
            metavar="CHANNEL",
            help=f"Channel that gets the versions. Default: {DEFAULT_CHANNEL}.",
        ),
    ] = None,
    json: Annotated[
        bool,
        json_of(
            "{revision, pushed: [{path, version, digest}], unchanged: [{path, version, digest}], "
            "refused: [{path, reason}]}"
        ),
    ] = False,
    follow_links: FollowLinks = False,
    only: Only = None,
    exclude: Exclude = None,
    config: ConfigOptions = None,
) -> int:
    """Publish versions of your skills in a registry, from which servers serve them.

    All skills of a push appear together. A published version never changes: if its content is different now,
    the whole push is refused, and nothing changes. If the channel has all versions already, nothing happens.

    A skill with an error is reported and left out. The others are still pushed. Skills that are no longer in
    the source stay in the registry.

    Exit code 1: a skill was refused, or a source could not be read.

    For example:

    ```
    skillwire push ./skills
    skillwire push ./skills --channel canary --version 1.4.0
    skillwire serve registry:
    ```
    """
    address = parse_address(to, channel)
    if version is not None:
        check_version(version, "`--version`")
    chosen = choose_config(config, named=bool(sources))
    selection = Selection(only or (), exclude or ())
    library = load_library(sources or [], follow_links=follow_links, config=chosen, selection=selection)
    _report_selection(library)
    prepared = prepare(library, version)
    if not prepared.releases:
        _print_refused(prepared.refused)
        raise SourceError("nothing was pushed: " + ("no skill can be" if prepared.refused else NO_SKILLS))
    store = open_store(address)
    publisher = Publisher(_user(), {"source": _places(library)})

    async def run() -> Published:
        if await store.create():
            print_notice(f"created the registry {quoted(str(address.path), None)}")
        releases, channel = prepared.releases, address.channel
        return await publish(library, releases, store, channel=channel, publisher=publisher)

    published = anyio.run(run)
    return _report(published, prepared.refused, store, address, as_json=json)


def _user() -> str:
    """Return the name of the user, for the history."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a container may have no name for its user
        return "unknown"


def _places(library: Library) -> str:
    return " ".join(shlex.quote(redact_secrets(source.place)) for source in library.sources)


def _report_selection(library: Library) -> None:
    if library.selection:
        print_notice(f"{pluralize(library.left_out, 'skill')} left out by `--only` and `--exclude`")
        for selector in library.selection.unused():
            print_notice(f"warning: {quoted(selector)} matches no skill now")


def _report(
    published: Published,
    left_out: Sequence[Refusal],
    store: Store,
    address: RegistryAddress,
    *,
    as_json: bool,
) -> int:
    """Print what was published and what was not. Return the exit code."""
    refused = [*left_out, *published.refused]
    if as_json:
        print_json(_to_json(published, refused))
    else:
        for each in published.pushed:
            print_line(f"{escape_invisible(each.path)}\t{each.version}")
    _print_refused(refused)
    unchanged = f"; {len(published.unchanged):,} unchanged" if published.unchanged else ""
    place = f"{quoted(store.place, None)}, channel `{address.channel}`"
    if published.refused:
        message = f"nothing was pushed to {place}, because {pluralize(len(published.refused), 'skill')} "
        message += "was refused" if len(published.refused) == 1 else "were refused"
    elif published.pushed:
        message = f"{pluralize(len(published.pushed), 'skill')} pushed to {place}, revision "
        what = "it" if len(published.pushed) == 1 else "them"
        message += (
            f"{published.revision:,}{unchanged}; `skillwire serve {shlex.quote(str(address))}` serves {what}"
        )
    else:
        message = f"{place} has these versions already: nothing changed"
    stderr_console().print(message)
    return 1 if refused else 0


def _print_refused(refused: Sequence[Refusal]) -> None:
    for each in refused:
        print_error(f"{quoted(each.path)} is not pushed: {each.reason}")


def _to_json(published: Published, refused: Sequence[Refusal]) -> dict[str, object]:
    pushed, unchanged = (
        [{"path": each.path, "version": each.version, "digest": each.digest.text} for each in releases]
        for releases in (published.pushed, published.unchanged)
    )
    return {
        "revision": published.revision,
        "pushed": pushed,
        "unchanged": unchanged,
        "refused": [{"path": each.path, "reason": each.reason} for each in refused],
    }
