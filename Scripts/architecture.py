#!/usr/bin/env python3
"""Compares Documentation/Architecture.md with the package, for make lint.

Floors: the table has every target of Package.swift outside of Tests with exactly what it imports, and each import is on a lower floor.
Folders: every folder below Sources with five Swift files or more has an entry of three lines, and every entry such a folder.
"""
import collections, json, os, pathlib, re, subprocess, sys

root = pathlib.Path(__file__).resolve().parent.parent
page = root / "Documentation/Architecture.md"
least_files = 5
problems = []


def fail(number, text):
    problems.append(f"{page.relative_to(root)}:{number}: {text}")


def section(title):
    """The numbered lines of a section of the page."""
    lines = list(enumerate(page.read_text().splitlines(), 1))
    start = next((index for index, (_, line) in enumerate(lines) if line == f"## {title}"), None)
    if start is None:
        sys.exit(f"error: {page.relative_to(root)} has no section “{title}”")
    end = next((index for index in range(start + 1, len(lines)) if lines[index][1].startswith("## ")), len(lines))
    return lines[start + 1:end]


def targets():
    """What each target outside of Tests imports, on Linux."""
    environment = {name: value for name, value in os.environ.items() if name != "LADE_ONLY"} | {"LADE_CURL": "1"}
    dumped = subprocess.run(["swift", "package", "dump-package"], cwd=root, env=environment, stdout=subprocess.PIPE)
    if dumped.returncode != 0:
        sys.exit("error: Package.swift cannot be read")
    return {
        target["name"]: {(item.get("byName") or item.get("target"))[0] for item in target["dependencies"]}
        for target in json.loads(dumped.stdout)["targets"]
        if target["type"] != "test" and not (target.get("path") or "").startswith("Tests")
    }


def check_floors():
    imports, floors, rows = targets(), {}, {}
    for number, line in section("Floors"):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        names = re.findall(r"`(\w+)`", cells[1]) if line.startswith("|") and len(cells) == 4 else []
        for name in names:
            if name in rows:
                fail(number, f"{name} has two rows")
            rows[name] = number, set(re.findall(r"`(\w+)`", cells[3]))
            floors[name] = int(cells[0]) if cells[0].isdigit() else 99
            if cells[0] != "top" and not cells[0].isdigit():
                fail(number, f"the floor of {name} is a number or “top”")
    for name in sorted(imports.keys() - rows.keys()):
        fail(1, f"the target {name} of Package.swift has no row in the table of floors")
    for name, (number, listed) in rows.items():
        if name not in imports:
            fail(number, f"Package.swift has no target {name}")
            continue
        if listed != imports[name]:
            fail(number, f"{name} imports {', '.join(sorted(imports[name])) or 'nothing'}, the table says {', '.join(sorted(listed)) or 'nothing'}")
        for other in sorted(imports[name] & floors.keys()):
            if floors[other] >= floors[name]:
                fail(number, f"{name} imports {other}, which is not on a lower floor")
    return len(rows)


def check_folders():
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "Sources/*.swift"], cwd=root, check=True, stdout=subprocess.PIPE, text=True)
    files = {pathlib.Path(line) for line in listed.stdout.splitlines() if (root / line).is_file()}
    counts = collections.Counter(file.parent.relative_to("Sources").as_posix() for file in files)
    folders = {folder for folder, count in counts.items() if count >= least_files}
    lines, entries = section("Folders"), {}
    for index, (number, line) in enumerate(lines):
        entry = re.match(r"- `([^`]+)`: \S", line)
        if not entry:
            if line.startswith("- "):
                fail(number, "an entry begins with “- `Folder`: ”")
            continue
        if entry[1] in entries:
            fail(number, f"{entry[1]} has two entries")
        entries[entry[1]] = number
        below = [text for _, text in lines[index + 1:index + 4]] + [""] * 3
        if not below[0].startswith("  Called by ") or not below[1].startswith("  May touch ") or below[2].startswith("  "):
            fail(number, f"the entry of {entry[1]} has three lines: what it is, “Called by …”, “May touch …”")
    for folder in sorted(folders - entries.keys()):
        fail(lines[0][0], f"Sources/{folder} has {counts[folder]} files and no entry in “Folders”")
    for folder in sorted(entries.keys() - folders):
        fail(entries[folder], f"Sources/{folder} has {counts[folder]} Swift files; entries are for folders of {least_files} or more")
    return len(entries)


floors, folders = check_floors(), check_folders()
for problem in problems:
    print(f"error: {problem}", file=sys.stderr)
print(f"== map: {floors} targets, {folders} folders", file=sys.stderr)
sys.exit(1 if problems else 0)
