# shellcheck shell=bash
# Sourced after setup.sh and judges.sh: builds the pages. Its npm packages are installed once per ui/package.json.

UI_CACHE=$ROOT/.cache/ui
UI_HASH=$(cat "$ROOT/ui/package.json" | cksum | cut -d' ' -f1)
UI_PACKAGES=$UI_CACHE/packages-$UI_HASH

install_ui() {
  need_npm
  install_node
  [ -e "$UI_PACKAGES/node_modules/.complete" ] && return
  say "installing the build tools of the pages"
  mkdir -p "$UI_CACHE"
  local half
  half=$(mktemp -d "$UI_CACHE/.half.XXXXXX")
  cp "$ROOT/ui/package.json" "$half/"
  (
    cd -- "$half" || exit
    quietly "installing the build tools of the pages" \
      npm install --no-package-lock --no-audit --no-fund --ignore-scripts --loglevel=error
  ) || { rm -rf "$half"; return 1; }
  touch "$half/node_modules/.complete"
  rm -rf "$UI_PACKAGES"
  mv -- "$half" "$UI_PACKAGES"
}

# build_ui FOLDER PAGE… : build pages into the folder. The same sources give the same bytes.
build_ui() {
  local work
  work=$(mktemp -d "$UI_CACHE/.build.XXXXXX")
  cp -R "$ROOT/ui/." "$work/"
  rm -rf "$work/node_modules" "$work/built"
  ln -s "$UI_PACKAGES/node_modules" "$work/node_modules"
  (
    cd -- "$work" || exit
    PATH=$(dirname -- "$NODE"):$PATH
    export PATH
    quietly "checking the types of the pages" node node_modules/typescript/bin/tsc -p .
    local page
    for page in "${@:2}"; do
      quietly "building the page $page" node node_modules/vite/bin/vite.js build --mode "$page" --logLevel warn
    done
  ) || { rm -rf "$work"; return 1; }
  mkdir -p "$1"
  find "$work/built" -name '*.html' -exec cp {} "$1/" \;
  rm -rf "$work"
}
