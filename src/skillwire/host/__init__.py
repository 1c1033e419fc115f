"""The consuming side: skills of servers that somebody else runs.

Developers of agents take `Host` from here, `Target` for a server, `State` for what is kept, and the questions
and answers of approval. Nothing is loaded before it is asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skillwire.host.approval import (
        Answer,
        Approver,
        ExecutionRequest,
        ForeignReadRequest,
        LoadRequest,
        Request,
    )
    from skillwire.host.connected import ConnectedServer
    from skillwire.host.host import Host
    from skillwire.host.refusing import HostError
    from skillwire.host.session import Session
    from skillwire.host.state.state import State
    from skillwire.host.target import Target
    from skillwire.host.tools import AgentTool

__all__ = [
    "AgentTool",
    "Answer",
    "Approver",
    "ConnectedServer",
    "ExecutionRequest",
    "ForeignReadRequest",
    "Host",
    "HostError",
    "LoadRequest",
    "Request",
    "Session",
    "State",
    "Target",
]

_OWNERS = {
    "AgentTool": "skillwire.host.tools",
    "Answer": "skillwire.host.approval",
    "Approver": "skillwire.host.approval",
    "ConnectedServer": "skillwire.host.connected",
    "ExecutionRequest": "skillwire.host.approval",
    "ForeignReadRequest": "skillwire.host.approval",
    "Host": "skillwire.host.host",
    "HostError": "skillwire.host.refusing",
    "LoadRequest": "skillwire.host.approval",
    "Request": "skillwire.host.approval",
    "Session": "skillwire.host.session",
    "State": "skillwire.host.state.state",
    "Target": "skillwire.host.target",
}


def __getattr__(name: str) -> Any:
    """Load what is asked for: a client of skills costs a second to import."""
    if name not in _OWNERS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_OWNERS[name]), name)
