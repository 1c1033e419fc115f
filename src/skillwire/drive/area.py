"""Registration of the `drive` area: its command, and its options for `serve`."""

from skillwire.area import Area, Command

AREA = Area(
    commands={
        "drive": Command(
            "skillwire.drive.command:drive", "Show the live skills of running programs.", group="Operate"
        ),
    },
    serve="skillwire.drive.serving:DriveServeFlags",
)
