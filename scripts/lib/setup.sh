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

# Programs that are missing, and the Debian packages that have them.
MISSING=() PACKAGES=()

# want PROGRAM PACKAGE… : note a program that is missing. `install_missing` then installs all of them at once.
want() {
  local program=$1
  shift
  ! command -v "$program" >/dev/null || return 0
  MISSING+=("$program") PACKAGES+=("$@")
}

# Install the missing programs, or say what to run.
install_missing() {
  local program
  [ ${#MISSING[@]} -gt 0 ] || return 0
  # `find_python` needs these next. With them, one command installs everything.
  [ -n "$(usable_python "${PYTHON:-python3}")" ] || PACKAGES+=(python3 python3-venv)
  apt_install "$(sentence "${MISSING[@]}")" "install ${MISSING[*]}, then run this again" "${PACKAGES[@]}"
  for program in "${MISSING[@]}"; do
    command -v "$program" >/dev/null ||
      fail "$program was not found, and the package of this system does not have it" "install $program, then run this again"
  done
  MISSING=() PACKAGES=()
}

# need PROGRAM PACKAGE… : make sure that a program is there.
need() {
  want "$@"
  install_missing
}

# Print `a was not found` or `a, b were not found`.
sentence() {
  local names
  names=$(printf ', %s' "$@")
  if [ $# -eq 1 ]; then printf '%s was not found\n' "$1"; else printf '%s were not found\n' "${names#, }"; fi
}

# apt_install FAULT HINT PACKAGE… : install Debian packages, as root or with sudo. Where that is not possible, report the
# fault and say what to run: HINT on systems without apt-get.
apt_install() {
  local fault=$1 hint=$2 as=() sudo='' how='run as root'
  shift 2
  command -v apt-get >/dev/null || fail "$fault, and this machine has no apt-get to install packages" "$hint"
  if [ "$(id -u)" -ne 0 ]; then
    ! command -v sudo >/dev/null || sudo='sudo ' how='run'
    as=(sudo -n)
    "${as[@]}" true 2>/dev/null || fail "$fault, and only root can install packages" \
      "$how: ${sudo}apt-get update && ${sudo}apt-get install --no-install-recommends $*"
  fi
  say "installing $*"
  quietly "updating the list of packages" ${as[@]+"${as[@]}"} apt-get update -qq
  quietly "installing $*" ${as[@]+"${as[@]}"} env DEBIAN_FRONTEND=noninteractive \
    apt-get install -qq -y --no-install-recommends "$@"
}

# Print the first Python that is new enough and can make virtual environments; nothing if there is none.
usable_python() {
  local candidate
  for candidate in "$@"; do
    if is_new_enough "$candidate" && "$candidate" -c 'import ensurepip, venv' 2>/dev/null; then
      printf '%s\n' "$candidate"
      return
    fi
  done
}

is_new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

# Print the Python to use: $PYTHON if it is set, otherwise the first that is new enough. Install what is missing.
find_python() {
  local candidates=(python3 python3.14 python3.13 python3.12 python3.11 python) found candidate module
  if [ -n "${PYTHON:-}" ]; then
    is_new_enough "$PYTHON" || fail "PYTHON=\`$PYTHON\` is not a Python 3.11 or newer"
    candidates=("$PYTHON")
  fi
  found=$(usable_python "${candidates[@]}")
  if [ -z "$found" ]; then
    for candidate in "${candidates[@]}"; do
      is_new_enough "$candidate" || continue
      module=$("$candidate" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')
      apt_install "\`$candidate\` cannot make virtual environments" "install its modules venv and ensurepip" "$module"
      break
    done
    [ -n "${module:-}" ] || apt_install "no Python 3.11 or newer was found" \
      "install one, or set its path: PYTHON=/path/to/python3 $0" python3 python3-venv
    found=$(usable_python "${candidates[@]}")
  fi
  [ -n "$found" ] || fail "no Python 3.11 or newer that can make virtual environments was found" \
    "install one, or set its path: PYTHON=/path/to/python3 $0"
  printf '%s\n' "$found"
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
