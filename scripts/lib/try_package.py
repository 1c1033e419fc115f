"""Install a built package into an empty environment and run documentation examples with it.

try_package.py PACKAGE [PAGE…]   run the examples of the pages (docs/quickstart.md by default)

Write extras after the package: `dist/skillwire-0.1.0.tar.gz[fastmcp]`. Dependencies get the versions of
constraints.txt.
"""

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("docs/quickstart.md",)


def install(package: str, folder: Path) -> Path:
    """Install `package` into a new environment, and return its Python."""
    venv.create(folder, with_pip=True, symlinks=True)
    python = folder / "bin/python"
    pip = [python, "-m", "pip", "install", "--quiet", "--no-compile", "--disable-pip-version-check"]
    constraints = ROOT / "constraints.txt"
    subprocess.run([*pip, "--constraint", constraints, package], check=True)
    return python


def run_examples(pages: list[str]) -> None:
    """Run the examples of each page, with the package that is installed in this environment."""
    sys.path.insert(0, str(ROOT))
    from tests.support.doc_examples import Reader, fences  # noqa: PLC0415 - importable only in the new environment

    for page in pages:
        with (
            tempfile.TemporaryDirectory() as folder,
            Reader(Path(folder), Path(sys.executable).parent) as reader,
        ):
            for fence in fences((ROOT / page).read_text("utf-8")):
                try:
                    reader.try_out(fence)
                except Exception as error:
                    raise SystemExit(f"{page}:{fence.line}: {error}\n\n{fence.body}") from error
        print(f"{page}: every example works")


def main(arguments: list[str]) -> None:
    if arguments[:1] == ["--examples"]:
        run_examples(arguments[1:])
        return
    if not arguments or arguments[0].startswith("-"):
        raise SystemExit("error: name a package\nhint: try_package.py dist/skillwire-0.1.0.tar.gz [PAGE…]")
    path, bracket, extras = arguments[0].partition("[")
    package, pages = f"{Path(path).resolve()}{bracket}{extras}", arguments[1:] or list(PAGES)
    with tempfile.TemporaryDirectory() as folder:
        python = install(package, Path(folder) / "environment")
        print(f"installed {package}")
        # Run outside the checkout, so that Python does not import its sources.
        subprocess.run([python, Path(__file__).resolve(), "--examples", *pages], check=True, cwd=folder)


if __name__ == "__main__":
    main(sys.argv[1:])
