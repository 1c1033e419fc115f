"""Vercel's `skills`: add all skills of a running server or a published site to a project."""

import stat
from pathlib import Path

from driving import Report, Target, contains, drive, npm_version, program, same, same_bytes


async def body(target: Target, report: Report) -> None:
    project = target.scratch / "project"
    project.mkdir()
    skills = (target.node, target.environment / "node_modules/skills/bin/cli.mjs")
    added = project / ".claude/skills"
    wanted = [skill for skill in target.served if skill["portable"]]

    async with report.check("list"):
        done = program(*skills, "add", target.site, "--list", cwd=project)
        same(done.returncode, 0, "exit code")
        contains(done.stdout.decode().split(), [skill["name"] for skill in target.listed], "listed skills")
    async with report.check("add every skill"):
        options = ("--skill", "*", "--agent", "claude-code", "--copy", "--yes")
        done = program(*skills, "add", target.site, *options, cwd=project)
        same(done.returncode, 0, f"exit code, after {done.stdout.decode()[-500:]!r}")
        same(
            sorted(path.name for path in added.iterdir()),
            sorted(skill["name"] for skill in wanted),
            "added skills",
        )
    for title, some in (
        ("every file", target.skills),
        ("ambiguous YAML", target.ambiguous),
        ("nonconforming skills", [skill for skill in target.nonconforming if skill["portable"]]),
    ):
        async with report.check(f"added bytes: {title}"):
            for skill in some:
                folder = added / skill["name"]
                same(files_below(folder), sorted(skill["files"]), f"files of {skill['name']}")
                for path, file in skill["files"].items():
                    same_bytes((folder / path).read_bytes(), file)
    async with report.check("executable bit"):
        script = added / target.skill(target.executable["skill"])["name"] / target.executable["path"]
        same(stat.S_IMODE(script.stat().st_mode) & 0o111, 0o111, f"mode of {target.executable['path']}")
    async with report.check("update finds nothing new"):
        done = program(*skills, "update", "--project", "--yes", cwd=project)
        same((done.returncode, b"Updated" in done.stdout), (0, False), "exit code, and whether it updated")
    report.support("list", "add", "update", "bytes of every file")


def files_below(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


drive(body, npm_version("skills"))
