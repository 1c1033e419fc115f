"""The repository contract, as an area of the program."""

from skillwire.area import Area, Command

AREA = Area(
    commands={
        "project": Command(
            "skillwire.contract.commands.project:project",
            "Write skills for uploaders that take only the standard.",
        ),
        "graph": Command("skillwire.contract.commands.graph:graph", "Show which skill depends on which."),
        "new": Command("skillwire.contract.commands.new:new", "Make a skill to begin with."),
        "schema": Command(
            "skillwire.contract.commands.schema:schema", "Print the JSON Schema of a frontmatter."
        ),
    },
    serve="skillwire.contract.serving:ContractServeFlags",
    check="skillwire.contract.commands.check:ContractCheckFlags",
)
