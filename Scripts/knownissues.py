#!/usr/bin/env python3
"""Compares the known issues of a run of the tests with Tests/KnownIssues.txt, for Scripts/test.

usage: Scripts/knownissues.py EVENTS   the file of `swift test --event-stream-output-path`

Prints one line. A known issue without a row, and a row whose test ended without it, are printed in the form of a row, and fail.
Only tests that ended are compared, so a run of some tests says nothing about the rows of others.
"""
import json, os, pathlib, re, sys

root = pathlib.Path(__file__).resolve().parent.parent
path = root / "Tests/KnownIssues.txt"
# Under a sanitizer the tests check less, and take longer.
is_sanitized = "LADE_SANITIZER" in os.environ


def read_rows():
    """The rows: manner, by test, case and reason."""
    rows = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        cells = tuple(cell.strip() for cell in line.split(" | "))
        if len(cells) != 4 or cells[0] not in ("always", "sometimes") or cells[1:] in rows:
            sys.exit(f"error: {path.name}:{number} is no row, or stands twice: {line}")
        rows[cells[1:]] = cells[0]
    return rows


def read_events(file):
    """The known issues, counted by test, case and reason; and each test and case that ran to its end."""
    found, ended, cancelled = {}, set(), set()
    for line in file:
        event = json.loads(line)["payload"] if line.startswith("{") else {}
        if "testID" not in event:
            continue
        # The id ends with the place in the source.
        test = re.sub(r"/[^/]*:\d+:\d+$", "", event["testID"])
        words = event.get("_testCase", {}).get("displayName", "").split() or ["–"]
        # A case of the conformance suite is known by its number.
        case = test, words[0] if re.fullmatch(r"[A-Z]+-[A-Z\d]+", words[0]) else " ".join(words)
        kind = event.get("kind")
        if kind in ("testCaseEnded", "testEnded"):
            ended.add(case)
        elif kind in ("testCaseCancelled", "testCancelled", "testSkipped"):
            cancelled.add(case)
        elif kind == "issueRecorded" and event["issue"].get("isKnown"):
            # The comment of `withKnownIssue` comes last.
            details = [message["text"] for message in event["messages"] if message["symbol"] == "details"]
            row = *case, " ".join(details[-1].split()) if details else "–"
            found[row] = found.get(row, 0) + 1
    return found, ended - cancelled


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    rows = read_rows()
    try:
        with open(sys.argv[1], encoding="utf-8", errors="replace") as file:
            found, ended = read_events(file)
    except FileNotFoundError:
        sys.exit(f"error: the tests wrote no events: {sys.argv[1]}")
    new = [row for row in found if row not in rows]
    vanished = [] if is_sanitized else [
        row for row, manner in rows.items() if manner == "always" and row[:2] in ended and row not in found]
    for row in sorted(new):
        print(f"error: a known issue is not in {path.name}: always | {' | '.join(row)}")
    for row in sorted(vanished):
        print(f"error: a known issue vanished, and is in {path.name}: {rows[row]} | {' | '.join(row)}")
    if new or vanished:
        sys.exit(1)
    if found:
        print(f"== {sum(found.values())} known issues, as Tests/KnownIssues.txt lists them")


if __name__ == "__main__":
    main()
