"""Several annexes of the HTTP application as one."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from starlette.types import Scope

from skillwire.server.http import Annex


def joined(annexes: Sequence[Annex]) -> Annex:
    """Return one annex that holds all of `annexes`. Of two routes for one request, the first answers."""

    def vouches(scope: Scope) -> bool:
        return any(each.vouches(scope) for each in annexes)

    @asynccontextmanager
    async def running() -> AsyncGenerator[None]:
        async with AsyncExitStack() as stack:
            for each in annexes:
                await stack.enter_async_context(each.running())
            yield

    def close() -> None:
        for each in annexes:
            each.close()

    sizes = [each.message_bytes for each in annexes if each.message_bytes is not None]
    return Annex(
        tuple(route for each in annexes for route in each.routes),
        open_paths=frozenset[str]().union(*(each.open_paths for each in annexes)),
        vouches=vouches,
        credentials=any(each.credentials for each in annexes),
        connections=sum(each.connections for each in annexes),
        message_bytes=max(sizes, default=None),
        running=running,
        close=close,
    )
