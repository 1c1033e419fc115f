"""Declaration of the `contract` area: its commands, and its options for `serve` and `check`."""

from skillwire.area import Area, Command

AREA = Area(
    commands={
        "project": Command(
            "skillwire.contract.commands.project:project",
            "Write copies of skills that use only standard fields.",
            group="Author",
        ),
        "graph": Command(
            "skillwire.contract.commands.graph:graph", "Show which skills depend on which.", group="Author"
        ),
        "new": Command(
            "skillwire.contract.commands.new:new", "Create a skill from a template.", group="Author"
        ),
        "schema": Command(
            "skillwire.contract.commands.schema:schema",
            "Print the JSON Schema of skill frontmatter.",
            group="Author",
        ),
    },
    serve="skillwire.contract.serving:ContractServeFlags",
    check="skillwire.contract.commands.check:ContractCheckFlags",
)
