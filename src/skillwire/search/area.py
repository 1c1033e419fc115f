"""Declaration of the `search` area: the commands `search` and `doctor`, and the tool `search-skills`."""

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
        "doctor": Command(
            "skillwire.search.doctor.command:doctor",
            "Show what each client would do with your skills.",
            group="Author",
        ),
    },
    serve="skillwire.search.serving:SearchServeFlags",
    addition="skillwire.search.tool:SearchOptions",
    configured="skillwire.search.serving:configured_options",
)
