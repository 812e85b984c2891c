#!/usr/bin/env python3
"""Checks names in prose, for make lint and make docs: in the pages, and fields also in the comments of the sources.

Fields: what stands in a code span and looks like a header field (`Retry-After`) is one of Scripts/fields.txt. A new one is added there by
hand, after a look at its specification; a rename of types by pattern has once made `Next-PageRequest` of `Next-Page`.

Symbols: each part of a code span such as `RetryPolicy.limit`, `settings.cache` or `.held` is declared in the sources, after a type as one
of its members. With the folder of the symbol graphs, as make docs calls it, the members of a type are those of the graphs.
"""
import json, pathlib, re, subprocess, sys

checkout = pathlib.Path(__file__).resolve().parent.parent
arguments = sys.argv[1:]
# Another folder, for a test.
root = pathlib.Path(arguments.pop(arguments.index("--root") + 1)) if "--root" in arguments else checkout
fields_file = checkout / "Scripts/fields.txt"
problems = []

if root == checkout:
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "--", "*.md", "Sources/*.swift"],
                            cwd=root, check=True, stdout=subprocess.PIPE, text=True).stdout.split("\n")
else:
    listed = [path.relative_to(root).as_posix() for suffix in ("md", "swift") for path in root.rglob(f"*.{suffix}")]
files = sorted({line for line in listed if line and (root / line).is_file()})
field = re.compile(r"^[A-Z][A-Za-z0-9]*(?:-[A-Z0-9][A-Za-z0-9]*)+:?$")
chain = re.compile(r"^\.?[A-Za-z_]\w*(?:\([\w:]*\))?(?:\.[A-Za-z_]\w*(?:\([\w:]*\))?)*$")
# What the language and its libraries declare.
foreign = set("""
    self init some any async await throws try nil true false description localizedDescription utf8 count isEmpty first last map bytes lines
    milliseconds seconds hasSuffix shared sortedKeys standard userInfo rawValue id body view task searchable refreshable onAppear main
""".split())


def prose(path):
    """The numbered lines of a page outside of code blocks, or the comments of a source."""
    text = (root / path).read_text().splitlines()
    if path.endswith(".swift"):
        return [(number, line) for number, line in enumerate(text, 1) if line.lstrip().startswith("///")]
    inside, found = False, []
    for number, line in enumerate(text, 1):
        if line.lstrip().startswith("```"):
            inside = not inside
        elif not inside:
            found.append((number, line))
    return found


def spans(path):
    for number, line in prose(path):
        for span in re.findall(r"(?<!`)`([^`]+)`(?!`)", line):
            yield number, span


def check_fields():
    known = {line.lower() for line in fields_file.read_text().split()}
    count = 0
    for path in files:
        for number, span in spans(path):
            for name in re.split(r"[,/ ] *", span.split(": ")[0]):
                # Rules have such ids.
                if not field.match(name) or re.match(r"[A-Z]+-\d+$", name):
                    continue
                count += 1
                if name.rstrip(":").lower() not in known:
                    problems.append(f"{path}:{number}: {name} is no field of Scripts/fields.txt")
    return count


declaration = re.compile(
    r"^(\s*)(?:@\w+(?:\([^)]*\))?\s+)*(?:(?:public|package|open|internal|private|fileprivate|nonisolated|final|static|class|indirect|mutating|"
    r"override|convenience|weak|unowned|lazy|isolated|required|consuming|borrowing|prefix|postfix|infix|(?:private|package|internal)\(set\)|"
    r"nonisolated\(unsafe\))\s+)*"
    r"(struct|enum|class|protocol|actor|typealias|extension|associatedtype|func|var|let|case|init|subscript)\b\s*`?([\w.]*)")


def declared_names():
    """The members of each type by its last name, and all names, from the sources."""
    members, names = {}, set()
    for path in files:
        if not path.endswith(".swift"):
            continue
        owners = []
        for line in (root / path).read_text().splitlines():
            for name in re.findall(r"[(,] *(\w+)(?: \w+)?:", line):
                names.add(name)
            if not (match := declaration.match(line)):
                continue
            indent, kind, name = len(match[1]), match[2], match[3]
            owners = [(depth, owner) for depth, owner in owners if depth < indent]
            owner = owners[-1][1] if owners else None
            found = [name]
            if kind == "case":
                found = re.findall(r"(?:^|, *)`?(\w+)", re.sub(r"\([^()]*(?:\([^()]*\)[^()]*)*\)", "", line.strip().split("case ", 1)[-1]))
            for one in found:
                last = one.split(".")[-1]
                names.update(one.split("."))
                if owner:
                    members.setdefault(owner, set()).add(last)
            if kind in ("struct", "enum", "class", "protocol", "actor", "extension"):
                members.setdefault(name.split(".")[-1], set())
                owners.append((indent, name.split(".")[-1]))
    return members, names


def graph_members(folder):
    """The members of each type by its last name, from symbol graphs."""
    members = {}
    for file in pathlib.Path(folder).glob("Lade*.symbols.json"):
        for symbol in json.loads(file.read_text())["symbols"]:
            path = [part.split("(")[0] for part in symbol["pathComponents"]]
            for owner, member in zip(path, path[1:]):
                members.setdefault(owner, set()).add(member)
            members.setdefault(path[-1], set())
    return members


def check_symbols(graphs):
    members, names = declared_names()
    names |= foreign | set(members)
    declared = dict(members)
    if graphs:
        for owner, found in graph_members(graphs).items():
            members[owner] = found | (set() if owner in members and found else members.get(owner, set()))
    count = 0
    for path in files:
        if not path.endswith(".md") or path.startswith(("CHANGELOG", "Benchmarks", "Fuzzing", "Documentation/ComingFrom")):
            continue
        # Pages for contributors name what is not public, too.
        table = declared if path.startswith(("CONTRIBUTING", "Documentation/Architecture", "Documentation/Style")) else members
        for number, span in spans(path):
            if not chain.match(span) or not ("." in span) or re.search(r"\.(swift|md|json|txt|py|sh|com|org|ch|example|log|yml|pem|net|netrc|bin|build)$", span):
                continue
            parts = [part.split("(")[0] for part in span.strip(".").split(".")]
            if parts[0].startswith("_"):
                continue
            if not span.startswith(".") and parts[0][0].islower() and parts[0] not in names:
                continue
            if parts[0][0].isupper() and parts[0] not in table:
                continue
            count += 1
            owner = None
            for part in parts:
                if owner in table and owner[0].isupper():
                    known = part in table[owner] or part in foreign
                else:
                    known = part in names
                if not known:
                    problems.append(f"{path}:{number}: {span}: {part} is not declared" + (f" in {owner}" if owner in table else ""))
                    break
                owner = part
    return count


graphs = next((argument for argument in arguments if argument != "--root"), None)
print(f"== names in prose: {check_fields()} fields, {check_symbols(graphs)} symbols")
if problems:
    sys.exit("\n".join(f"error: {problem}" for problem in problems))
