"""What servers offer: whether they know the extension, in which dialect, and how many skills they list."""

from collections.abc import Sequence

import anyio
from mcp.shared.exceptions import MCPError

from skillwire.cli.server_table import Probe
from skillwire.host.reaching.client import Listing
from skillwire.host.reaching.link import ServerLink
from skillwire.host.reaching.target import Target
from skillwire.model.display import visible
from skillwire.model.errors import SkillwireError

_AT_ONCE = 8
_PATIENCE = 60.0
"""Seconds for one server."""


def probe_all(targets: Sequence[Target]) -> dict[str, Probe]:
    """Ask each server, several at once; return what each said by its label."""
    return anyio.run(_probe_all, targets)


async def _probe_all(targets: Sequence[Target]) -> dict[str, Probe]:
    probes: dict[str, Probe] = {}
    free = anyio.CapacityLimiter(_AT_ONCE)

    async def probe(target: Target) -> None:
        async with free:
            probes[target.label] = await _probe(target)

    async with anyio.create_task_group() as tasks:
        for target in targets:
            tasks.start_soon(probe, target)
    return probes


async def _probe(target: Target) -> Probe:
    async with ServerLink(target, drafts=True) as link:
        try:
            with anyio.fail_after(_PATIENCE):
                return _told(link, await link.list())
        except TimeoutError:
            return Probe(link.declared, error=f"no list of skills in {_PATIENCE:g} seconds")
        except (SkillwireError, MCPError) as error:
            return Probe(link.declared, error=visible(str(error), 300))


def _told(link: ServerLink, listing: Listing) -> Probe:
    found = len(listing.findings.kept) + listing.findings.more
    if link.declared is None and not listing.skills:
        return Probe()
    dialect = "" if listing.dialect is None else listing.dialect.value
    return Probe(link.declared, dialect, len(listing.skills), found)
