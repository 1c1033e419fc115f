"""Declaration of the `registry` area: the commands `push` and `registry`.

The source kind `registry` is in the table of `config/source_kinds.py`, which loads `source_kind.py`.
"""

from skillwire.area import Area, Command

AREA = Area(
    commands={
        "push": Command(
            "skillwire.registry.commands.push:push",
            "Publish versions of your skills in a registry.",
            group="Serve",
        ),
        "registry": Command(
            "skillwire.registry.commands.registry:registry",
            "Create a registry, or show what was published in it.",
            group="Operate",
        ),
    },
)
