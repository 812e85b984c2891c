#!/usr/bin/env python3
"""Compares the rules in Documentation/Behaviour/ with the rules that the names of tests mention, for make lint.

Each rule has a row with its id, a sentence and the files that test it. Every id in the name or the arguments of a test needs a
row, and every row a test. With --write the column of the files is corrected; the rules themselves are written by hand.
"""
import collections, pathlib, re, sys

root = pathlib.Path(__file__).resolve().parent.parent
pages = sorted((root / "Documentation/Behaviour").glob("*.md"))
# A test's name mentions a rule as “service SV-14”, with the area first: the same id can exist in two areas.
areas = {("finding" if page.stem == "Findings" else page.stem.lower()): page for page in pages if page.stem != "README"}
one_id = r"\b(?!(?:UTF|SHA|ISO|CRC)-)[A-Z]{1,3}-[A-Z]*\d+(?:\.\d+)?"
literal = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
mention = re.compile(rf"\b({'|'.join(areas)})(?= {one_id})|({one_id})(?:(?: to |–)({one_id}|\d+))?")


def expanded(first, last):
    """The ids of a range: IL-SEG1 to IL-SEG22, or IL-SEG1–22."""
    prefix, start = re.fullmatch(r"(.*?)(\d+)", first).groups()
    end = re.search(r"\d+$", last)[0]
    return [f"{prefix}{number:0{len(start)}}" for number in range(int(start), int(end) + 1)]


def read_rows():
    """The rows of all pages: page, line number, ids, rule and files."""
    for area, page in areas.items():
        for number, line in enumerate(page.read_text().splitlines(), 1):
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            if line.startswith("|") and re.match(one_id, cells[0]):
                ids = [one for match in mention.finditer(cells[0]) if match[2]
                       for one in (expanded(match[2], match[3]) if match[3] else [match[2]])]
                yield area, page, number, cells[0], ids, cells[1] if len(cells) > 1 else "", cells[2] if len(cells) > 2 else ""


def read_tests(prefixes):
    """The files that mention each rule, by area and id."""
    found = collections.defaultdict(set)
    suites = [*(root / "Tests").rglob("*.swift"), *(root / "Sources").glob("*Testing/**/*.swift"),
              *(root / "Sources").glob("*Conformance/**/*.swift")]
    for file in suites:
        if "KnownIssue" in file.stem:  # Rules that a platform does not follow.
            continue
        for text in literal.findall(file.read_text()):
            area = None
            for match in mention.finditer(text):
                if match[1]:
                    area = match[1]
                    continue
                # An id alone, as in the arguments of a test, counts where only one area has its letters.
                owner = area or (prefixes.get(match[2].rstrip("0123456789.")) if text == match[0] else None)
                if owner:
                    for one in expanded(match[2], match[3]) if match[3] else [match[2]]:
                        found[owner, one].add(file.stem)
    return found


def main():
    rows, problems, seen = list(read_rows()), [], {}
    owners = collections.defaultdict(set)
    for area, _, _, _, ids, _, _ in rows:
        for one in ids:
            owners[one.rstrip("0123456789.")].add(area)
    tests = read_tests({prefix: next(iter(found)) for prefix, found in owners.items() if len(found) == 1})
    corrected = collections.defaultdict(dict)
    for area, page, number, cell, ids, rule, files in rows:
        where = f"{page.relative_to(root)}:{number}"
        for one in ids:
            if (area, one) in seen:
                problems.append(f"{where}: {area} {one} has another row in line {seen[area, one]}")
            seen[area, one] = number
            if (area, one) not in tests:
                problems.append(f"{where}: no test mentions {area} {one}")
        if not rule.endswith("."):
            problems.append(f"{where}: the rule of {cell} is not a sentence")
        expected = ", ".join(f"`{name}`" for name in sorted(set().union(*(tests.get((area, one), set()) for one in ids))))
        if expected and files != expected:
            corrected[page][number] = f"| {cell} | {rule} | {expected} |"
            if "--write" not in sys.argv:
                problems.append(f"{where}: {cell} is tested in {expected}; Scripts/behaviour.py --write corrects the row")
    for (area, one), files in sorted(tests.items()):
        if (area, one) not in seen:
            page = areas[area].relative_to(root)
            problems.append(f"{', '.join(sorted(files))}: a test mentions {area} {one}, which has no row in {page}")
    if "--write" in sys.argv:
        for page, lines in corrected.items():
            text = page.read_text().splitlines()
            for number, line in lines.items():
                text[number - 1] = line
            page.write_text("\n".join(text) + "\n")
    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    if problems:
        sys.exit(1)
    print(f"== rules: {len(seen)} in {len(areas)} areas, each with a test", file=sys.stderr)


main()
