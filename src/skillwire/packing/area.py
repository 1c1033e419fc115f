"""Declaration of the `packing` area: its command."""

from skillwire.area import Area, Command

AREA = Area(
    commands={
        "pack": Command(
            "skillwire.packing.command:pack",
            "Pack skills into a bundle or plugin that clients install.",
            group="Clients",
        )
    }
)
