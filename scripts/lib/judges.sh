# shellcheck shell=bash
# Sourced after setup.sh: installs the external conformance tools, the npm packages that tests use, and Node, once, under
# .cache/judges.

NODE_VERSION=22.23.3
CONFORMANCE_VERSION=0.2.0-alpha.12
INSPECTOR_VERSION=2.12.0
TYPESCRIPT_SERVER_VERSION=2.4.0

# Measured by `scripts/bench speed`. Needs Python 3.12 or newer.
AGENTSKILLS_VERSION=0.7.0
TYPESCRIPT_SDK_VERSION=2.4.0
TYPESCRIPT_NODE_VERSION=2.1.2
MCPB_VERSION=2.1.2

JUDGES=$ROOT/.cache/judges
NODE=$JUDGES/node-$NODE_VERSION/node_modules/node/bin/node
CONFORMANCE=$JUDGES/conformance-$CONFORMANCE_VERSION/node_modules/@modelcontextprotocol/conformance/dist/index.js
TYPESCRIPT_SERVER=$JUDGES/typescript-server-$TYPESCRIPT_SERVER_VERSION
MCPB=$JUDGES/mcpb-$MCPB_VERSION/node_modules/@anthropic-ai/mcpb/dist/cli/cli.js
INSPECTOR=$JUDGES/inspector-$INSPECTOR_VERSION/node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js

# The conformance tools are npm packages.
want_npm() { want npm nodejs npm; }
need_npm() { need npm nodejs npm; }

# npm_install PACKAGE VERSION : install into the current folder. No lock file, because it would contain a registry.
npm_install() {
  printf '{"private": true, "dependencies": {"%s": "%s"}}\n' "$1" "$2" >package.json
  # The package `node` downloads the program for this platform in its install script, so scripts must be on.
  npm install --no-package-lock --no-audit --no-fund --ignore-scripts=false --loglevel=error
}

# install_judge FOLDER PACKAGE VERSION PROGRAM : install a package; the folder is renamed into place when complete.
install_judge() (
  [ ! -e "$4" ] || exit 0
  say "installing $2 $3"
  mkdir -p "$JUDGES"
  half=$(mktemp -d "$JUDGES/.half.XXXXXX")
  trap 'rm -rf "$half"' EXIT
  cd -- "$half" || exit
  quietly "installing $2 $3" npm_install "$2" "$3"
  rm -rf "${JUDGES:?}/$1-$3"
  mv -- "$half" "$JUDGES/$1-$3"
  [ -e "$4" ] || fail "$2 $3 does not contain ${4#"$JUDGES/"}"
)

install_node() { install_judge node node "$NODE_VERSION" "$NODE"; }
install_conformance() {
  install_judge conformance @modelcontextprotocol/conformance "$CONFORMANCE_VERSION" "$CONFORMANCE"
}
# The server of the official SDK, with the Skills extension, for tests of our host.
install_typescript_server() {
  install_judge typescript-server @modelcontextprotocol/server "$TYPESCRIPT_SERVER_VERSION" \
    "$TYPESCRIPT_SERVER/node_modules/@modelcontextprotocol/server/dist/ext/skills/node.cjs"
}
# The tool that checks and unpacks MCPB bundles, for tests of `skillwire pack`.
install_mcpb() { install_judge mcpb @anthropic-ai/mcpb "$MCPB_VERSION" "$MCPB"; }
install_inspector() { install_judge inspector @modelcontextprotocol/inspector "$INSPECTOR_VERSION" "$INSPECTOR"; }

# The SDK's server and its HTTP adapter for Node, in one folder because the adapter imports the server.
install_typescript_sdk() (
  folder=$JUDGES/typescript-sdk-$TYPESCRIPT_SDK_VERSION
  [ ! -e "$folder/package.json" ] || exit 0
  say "installing @modelcontextprotocol/server $TYPESCRIPT_SDK_VERSION"
  mkdir -p "$JUDGES"
  half=$(mktemp -d "$JUDGES/.half.XXXXXX")
  trap 'rm -rf "$half"' EXIT
  cd -- "$half" || exit
  printf '{"private": true, "type": "module", "dependencies": {"%s": "%s", "%s": "%s"}}\n' \
    @modelcontextprotocol/server "$TYPESCRIPT_SDK_VERSION" @modelcontextprotocol/node "$TYPESCRIPT_NODE_VERSION" \
    >package.json
  quietly "installing the TypeScript SDK" npm install --no-package-lock --no-audit --no-fund --loglevel=error
  mv -- "$half" "$folder"
)

# Print the first Python that `agentskills-mcp-server` runs on; nothing if there is none.
agentskills_python() {
  local candidate
  for candidate in python3 python3.14 python3.13 python3.12 "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.1[2-9]*/bin/python3; do
    if "$candidate" -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 12))' 2>/dev/null; then
      printf '%s\n' "$candidate"
      return
    fi
  done
}

# A server from PyPI, in an environment of its own with the versions of the SDK and of uvicorn that Skillwire uses. Only
# `python -m` is used, which works after the folder is renamed.
install_agentskills() (
  folder=$JUDGES/agentskills-$AGENTSKILLS_VERSION
  [ ! -e "$folder/bin/python" ] || exit 0
  python=$(agentskills_python)
  if [ -z "$python" ]; then
    say "agentskills-mcp-server is not measured: it needs Python 3.12 or newer, which was not found"
    exit 0
  fi
  say "installing agentskills-mcp-server $AGENTSKILLS_VERSION"
  mkdir -p "$JUDGES"
  half=$(mktemp -d "$JUDGES/.half.XXXXXX")
  trap 'rm -rf "$half"' EXIT
  quietly "making its environment" "$python" -m venv "$half"
  quietly "installing agentskills-mcp-server" "$half/bin/python" -m pip install -c "$ROOT/constraints.txt" \
    "agentskills-mcp-server[fs]==$AGENTSKILLS_VERSION" httptools uvloop
  mv -- "$half" "$folder"
)
