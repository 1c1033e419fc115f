"""Use skills from other MCP servers: connect to servers, and approve, verify and load their skills.

This package is for developers of agents. A `Host` uses the skills of servers, each described by a `Target`. A
`State` stores approvals, grants, logins and cached files. A `Request` is a question to the user, and an
`Answer` is the user's answer. `verify_server` checks whether a server delivers what it lists. Each name is
imported when it is first used.
"""

from typing import TYPE_CHECKING

from skillwire.lazy import exports

if TYPE_CHECKING:
    from skillwire.core.record import Trust
    from skillwire.errors import HostError, LoginError, LoginRequiredError
    from skillwire.host.approvals.questions import (
        Answer,
        Approver,
        ExecutionRequest,
        ForeignReadRequest,
        LoadRequest,
        Request,
    )
    from skillwire.host.approve_all import ApprovalOutcome, ChangedText
    from skillwire.host.connections.target import Target, TokenSource
    from skillwire.host.dialects.client import SkillsClient
    from skillwire.host.dialects.drafts import DraftsClient
    from skillwire.host.host import Host
    from skillwire.host.login.browser import browser_login
    from skillwire.host.login.flow import KnownClient, LoginHandler, LoginRequest
    from skillwire.host.pull_all import PulledSkill, PullOutcome, PullResult
    from skillwire.host.servers.connected import ConnectedServer, SkillsTransport
    from skillwire.host.session.session import Session
    from skillwire.host.session.tools import AgentTool
    from skillwire.host.store.logins import Logins
    from skillwire.host.store.state import State
    from skillwire.host.verify import Outcome, Report, verify_server

__all__ = [
    "AgentTool",
    "Answer",
    "ApprovalOutcome",
    "Approver",
    "ChangedText",
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
    "Outcome",
    "PullOutcome",
    "PullResult",
    "PulledSkill",
    "Report",
    "Request",
    "Session",
    "SkillsClient",
    "SkillsTransport",
    "State",
    "Target",
    "TokenSource",
    "Trust",
    "browser_login",
    "verify_server",
]

if not TYPE_CHECKING:  # type checkers use the imports above
    __getattr__, __dir__ = exports(
        __name__,
        {
            **dict.fromkeys(["Outcome", "Report", "verify_server"], "skillwire.host.verify"),
            **dict.fromkeys(["PullOutcome", "PullResult", "PulledSkill"], "skillwire.host.pull_all"),
            **dict.fromkeys(["ApprovalOutcome", "ChangedText"], "skillwire.host.approve_all"),
            "AgentTool": "skillwire.host.session.tools",
            "Answer": "skillwire.host.approvals.questions",
            "Approver": "skillwire.host.approvals.questions",
            "ConnectedServer": "skillwire.host.servers.connected",
            "ExecutionRequest": "skillwire.host.approvals.questions",
            "ForeignReadRequest": "skillwire.host.approvals.questions",
            "DraftsClient": "skillwire.host.dialects.drafts",
            "SkillsClient": "skillwire.host.dialects.client",
            "SkillsTransport": "skillwire.host.servers.connected",
            "Trust": "skillwire.core.record",
            "Host": "skillwire.host.host",
            "HostError": "skillwire.host.errors",
            "LoadRequest": "skillwire.host.approvals.questions",
            "Logins": "skillwire.host.store.logins",
            "LoginHandler": "skillwire.host.login.flow",
            "LoginRequest": "skillwire.host.login.flow",
            "LoginError": "skillwire.errors",
            "KnownClient": "skillwire.host.login.flow",
            "browser_login": "skillwire.host.login.browser",
            "LoginRequiredError": "skillwire.host.errors",
            "TokenSource": "skillwire.host.connections.target",
            "Request": "skillwire.host.approvals.questions",
            "Session": "skillwire.host.session.session",
            "State": "skillwire.host.store.state",
            "Target": "skillwire.host.connections.target",
        },
    )
