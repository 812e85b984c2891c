#!/usr/bin/env python3
"""Prints the ten slowest suites of a run of the tests, for Scripts/test.

usage: Scripts/slowest.py EVENTS [COUNT]   the file of `swift test --event-stream-output-path`

A suite's first number is the time during which at least one of its cases ran; the second is the sum of its cases. A sum much
larger than the time means that they ran together, and equal numbers that they ran one after the other.

Only cases of tests with arguments say when they began to run. A test without arguments is reported as started before it waits for one
of the places of the run. It has begun, at the earliest, when as many places were free as tests before it had taken.
"""
import heapq, json, os, re, sys

places = int(os.environ.get("SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH", "16"))


def read_cases(file):
    """The cases that ended: suite, start and end in seconds, each; a test without arguments is one case."""
    started, cases, tests = {}, [], {}
    for line in file:
        try:
            event = json.loads(line).get("payload", {})
        except ValueError:
            continue  # the process ended while it wrote the line
        kind, test = event.get("kind"), event.get("testID", "")
        # An id is suite/function(arguments)/place in the source; that of a suite has no function.
        named = re.fullmatch(r"(.*)/[^/]*\([^/]*\)/[^/]*:\d+:\d+", test)
        if not named or kind not in ("testStarted", "testEnded", "testCaseStarted", "testCaseEnded"):
            continue
        key = test, json.dumps(event.get("_testCase"), sort_keys=True) if "Case" in kind else None
        instant = event["instant"]["absolute"]
        if kind.endswith("Started"):
            started.setdefault(key, []).append(instant)
        elif started.get(key):
            row = named[1], started[key].pop(), instant
            if key[1] is None:
                tests[test] = row
            else:
                cases.append((test, row))
    with_cases = {test for test, _ in cases}
    whole = [(row, True) for _, row in cases] + [(row, False) for test, row in tests.items() if test not in with_cases]
    # The places, by the time at which each is free.
    free, rows = [float("-inf")] * places, []
    for (suite, first, last), is_exact in sorted(whole, key=lambda row: row[0][1]):
        begun = heapq.heappop(free)
        begun = first if is_exact else min(max(first, begun), last)
        heapq.heappush(free, last)
        rows.append((suite, begun, last))
    return rows


def busy(intervals):
    """The length of the union of intervals."""
    total, end = 0.0, float("-inf")
    for first, last in sorted(intervals):
        total += max(0.0, last - max(first, end))
        end = max(end, last)
    return total


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    count = int(sys.argv[2]) if len(sys.argv) == 3 else 10
    try:
        with open(sys.argv[1], encoding="utf-8", errors="replace") as file:
            cases = read_cases(file)
    except FileNotFoundError:
        sys.exit(f"error: the tests wrote no events: {sys.argv[1]}")
    suites = {}
    for suite, first, last in cases:
        suites.setdefault(suite, []).append((first, last))
    if not suites:
        return
    rows = sorted(((busy(times), sum(last - first for first, last in times), len(times), suite)
                   for suite, times in suites.items()), reverse=True)
    whole = busy([(first, last) for _, first, last in cases])
    print(f"== {len(cases)} cases of {len(suites)} suites in {whole:.0f} s; the slowest suites (time, sum of the cases):")
    for time, total, number, suite in rows[:count]:
        print(f"{time:8.1f} s {total:8.1f} s  {suite} ({number} case{'s' if number > 1 else ''})")


if __name__ == "__main__":
    main()
