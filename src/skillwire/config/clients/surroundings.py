"""Where a command line runs: whose files there are, and which project it is in."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The folder, the person and the machine."""

    folder: Path
    home: Path
    environment: Mapping[str, str]
    platform: str = sys.platform

    @classmethod
    def of(cls, environment: Mapping[str, str], folder: Path | None = None) -> "Surroundings":
        """Return where this process runs, or where it would if it ran in `folder`."""
        home = environment.get("USERPROFILE" if sys.platform == "win32" else "HOME")
        return cls((folder or Path.cwd()).absolute(), Path(home) if home else Path.home(), environment)

    @property
    def projects(self) -> tuple[Path, ...]:
        """The folder and those above it up to the root of its repository, nearest first; else it alone."""
        above = [self.folder, *self.folder.parents]
        root = next((at for at, each in enumerate(above) if (each / ".git").exists()), 0)
        return tuple(above[: root + 1])

    @property
    def application_data(self) -> Path:
        """Where programs keep what they know of this person."""
        if self.platform == "darwin":
            return self.home / "Library/Application Support"
        if self.platform == "win32":
            return self.named("APPDATA", self.home / "AppData/Roaming")
        return self.configuration

    @property
    def configuration(self) -> Path:
        """Where programs of the command line keep what is configured."""
        return self.named("XDG_CONFIG_HOME", self.home / ".config")

    def named(self, variable: str, otherwise: Path) -> Path:
        """Return the folder that a variable names, else `otherwise`."""
        value = self.environment.get(variable, "").strip()
        return Path(value) if value else otherwise
