"""Declaration of the `evals` area: the command `eval`."""

from skillwire.area import Area, Command

AREA = Area(
    commands={
        "eval": Command(
            "skillwire.evals.command:evaluate",
            "Check that requests lead to the right skill.",
            group="Author",
        ),
    },
)
