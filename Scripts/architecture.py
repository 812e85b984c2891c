#!/usr/bin/env python3
"""Compares Documentation/Architecture.md with the package, for make lint.

Floors: the table has every target of Package.swift outside of Tests with exactly what it imports, and each import is on a lower floor.
Folders: every folder below Sources with five Swift files or more has an entry of four lines, and every entry is about one.
Tests: the last line of an entry names folders of Tests. They exist and have tests, and one that is named like the folder is among them.
Every folder of tests is named by an entry, or named like a folder of Sources, or in the list at the end.
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
        target["name"]: {(item.get("byName") or item.get("target"))[0] for item in target["dependencies"] if "product" not in item}
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


def test_folder(folder):
    """The folder of tests that is named like a folder of the sources."""
    module, slash, rest = folder.partition("/")
    return f"{module}Tests{slash}{rest}"


def test_folders():
    """The folders below Tests with a file of tests."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "Tests/*Tests.swift"], cwd=root, check=True, stdout=subprocess.PIPE, text=True)
    return {pathlib.PurePath(line).parent.relative_to("Tests").as_posix() for line in listed.stdout.splitlines() if (root / line).is_file()}


def check_folders():
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "Sources/*.swift"], cwd=root, check=True, stdout=subprocess.PIPE, text=True)
    files = {pathlib.Path(line) for line in listed.stdout.splitlines() if (root / line).is_file()}
    counts = collections.Counter(file.parent.relative_to("Sources").as_posix() for file in files)
    folders = {folder for folder, count in counts.items() if count >= least_files}
    lines, entries = section("Folders"), {}
    tests, mentioned = test_folders(), {test_folder(folder) for folder in counts}
    for index, (number, line) in enumerate(lines):
        entry = re.match(r"- `([^`]+)`: \S", line)
        if entry and entry[1] in tests:
            mentioned.add(entry[1])
            continue
        if not entry:
            if line.startswith("- "):
                fail(number, "an entry begins with “- `Folder`: ”")
            continue
        if entry[1] in entries:
            fail(number, f"{entry[1]} has two entries")
        entries[entry[1]] = number
        below = [text for _, text in lines[index + 1:index + 5]] + [""] * 4
        if any(not text.startswith(f"  {begin} ") for text, begin in zip(below, ("Called by", "May touch", "Tested in"))) or below[3].startswith("  "):
            fail(number, f"the entry of {entry[1]} has four lines: what it is, “Called by …”, “May touch …”, “Tested in …”")
        named = set(re.findall(r"`([^`]+)`", below[2]))
        for name in sorted(named - tests):
            fail(number + 3, f"Tests/{name} has no tests")
        if (like := test_folder(entry[1])) in tests - named:
            fail(number + 3, f"{entry[1]} is tested in {like} as well")
        mentioned |= named
    for folder in sorted(tests - mentioned):
        fail(lines[-1][0], f"no entry says what Tests/{folder} tests")
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
