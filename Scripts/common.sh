# Sourced by the other scripts. Changes to the root of the checkout and sets:
#   swift_flags   the flags of every build and test of one run, so that nothing is built twice: $SWIFTFLAGS, and in CI
#                 warnings as errors; SwiftPM finds tests on Linux by the index, so it stays on; with_traits adds the traits
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

# Switches on the traits whose packages Scripts/packages makes resolve. Every debug build in .build has the same ones, so that
# nothing is built twice.
with_traits() {
    local traits
    traits=$(Scripts/packages)
    [ -n "$traits" ] || return 0
    swift_flags+=(--traits "$traits")
    # SwiftPM writes the traits in the order of a Set, which is another one in each process, so that every build would compile
    # everything anew.
    export SWIFT_DETERMINISTIC_HASHING=1
}

# Starts the peers for the life of this script. Peers that run already are used and left running.
with_peers() {
    if ! Scripts/peers status >/dev/null 2>&1; then
        trap 'Scripts/peers stop' EXIT
    fi
    # Interrupts end the script through its EXIT trap.
    trap 'exit 130' INT
    trap 'exit 143' TERM
    Scripts/peers start "$@"
    eval "$(Scripts/peers env)"
}

# Runs `swift test` with output to a log, and events to a file beside it; the arguments follow --skip-build.
# Known issues that are not as Tests/KnownIssues.txt lists them fail.
run_tests() { # log, arguments...
    local log=$1 status=0
    shift
    # With a thousand concurrent tests on two threads, each would wait for minutes, and real time-outs would pass.
    export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=${SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH:-10}
    # XCTest's own harness would report that it executed no test.
    if ! grep -rqs '^ *import XCTest' Tests; then set -- --disable-xctest "$@"; fi
    local events=${log%.log}.events
    rm -f "$events"
    set -- --event-stream-output-path "$events" --event-stream-version 0 "$@"
    # What is tested has random hashes, as programs do.
    Scripts/bounded "${TEST_MINUTES:-15}" env -u SWIFT_DETERMINISTIC_HASHING swift test --skip-build "${swift_flags[@]}" "$@" </dev/null 2>&1 | tee "$log" | without_known_issues || status=$?
    if [ $status = 124 ]; then unfinished_tests "$log"; fi
    Scripts/knownissues.py "$events" || [ $status != 0 ] || status=1
    if [ "${CI:-}" = true ] && grep -E 'skipped.*LADE_PEERS' "$log"; then
        echo "error: tests were skipped because a peer is missing" >&2
        [ $status != 0 ] || status=1
    fi
    return $status
}

# Leaves out the lines of known issues, which the log keeps; Scripts/knownissues.py sums them up.
without_known_issues() {
    python3 -uc '
import sys
skips = False
for line in sys.stdin.buffer:
    if b"recorded a known issue" in line:
        skips = True
    elif not (skips and line.startswith("↳".encode())):
        skips = False
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
'
}

# Lists the tests in a log that began and did not end.
unfinished_tests() { # log
    echo "error: these tests began and did not end:"
    sed -nE 's/^. Test ("[^"]*"|[^ ]+\(.*\)) started\.$/\1/p' "$1" | sort >.build/started
    sed -nE 's/^. Test ("[^"]*"|[^ ]+\(.*\)) (passed|failed|with [0-9]+ test cases (passed|failed)) .*/\1/p' "$1" |
        sort >.build/ended
    comm -23 .build/started .build/ended | sed 's/^/    /'
    if [ -s .build/stuck ]; then
        echo "error: this is what the processes were doing:"
        cut -c 1-150 .build/stuck
    fi
}

# Prints a summary of the failures, and the test runner's result lines.
closing_lines() { # log
    grep -aE -A 2 '^✘ .* recorded an issue' "$1" | cut -c 1-600 | head -60 || true
    grep -aE 'Test run with [0-9]+ tests|^Executed [0-9]+ tests|Test Suite .(All|Selected) tests' "$1" || true
}
