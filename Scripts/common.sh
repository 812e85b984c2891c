# Read by the other scripts here. Goes to the root of the checkout and sets:
#   swift_flags   what every build and test of one run gets, so that nothing is built twice: $SWIFTFLAGS, and in CI
#                 warnings as errors
# shellcheck shell=bash
if [ "${BASH_VERSINFO[0]}" -lt 4 ]; then
    echo "error: these scripts need bash 4 or later; on macOS: brew install bash" >&2
    exit 1
fi
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
mkdir -p .build

say() { echo "== $*" >&2; }
die() { echo "error: $*" >&2; exit 1; }

read -r -a swift_flags <<<"${SWIFTFLAGS:-}"
if [ "${CI:-}" = true ]; then swift_flags+=(-Xswiftc -warnings-as-errors); fi

# A run that hangs shall end and say so. GNU's timeout is not everywhere.
bounded() { # minutes, command...
    local minutes=$1
    shift
    if command -v timeout >/dev/null; then
        local status=0 group=()
        # At a terminal the command stays in the group that an interrupt from the keyboard reaches.
        [ ! -t 1 ] || group=(--foreground)
        timeout "${group[@]}" --kill-after=20 "${minutes}m" "$@" || status=$?
        [ $status != 124 ] || echo "error: not done in $minutes minutes: $*" >&2
        return $status
    fi
    "$@"
}

# Starts the peers for this script's life. Peers that already run are used and left running.
with_peers() {
    if ! Scripts/peers status >/dev/null 2>&1; then
        trap 'Scripts/peers stop' EXIT
    fi
    # Interrupts end the script by way of its EXIT trap.
    trap 'exit 130' INT
    trap 'exit 143' TERM
    Scripts/peers start "$@"
    eval "$(Scripts/peers env)"
}

# Runs `swift test` into a log; the arguments follow --skip-build.
run_tests() { # log, arguments...
    local log=$1 status=0
    shift
    # XCTest's own harness would report that it executed no test.
    if ! grep -rqs '^ *import XCTest' Tests; then set -- --disable-xctest "$@"; fi
    bounded 20 swift test --skip-build "${swift_flags[@]}" "$@" </dev/null 2>&1 | tee "$log" || status=$?
    if [ "${CI:-}" = true ] && grep -E 'skipped.*LADE_PEERS' "$log"; then
        echo "error: tests were skipped for want of a peer" >&2
        [ $status != 0 ] || status=1
    fi
    return $status
}

# The lines by which the test runner tells its result.
closing_lines() { # log
    grep -E 'Test run with [0-9]+ tests|^Executed [0-9]+ tests|Test Suite .(All|Selected) tests' "$1" || true
}
