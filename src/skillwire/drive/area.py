"""Live skills, as an area of the program."""

from skillwire.area import Area, Command

AREA = Area(
    commands={
        "drive": Command("skillwire.drive.command:drive", "Show what running programs offer as live skills."),
    },
    serve="skillwire.drive.serving:DriveServeFlags",
)
