# shellcheck shell=bash
# Sourced by the scripts: finds the repository's root and keeps the virtual environment .venv up to date.
#
#   set_up run    install what the package needs to serve
#   set_up dev    also install what the checks need

# Relative to this file, not to the caller's folder. `-P` because the environment contains its real path.
ROOT=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
VENV=$ROOT/.venv

# The caller's settings for Python and pip must not affect this environment.
unset PYTHONHOME PYTHONPATH
# If .venv is active, its Python comes first in PATH. It is deleted before a new environment is made.
PATH=${PATH//"$VENV/bin:"/}
export PIP_USER=0 PIP_DISABLE_PIP_VERSION_CHECK=1

# Service accounts and containers often have no home folder. pip, npm and pyright then cache below the checkout.
if [ ! -d "${HOME:-}" ] || [ ! -w "$HOME" ]; then
  export HOME="$ROOT/.cache/home"
  mkdir -p "$HOME"
fi

say() { printf '%s\n' "$*" >&2; }

fail() {
  say "error: $1"
  [ $# -lt 2 ] || say "hint: $2"
  exit 1
}

# quietly WHAT COMMAND… : run a command; show its output only if it fails.
quietly() {
  local what=$1 log status=0
  shift
  log=$(mktemp)
  "$@" >"$log" 2>&1 || status=$?
  [ "$status" -eq 0 ] || cat "$log" >&2
  rm -f "$log"
  [ "$status" -eq 0 ] || fail "$what failed (exit code $status); its output is above"
}

# need PROGRAM PACKAGE… : make sure that a program is there. On Debian, install the packages that have it, as root or with
# sudo; where neither is possible, say the command to run.
need() {
  local program=$1 as=()
  shift
  ! command -v "$program" >/dev/null || return 0
  command -v apt-get >/dev/null ||
    fail "$program was not found, and this machine has no apt-get to install it" "install $program, then run this again"
  if [ "$(id -u)" -ne 0 ]; then
    as=(sudo -n)
    "${as[@]}" true 2>/dev/null ||
      fail "$program was not found, and only root can install it" "run: sudo apt-get install --no-install-recommends $*"
  fi
  say "installing $*"
  quietly "updating the list of packages" ${as[@]+"${as[@]}"} apt-get update -qq
  quietly "installing $*" ${as[@]+"${as[@]}"} env DEBIAN_FRONTEND=noninteractive \
    apt-get install -qq -y --no-install-recommends "$@"
}

# Print the Python to use: $PYTHON if it is set, otherwise the first that is new enough.
find_python() {
  local candidate
  for candidate in ${PYTHON:+"$PYTHON"} python3 python3.14 python3.13 python3.12 python3.11 python; do
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      "$candidate" -c 'import ensurepip, venv' 2>/dev/null ||
        fail "\`$candidate\` cannot make virtual environments" "install its venv module (Debian: python3-venv)"
      printf '%s\n' "$candidate"
      return
    fi
    [ "$candidate" != "${PYTHON:-}" ] || fail "PYTHON=\`$PYTHON\` is not a Python 3.11 or newer"
  done
  fail "no Python 3.11 or newer was found" "install one, or set its path: PYTHON=/path/to/python3 $0"
}

# Costs one short Python process. A second run of a script does nothing else here.
is_current() {
  [ -x "$VENV/bin/skillwire" ] && "$VENV/bin/python" -I "$ROOT/scripts/lib/stamp.py" check "$1" 2>/dev/null
}

install() {
  local package=.
  [ "$1" = run ] || package=".[$1]"
  cd -- "$ROOT" || return
  # Without build isolation, constraints.txt pins the build back end too.
  "$VENV/bin/python" -m pip install -c constraints.txt hatchling editables &&
    "$VENV/bin/python" -m pip install -c constraints.txt --no-build-isolation --editable "$package"
}

set_up() {
  local level=$1 python
  is_current "$level" && return
  if is_current run; then
    say "adding the development tools to .venv"
  else
    python=$(find_python)
    say "setting up .venv (a minute the first time)"
    # If the development tools were installed before, install them again.
    ! grep -qs '"level": "dev"' "$VENV/skillwire.stamp" || level=dev
    rm -rf "$VENV"
    quietly "making .venv" "$python" -m venv "$VENV"
  fi
  # Delete the stamp first and write it last, so that an interrupted installation is repeated.
  rm -f "$VENV/skillwire.stamp"
  quietly "installing the packages" install "$level"
  "$VENV/bin/python" -I "$ROOT/scripts/lib/stamp.py" write "$level"
}
