"""The scripts of the repository: they work from any folder, keep `.venv` current, and say what is missing."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.paths import ROOT

BASH = shutil.which("bash") or "bash"

# Stands in for the slow half of the set-up: an empty environment, and a note of what it would install.
NO_INSTALL = """
quietly() {
  shift
  if [ "$1" != install ]; then "$@" --without-pip; return; fi
  echo "$2" >>"$ROOT/installed"
  [ ! -e "$ROOT/broken" ] || exit 1
  printf '#!/bin/sh\\nprintf "%%s\\\\n" "$@"\\n' >"$VENV/bin/skillwire"
  chmod +x "$VENV/bin/skillwire"
}
"""


def run(*command: str | Path, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    env = {"PATH": os.environ["PATH"], "PYTHON": sys.executable, "HOME": str(cwd), **env}
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=60, check=False)


class Checkout:
    """A copy of the scripts in a folder with a space in its name, called from somewhere else."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "a checkout"
        self.elsewhere = folder / "elsewhere"
        self.elsewhere.mkdir(parents=True)
        shutil.copytree(ROOT / "scripts", self.root / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
        (self.root / "pyproject.toml").write_text("[project]\n")
        (self.root / "constraints.txt").write_text("mcp==1\n")

    def set_up(self, level: str, then: str = "") -> subprocess.CompletedProcess[str]:
        code = f'set -euo pipefail; . "$1"; {NO_INSTALL} set_up {level}; {then}'
        return run(BASH, "-c", code, "test", self.root / "scripts/lib/setup.sh", cwd=self.elsewhere)

    @property
    def installed(self) -> list[str]:
        """The levels that were installed so far."""
        notes = self.root / "installed"
        return notes.read_text().split() if notes.exists() else []


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def test_a_second_set_up_installs_nothing(checkout: Checkout) -> None:
    for _ in range(2):
        assert checkout.set_up("run").returncode == 0
    assert checkout.installed == ["run"]


def test_development_tools_are_added_and_preserved(checkout: Checkout) -> None:
    checkout.set_up("run", then='touch "$VENV/mine"')
    checkout.set_up("dev")
    checkout.set_up("run")
    assert checkout.installed == ["run", "dev"]
    assert (checkout.root / ".venv/mine").exists()


@pytest.mark.parametrize("name", ["pyproject.toml", "constraints.txt"])
def test_an_environment_from_an_older_version_is_built_anew(checkout: Checkout, name: str) -> None:
    checkout.set_up("dev", then='touch "$VENV/old"')
    (checkout.root / name).write_text("# newer\n")
    checkout.set_up("run")
    assert checkout.installed == ["dev", "dev"]
    assert not (checkout.root / ".venv/old").exists()


def test_a_moved_environment_is_built_anew(checkout: Checkout) -> None:
    checkout.set_up("run")
    checkout.root = checkout.root.rename(checkout.root.with_name("moved"))
    checkout.set_up("run")
    assert checkout.installed == ["run", "run"]


def test_an_environment_whose_python_is_gone_is_built_anew(checkout: Checkout) -> None:
    checkout.set_up("run")
    python = checkout.root / ".venv/bin/python"
    python.unlink()
    python.symlink_to("gone")
    assert checkout.set_up("run").returncode == 0
    assert checkout.installed == ["run", "run"]


def test_an_environment_that_lost_a_package_is_built_anew(checkout: Checkout) -> None:
    a_package = (
        '"$("$VENV/bin/python" -c "import sysconfig as s; print(s.get_path(\'purelib\'))")/a-1.dist-info"'
    )
    stamp = '"$VENV/bin/python" -I "$ROOT/scripts/lib/stamp.py" write run'
    checkout.set_up("run", then=f"mkdir {a_package}; {stamp}")
    checkout.set_up("run", then=f"rmdir {a_package}")
    checkout.set_up("run")
    assert checkout.installed == ["run", "run"]


def test_a_set_up_that_did_not_finish_is_started_again(checkout: Checkout) -> None:
    broken = checkout.root / "broken"
    broken.touch()
    assert checkout.set_up("run").returncode == 1
    broken.unlink()
    assert checkout.set_up("run").returncode == 0
    assert checkout.installed == ["run", "run"]


def test_a_failed_step_shows_its_output(checkout: Checkout) -> None:
    code = '. "$1"; quietly "the step" sh -c "echo the reason; exit 3"'
    result = run(BASH, "-c", code, "test", checkout.root / "scripts/lib/setup.sh", cwd=checkout.elsewhere)
    assert result.returncode == 1
    assert result.stderr == "the reason\nerror: the step failed (exit code 3); its output is above\n"


def test_a_python_that_is_too_old_is_refused_by_name(checkout: Checkout) -> None:
    result = run(checkout.root / "scripts/run", cwd=checkout.elsewhere, PYTHON="false")
    assert result.returncode == 1
    assert "error: PYTHON=`false` is not a Python 3.11 or newer" in result.stderr


def test_caches_stay_in_the_checkout_when_home_does_not_exist(checkout: Checkout) -> None:
    script = (BASH, "-c", '. "$1"; echo "$HOME"', "test", checkout.root / "scripts/lib/setup.sh")
    homeless = run(*script, cwd=checkout.elsewhere, HOME="/nonexistent")
    assert homeless.stdout.strip() == str(checkout.root / ".cache/home")
    assert run(*script, cwd=checkout.elsewhere).stdout.strip() == str(checkout.elsewhere)


def test_run_serves_example_skills_from_any_folder(checkout: Checkout) -> None:
    checkout.set_up("run")
    result = run(checkout.root / "scripts/run", "--static", cwd=checkout.elsewhere)
    skills = str(checkout.root / "examples/skills")
    assert result.stdout.splitlines() == ["serve", skills, "--http", "8765", "--static"]


@pytest.mark.parametrize("address", [["--http", "127.0.0.1:9000"], ["--http=9000"]])
def test_run_listens_where_it_is_told_to(checkout: Checkout, address: list[str]) -> None:
    checkout.set_up("run")
    result = run(checkout.root / "scripts/run", *address, cwd=checkout.elsewhere)
    assert result.stdout.splitlines()[2:] == address


@pytest.mark.parametrize("script", ["conformance", "inspect"])
def test_without_npm_the_judges_say_that_it_is_missing(tmp_path: Path, script: str) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    for tool in ("bash", "dirname"):
        (tools / tool).symlink_to(shutil.which(tool) or tool)
    arguments = [tmp_path] if script == "inspect" else []
    result = run(ROOT / "scripts" / script, *arguments, cwd=tmp_path, PATH=str(tools))
    assert result.returncode == 1
    assert result.stderr.startswith("error: npm was not found")


class BareMachine:
    """A machine with few programs. Its package manager only notes its calls, and installs empty programs."""

    def __init__(self, folder: Path, user: str, *, apt: bool = True, sudo: bool = True) -> None:
        self.folder, self.tools = folder, folder / "bin"
        self.notes = folder / "notes"
        self.tools.mkdir()
        for tool in ("bash", "dirname", "mktemp", "rm", "env", "cat", "chmod", "mkdir"):
            (self.tools / tool).symlink_to(shutil.which(tool) or tool)
        install = f"""
            printf '%s\\n' "$*" >>{self.notes}
            [ "$1" != install ] || for each; do
              printf '#!{BASH}\\nexit 1\\n' >{self.tools}/$each
              chmod +x {self.tools}/$each
            done"""
        self.add("id", f"echo {user}")
        if sudo:
            self.add("sudo", "exit 1")
        if apt:
            self.add("apt-get", install)

    def add(self, name: str, text: str) -> None:
        (self.tools / name).write_text(f"#!{BASH}\n{text}\n")
        (self.tools / name).chmod(0o755)

    def add_python(self, version: str, *, with_venv: bool) -> None:
        """Add a program that answers the questions of `setup.sh` as this version would."""
        self.add(
            "python3",
            f"""case $2 in
              *version_info\\ \\<*) exit {int(version < "3.11")} ;;
              *ensurepip*) exit {int(not with_venv)} ;;
              *print*) echo python{version}-venv ;;
            esac""",
        )

    def run(self, command: str) -> subprocess.CompletedProcess[str]:
        code = f'set -euo pipefail; . "$1"; {command}'
        setup = ROOT / "scripts/lib/setup.sh"
        return run(BASH, "-c", code, "test", setup, cwd=self.folder, PATH=str(self.tools), PYTHON="")

    @property
    def calls(self) -> list[str]:
        return self.notes.read_text().splitlines() if self.notes.exists() else []


def test_root_gets_missing_programs_installed(tmp_path: Path) -> None:
    machine = BareMachine(tmp_path, "0")
    machine.add_python("3.11", with_venv=True)
    result = machine.run("want first first-package; want second second more; install_missing")
    # Only the first program is missing in the end: no package has its name.
    assert (result.returncode, "error: first was not found" in result.stderr) == (1, True)
    machine.notes.unlink()
    result = machine.run("want third third; want bash bash; want fourth fourth more; install_missing")
    assert (result.returncode, result.stderr) == (0, "installing third fourth more\n")
    assert machine.calls == ["update -qq", "install -qq -y --no-install-recommends third fourth more"]


@pytest.mark.parametrize(("sudo", "how", "prefix"), [(True, "run", "sudo "), (False, "run as root", "")])
def test_others_are_given_one_command_to_run(tmp_path: Path, how: str, prefix: str, *, sudo: bool) -> None:
    machine = BareMachine(tmp_path, "1000", sudo=sudo)
    result = machine.run("want git git; want npm nodejs npm; want chromium chromium; install_missing")
    assert result.returncode == 1
    packages = "git nodejs npm chromium python3 python3-venv"
    assert result.stderr == (
        "error: git, npm, chromium were not found, and only root can install packages\n"
        f"hint: {how}: {prefix}apt-get update && {prefix}apt-get install --no-install-recommends {packages}\n"
    )
    assert machine.calls == []


def test_other_systems_are_told_what_is_missing(tmp_path: Path) -> None:
    result = BareMachine(tmp_path, "0", apt=False).run("want git git; want npm nodejs npm; install_missing")
    assert result.returncode == 1
    assert result.stderr == (
        "error: git, npm were not found, and this machine has no apt-get to install packages\n"
        "hint: install git npm, then run this again\n"
    )


@pytest.mark.parametrize(
    ("version", "package", "message"),
    [
        ("3.11", "python3.11-venv", "`python3` cannot make virtual environments"),
        ("3.10", "python3 python3-venv", "no Python 3.11 or newer was found"),
        (None, "python3 python3-venv", "no Python 3.11 or newer was found"),
    ],
)
def test_without_a_usable_python_its_package_is_named(
    tmp_path: Path, version: str | None, package: str, message: str
) -> None:
    machine = BareMachine(tmp_path, "1000")
    if version is not None:
        machine.add_python(version, with_venv=False)
    result = machine.run("find_python")
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith(f"error: {message}, and only root can install packages\nhint: run: sudo ")
    assert result.stderr.endswith(f"--no-install-recommends {package}\n")


def test_a_python_with_the_venv_module_is_preferred(tmp_path: Path) -> None:
    machine = BareMachine(tmp_path, "1000")
    machine.add_python("3.12", with_venv=True)
    (machine.tools / "python3").rename(machine.tools / "python3.12")
    machine.add_python("3.11", with_venv=False)
    assert machine.run("find_python").stdout == "python3.12\n"


@pytest.mark.parametrize("script", ["test", "run"])
def test_a_bare_machine_is_told_what_to_run(tmp_path: Path, script: str) -> None:
    machine = BareMachine(tmp_path, "1000")
    checkout = Checkout(tmp_path / "copy")
    result = run(checkout.root / "scripts" / script, cwd=tmp_path, PATH=str(machine.tools), PYTHON="")
    assert result.returncode == 1
    packages = "git nodejs npm chromium fonts-dejavu-core python3 python3-venv"
    wanted = packages if script == "test" else "python3 python3-venv"
    assert result.stderr.endswith(f"apt-get install --no-install-recommends {wanted}\n")
    assert not (checkout.root / ".venv").exists()


def test_inspector_opens_a_server_of_the_folder(checkout: Checkout) -> None:
    """The Inspector itself is tried by `scripts/conformance --clients --only inspector`."""
    checkout.set_up("run")
    versions = (ROOT / "scripts/lib/judges.sh").read_text("utf-8")
    node, inspector = (
        re.findall(rf"^{name}_VERSION=(.+)$", versions, re.MULTILINE)[0] for name in ("NODE", "INSPECTOR")
    )
    judges = checkout.root / ".cache/judges"
    launcher = judges / f"inspector-{inspector}/node_modules/@modelcontextprotocol/inspector"
    launcher = launcher / "clients/launcher/build/index.js"
    launcher.parent.mkdir(parents=True)
    launcher.touch()
    program = judges / f"node-{node}/node_modules/node/bin/node"
    program.parent.mkdir(parents=True)
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$HOST" "$@"\n')
    program.chmod(0o755)
    (checkout.elsewhere / "my skills").mkdir()
    result = run(checkout.root / "scripts/inspect", "my skills", cwd=checkout.elsewhere)
    host, shown, *arguments = result.stdout.splitlines()
    assert (host, shown) == ("127.0.0.1", str(launcher)), result.stderr
    server = [str(checkout.root / ".venv/bin/skillwire"), "serve", str(checkout.elsewhere / "my skills")]
    assert arguments[arguments.index("--") + 1 :] == server
    assert run(checkout.root / "scripts/inspect", "none", cwd=checkout.elsewhere).returncode == 1


def test_an_argument_that_the_checks_do_not_know_is_refused(tmp_path: Path) -> None:
    result = run(ROOT / "scripts/test", "--fats", cwd=tmp_path)
    assert result.returncode == 1
    assert result.stderr == "error: unknown arguments: --fats\nhint: scripts/test [--fast]\n"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    run("git", "init", "--quiet", cwd=tmp_path)
    (tmp_path / ".gitignore").write_text(".cache/\n")
    return tmp_path


def hygiene(repository: Path) -> subprocess.CompletedProcess[str]:
    return run(sys.executable, ROOT / "scripts/lib/hygiene.py", repository, cwd=repository)


def test_a_clean_repository_passes_the_hygiene_check(repository: Path) -> None:
    (repository / ".cache").mkdir()
    (repository / ".cache/package-lock.json").touch()
    (repository / "gone").touch()
    run("git", "add", "gone", cwd=repository)
    (repository / "gone").unlink()
    result = hygiene(repository)
    assert (result.returncode, result.stderr) == (0, "")


def test_hygiene_finds_every_planted_fault(repository: Path) -> None:
    (repository / "big.bin").write_bytes(bytes((1 << 20) + 1))
    (repository / "uv.lock").touch()
    (repository / "setup.cfg").write_text("[x]\n" + "_".join(["index", "url"]) + " = here\n")
    (repository / "notes.md").write_text("https://" + ".".join(["registry", "npmjs", "org"]) + "/yaml\n")
    result = hygiene(repository)
    assert result.returncode == 1
    assert [line.split(":")[0] for line in result.stderr.splitlines()] == [
        "big.bin has 1,048,577 bytes, more than 1,048,576",
        "notes.md names a package registry in line 1",
        "setup.cfg names a package registry in line 2",
        "uv.lock is a lock file",
    ]


LISTEN = """
import { createServer } from "node:net";
const host = "127.0.0.1";
const forms = [[0], [0, 5], [0, undefined], [{ port: 0 }], [0, host], [{ port: 0, host }]];
for (const form of forms) {
  const server = createServer();
  await new Promise((told) => server.listen(...form, told));
  console.log(server.address().address);
  server.close();
}
"""


def test_conformance_tool_listens_only_on_loopback() -> None:
    preload = ROOT / "scripts/lib/loopback.mjs"
    node = shutil.which("node") or "node"
    done = run(node, "--import", preload, "--input-type=module", "--eval", LISTEN, cwd=ROOT)
    assert (done.stdout.split(), done.stderr) == (["127.0.0.1"] * 6, "")
