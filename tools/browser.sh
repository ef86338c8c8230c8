#!/usr/bin/env bash
# Prints the path of a Chromium for the tests of the status page. CHROMIUM names one; else the
# usual names are looked for; else Debian's is installed, if this is root on Debian.
#   tools/browser.sh
set -euo pipefail

fail() {
    printf '%s\n' "$1" >&2
    exit 1
}

find_browser() {
    local candidate
    for candidate in chromium chromium-browser google-chrome google-chrome-stable \
        "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome" \
        "/Applications/Chromium.app/Contents/MacOS/Chromium"; do
        command -v "$candidate" && return
    done
    return 1
}

install_browser() {
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core
}

if [ -n "${CHROMIUM:-}" ]; then
    command -v "$CHROMIUM" || fail "CHROMIUM=$CHROMIUM is no program."
    exit 0
fi
if find_browser; then
    exit 0
fi
if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
    log=$(install_browser 2>&1) || fail "$log
Chromium could not be installed: install a Chromium or Chrome, or name yours in CHROMIUM."
    find_browser && exit 0
fi
fail "The tests of the status page need a Chromium or Chrome and none was found: install one (Debian, Ubuntu: apt-get install chromium; macOS: brew install --cask chromium) or name yours in CHROMIUM."
