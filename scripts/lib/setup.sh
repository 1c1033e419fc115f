# shellcheck shell=bash
# Sourced by the scripts: the repository's root, its caches, and a virtual environment that is never out of date.
#
#   set_up run    what the package needs to serve
#   set_up dev    that, and what the checks need

# From this file, not from the caller's folder, and without links: the environment is bound to its real path.
ROOT=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
VENV=$ROOT/.venv

# What the caller's Python or pip is told to do elsewhere must not reach this environment.
unset PYTHONHOME PYTHONPATH
# A caller who has it active would have us make it with its own Python, which is gone by then.
PATH=${PATH//"$VENV/bin:"/}
export PIP_USER=0 PIP_DISABLE_PIP_VERSION_CHECK=1

# Service accounts and containers often have no home. pip, npm and pyright then keep their caches in the checkout.
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

# quietly WHAT COMMAND… : silent while it works, the whole output when it does not.
quietly() {
  local what=$1 log status=0
  shift
  log=$(mktemp)
  "$@" >"$log" 2>&1 || status=$?
  [ "$status" -eq 0 ] || cat "$log" >&2
  rm -f "$log"
  [ "$status" -eq 0 ] || fail "$what failed (exit code $status); its output is above"
}

# PYTHON in the environment wins; otherwise the first that is new enough.
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
  fail "no Python 3.11 or newer was found" "install one, or name it: PYTHON=/path/to/python3 $0"
}

# One short Python process decides; it is all that a second run costs.
is_current() {
  [ -x "$VENV/bin/skillwire" ] && "$VENV/bin/python" -I "$ROOT/scripts/lib/stamp.py" check "$1" 2>/dev/null
}

install() {
  local package=.
  [ "$1" = run ] || package=".[$1]"
  cd -- "$ROOT" || return
  # Without build isolation the build back end is pinned by the constraints too.
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
    # Whoever had the development tools keeps them.
    ! grep -qs '"level": "dev"' "$VENV/skillwire.stamp" || level=dev
    rm -rf "$VENV"
    quietly "making .venv" "$python" -m venv "$VENV"
  fi
  # The stamp goes first and comes back last: whatever is interrupted in between is built anew.
  rm -f "$VENV/skillwire.stamp"
  quietly "installing the packages" install "$level"
  "$VENV/bin/python" -I "$ROOT/scripts/lib/stamp.py" write "$level"
}
