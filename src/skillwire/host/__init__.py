"""The consuming side: skills of servers that somebody else runs.

Developers of agents take `Host` from here, `Target` for a server, `State` for what is kept, and the questions
and answers of approval. Nothing is loaded before it is asked for.
"""

from typing import TYPE_CHECKING

from skillwire.lazy import exports

if TYPE_CHECKING:
    from skillwire.host.dialects.client import DraftsClient
    from skillwire.host.host import Host
    from skillwire.host.judging.approval import (
        Answer,
        Approver,
        ExecutionRequest,
        ForeignReadRequest,
        LoadRequest,
        Request,
    )
    from skillwire.host.login.flow import KnownClient, LoginHandler, LoginRequest
    from skillwire.host.login.loopback import browser_login
    from skillwire.host.login.record import LoginError
    from skillwire.host.login.store import Logins
    from skillwire.host.reaching.client import SkillsClient
    from skillwire.host.reaching.connected import ConnectedServer
    from skillwire.host.reaching.target import Target, TokenSource
    from skillwire.host.refusing import HostError, LoginRequiredError
    from skillwire.host.session.session import Session
    from skillwire.host.session.tools import AgentTool
    from skillwire.host.state.state import State

__all__ = [
    "AgentTool",
    "Answer",
    "Approver",
    "ConnectedServer",
    "DraftsClient",
    "ExecutionRequest",
    "ForeignReadRequest",
    "Host",
    "HostError",
    "KnownClient",
    "LoadRequest",
    "LoginError",
    "LoginHandler",
    "LoginRequest",
    "LoginRequiredError",
    "Logins",
    "Request",
    "Session",
    "SkillsClient",
    "State",
    "Target",
    "TokenSource",
    "browser_login",
]

if not TYPE_CHECKING:  # a type checker knows the names above, and no others
    __getattr__, __dir__ = exports(
        __name__,
        {
            "AgentTool": "skillwire.host.session.tools",
            "Answer": "skillwire.host.judging.approval",
            "Approver": "skillwire.host.judging.approval",
            "ConnectedServer": "skillwire.host.reaching.connected",
            "ExecutionRequest": "skillwire.host.judging.approval",
            "ForeignReadRequest": "skillwire.host.judging.approval",
            "DraftsClient": "skillwire.host.dialects.client",
            "SkillsClient": "skillwire.host.reaching.client",
            "Host": "skillwire.host.host",
            "HostError": "skillwire.host.refusing",
            "LoadRequest": "skillwire.host.judging.approval",
            "Logins": "skillwire.host.login.store",
            "LoginHandler": "skillwire.host.login.flow",
            "LoginRequest": "skillwire.host.login.flow",
            "LoginError": "skillwire.host.login.record",
            "KnownClient": "skillwire.host.login.flow",
            "browser_login": "skillwire.host.login.loopback",
            "LoginRequiredError": "skillwire.host.refusing",
            "TokenSource": "skillwire.host.reaching.target",
            "Request": "skillwire.host.judging.approval",
            "Session": "skillwire.host.session.session",
            "State": "skillwire.host.state.state",
            "Target": "skillwire.host.reaching.target",
        },
    )
