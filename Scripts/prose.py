#!/usr/bin/env python3
"""Checks prose, for make lint and make docs: names and sentences in the pages and in the comments of the sources, and shown code.

Fields: what stands in a code span and looks like a header field (`Retry-After`) is one of Scripts/fields.txt. A new one is added there by
hand, after a look at its specification; a rename of types by pattern has once made `Next-PageRequest` of `Next-Page`.

Sentences: none has more than 25 words, none begins with *What*, *Of*, *That of* or *Such*, and none uses *answer* for a response, *repeat* for
sending again, or *pause* for a wait. That holds for articles, for comments of the sources, and, as to the words, for the texts in the sources.

Errors: code that is shown catches them in a form that compiles in a function, in a task, in a group and at the top of a program.

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
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "--", "*.md", "Sources/*.swift", "Snippets/*.swift"],
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
        # An empty line in place of code keeps what is around it apart.
        found.append((number, "" if inside or line.lstrip().startswith("```") else line))
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
        if not path.endswith(".swift") or path.startswith("Snippets/"):
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


# MARK: Sentences

longest = 25
# The numbered rules are a table of facts; the measurements and the history have words of their own.
unread = ("CHANGELOG", "Benchmarks/", "Documentation/Behaviour/", "Fuzzing/", "Tests/")
beginning = re.compile(r"(?:What|Of|That of|Such)\b(?! as\b)")
words = [
    (re.compile(r"\b(?:the|an|its|no|any|each|every|stored|complete|late|raw|interim|malformed|broken|first|last|next|JSON) answers?\b|"
                r"\banswers? (?:of|from|is|are|was|were|has|have|may|can|could)\b", re.I), "a response is no answer"),
    (re.compile(r"\b(?:is|are|was|were|be|not) repeated\b(?! in\b)|\brepeat(?:s|ing)? (?:the |a |any |each |every )?(?:requests?|calls?|methods?|"
                r"attempts?|POST|exchanges?)\b", re.I), "what is sent again is not repeated"),
    (re.compile(r"\b(?:the|its|no|each|every|any|server's) pauses?\b", re.I), "a wait or a delay is no pause"),
]
# Faults in the comments of each module; a number only falls.
known = {"LadeCache": 85, "LadeCacheSQLite": 17, "LadeCommand": 51, "LadeExchange": 12, "LadePolicies": 41, "LadeWire": 91}


def paragraphs(lines):
    """The texts of numbered lines of prose: a paragraph, an item of a list or a cell of a table each."""
    gathered = []
    for number, line in [*lines, (0, "")]:
        line = line.strip()
        item = re.match(r"(?:[-*]|\d+\.) +", line)
        if not line or item or line.startswith(("#", "|", "<", "@", ">")):
            if gathered:
                yield gathered[0][0], " ".join(text for _, text in gathered)
            gathered = []
        if line.startswith("|"):
            yield from ((number, cell.strip()) for cell in line.strip("|").split("|"))
        elif line and not line.startswith(("#", "<", "@")):
            gathered.append((number, line[item.end():] if item else line))


def faults(text):
    """What is wrong with the sentences of a text."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"``?[^`]+`+|<doc:[^>]*>", "X", text))
    # A list of names is as easy to read as one.
    text = re.sub(r"\bX(?:(?:,|,? and|,? or) X\b)+", "X", text)
    for sentence in re.split(r"(?<=[.!?])[”\"*)]*\s+(?=[^a-z\s]|libcurl|nghttp2|lade )", text):
        start = sentence.lstrip("“\"*(")
        if (count := len(re.findall(r"[^\s–—=+×]+", sentence))) > longest:
            yield f"{count} words in a sentence, at most {longest}: {start[:60]}"
        if beginning.match(start) and len(start.split()) > 1:
            yield f"a sentence begins with its subject: {start[:60]}"
        yield from (f"{rule}: {start[:60]}" for pattern, rule in words if pattern.search(sentence))


def comments(path):
    """The numbered lines of the comments of a source, with an empty line wherever one ends; code in them is left out."""
    kind, inside = "", False
    for number, line in enumerate((root / path).read_text().splitlines(), 1):
        match = re.match(r"\s*(///?)(?!/) ?(.*)", line)
        if not match or match[1] != kind:
            yield number, ""
        kind = match[1] if match else ""
        if not match:
            continue
        if match[2].startswith("```"):
            inside = not inside
        elif not inside and not match[2].startswith("MARK"):
            yield number, re.sub(r"^\s*- (?:Parameters?\b[^:]*|Returns|Throws|\w+):", "- ", match[2])


def check_sentences():
    count, found = 0, {}
    for path in files:
        if path.startswith(unread):
            continue
        source = path.endswith(".swift")
        lines = comments(path) if source else prose(path)
        for number, text in paragraphs(lines):
            count += 1
            for fault in faults(text):
                found.setdefault(path.split("/")[1] if source and root == checkout else "", []).append(f"{path}:{number}: {fault}")
        if source:
            for number, line in enumerate((root / path).read_text().splitlines(), 1):
                shown = " ".join(re.findall(r'"((?:[^"\\]|\\.)*)"', line.split(" //")[0]))
                problems.extend(f"{path}:{number}: {rule}" for pattern, rule in words if pattern.search(shown))
    for module, texts in found.items():
        if len(texts) > known.get(module, 0):
            problems.extend(texts)
    for module in known if root == checkout else []:
        if (left := len(found.get(module, []))) < known[module]:
            print(f"== Scripts/prose.py: known has {known[module]} for {module}, where {left} are left", file=sys.stderr)
    return count


# MARK: Errors in shown code

def shown_code(path):
    """The blocks of Swift in a page, in the comments of a source, or a whole snippet, each with the number of its first line."""
    text = (root / path).read_text()
    if path.startswith("Snippets/"):
        yield 1, text
        return
    lines, block, start = text.splitlines(), None, 0
    for number, line in enumerate(lines, 1):
        if path.endswith(".swift"):
            line = match[1] if (match := re.match(r"\s*/// ?(.*)", line)) else ""
        if block is not None and line.lstrip().startswith("```"):
            yield start, "\n".join(block)
            block = None
        elif block is not None:
            block.append(line)
        elif line.strip() == "```swift":
            block, start = [], number + 1


def check_catches():
    count = 0
    for path in files:
        if path.startswith(unread):
            continue
        for start, code in shown_code(path):
            for number, fault in catch_faults(code):
                problems.append(f"{path}:{start + number}: {fault}")
            count += code.count("catch")
    return count


def catch_faults(code):
    """Forms of `catch` that compile only in functions, or that crash a compiler; with the number of their line from 0."""
    lines = code.split("\n")
    for number, line in enumerate(lines):
        if not (opening := re.match(r"(\s*)(?:.*\b)?do( throws\(\w+\))? \{\s*$", line)):
            continue
        indent, typed, clauses = opening[1], bool(opening[2]), []
        for at in range(number + 1, len(lines)):
            if clause := re.match(re.escape(indent) + r"\} catch ?(.*?) ?\{", lines[at]):
                clauses.append((at, clause[1], []))
            elif re.match(re.escape(indent) + r"\}", lines[at]):
                break
            elif clauses:
                clauses[-1][2].append(lines[at])
        for at, pattern, body in clauses:
            said = pattern + "\n" + "\n".join(body)
            if not typed and " as " not in pattern and re.search(r"\berror\.(kind|context|cause|page|failure|isCancellation|underlyingError)\b", said):
                yield at, "in a task or a group this error is `any Error`: write `do throws(LoadingError)`, or `catch let error as LoadingError`"
        if typed and clauses and clauses[-1][1]:
            yield clauses[-1][0], "a `do throws` ends with a `catch` without a condition: without one, Swift 6.3 crashes in a throwing function"


graphs = next((argument for argument in arguments if argument != "--root"), None)
print(
    f"== prose: {check_fields()} fields, {check_symbols(graphs)} symbols, {check_sentences()} paragraphs, {check_catches()} catches",
    file=sys.stderr,
)
if problems:
    sys.exit("\n".join(f"error: {problem}" for problem in problems))
