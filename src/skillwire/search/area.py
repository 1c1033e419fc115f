"""Declaration of the `search` area: the command `search`, and the tool `search-skills` of every server."""

from skillwire.area import Area, Command

AREA = Area(
    commands={
        "search": Command(
            "skillwire.search.command:search",
            "Find skills for a task.",
            takes_command=True,
            command_option="--from",
            group="Find",
        ),
    },
    serve="skillwire.search.serving:SearchServeFlags",
    addition="skillwire.search.tool:SearchOptions",
)
