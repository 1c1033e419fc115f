"""A server for code mode: two tools, the skill that explains them, and a prompt that starts it.

python examples/servers/code_mode.py    serve over stdio until the client disconnects

`validate_code` checks an expression about a table of orders and returns a token. `execute_code` runs exactly
that expression, once. The skill is the folder `examples/skills/code-mode`. Each of its files is a resource,
and the prompt `start_code_mode` contains all of them.
"""

import getpass
import os
import secrets
from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeAlias

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from approved_code.answers import OutcomeAnswer, VerdictAnswer, outcome_answer, verdict_answer
from approved_code.approvals import Approvals, Caller, RefusedError
from approved_code.dataset import orders
from approved_code.desk import Desk
from approved_code.faults import CodeError
from approved_code.grammar import FUNCTIONS
from skillwire import Skill, Skills, attach

NAME = "code-mode-demo"
LANGUAGE = (
    "One Python expression: fields, slices, arithmetic, comparisons, `… if … else …`, comprehensions, and "
    f"{', '.join(FUNCTIONS)}. No attributes, no assignments. `{orders().name}` is a list of "
    f"{len(orders().records)} records with the fields {', '.join(orders().fields)}."
)
Code: TypeAlias = Annotated[str, Field(min_length=1, description=LANGUAGE)]
Variables: TypeAlias = Annotated[
    dict[str, Any] | None,
    Field(description="Values that the code refers to by name. They are part of what is approved."),
]


def code_mode_server(desk: Desk, caller: Callable[[Context], Caller]) -> MCPServer:
    """Return a server with both tools and the skill that explains them."""
    mcp = MCPServer(NAME, version="0.1.0", log_level="WARNING")

    @mcp.tool()
    async def validate_code(
        ctx: Context,
        code: Code,
        variables: Variables = None,
        format: Literal["text", "markdown"] = "text",  # noqa: A002 - the schema calls it so
        dry_run: bool = False,  # noqa: FBT001, FBT002 - a tool's arguments have names
    ) -> VerdictAnswer:
        """Judge code without running it. Hands out a token for `execute_code` if it may run."""
        found = desk.validate(caller(ctx), code, variables or {}, form=format, dry_run=dry_run)
        return verdict_answer(found)

    @mcp.tool()
    async def execute_code(
        ctx: Context, code: Code, approval_token: str, variables: Variables = None
    ) -> OutcomeAnswer:
        """Run what `validate_code` approved: the same code and variables, once, within five minutes."""
        try:
            return outcome_answer(desk.execute(caller(ctx), code, variables or {}, approval_token))
        except (CodeError, RefusedError) as error:
            raise ToolError(str(error)) from error

    code_mode = Skill.from_dir("../skills/code-mode")
    attach(mcp, Skills().add(code_mode, prompt="start_code_mode"))
    return mcp


def over_stdio() -> Callable[[Context], Caller]:
    """Return a function that identifies the caller over stdio, where a process serves one person."""
    user = str(os.getuid()) if hasattr(os, "getuid") else getpass.getuser()
    owner = Caller(user, session=secrets.token_hex(16))

    def caller(ctx: Context) -> Caller:
        if ctx.headers is not None:
            raise ToolError("over HTTP this example does not know who asks; sign people in first")
        return owner

    return caller


if __name__ == "__main__":
    code_mode_server(Desk(orders(), Approvals(NAME)), over_stdio()).run()
