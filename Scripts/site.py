#!/usr/bin/env python3
"""Makes one documentation site of all modules and of Documentation/, for Scripts/docs: site.py SYMBOL-GRAPHS OUTPUT

DocC converts each module with the archives of the modules that it depends on, so that their symbols are linked, and merges
the archives. This script prepares the inputs, adds the start page and the search, and checks every internal link.
"""
import concurrent.futures, json, os, pathlib, re, shutil, subprocess, sys

root = pathlib.Path(__file__).resolve().parent.parent
graphs, output = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
work = output.parent / "docs-work"
docc = os.environ.get("DOCC", "docc")
base = "/" + os.environ.get("DOCS_BASE_PATH", "").strip("/")
url = base.rstrip("/")  # what a path of the site follows
linked_kinds = {
    "swift.struct", "swift.class", "swift.enum", "swift.protocol", "swift.actor", "swift.typealias", "swift.property",
    "swift.type.property", "swift.enum.case",
}


# MARK: Inputs

def read_modules():
    """The modules with a catalogue: their catalogue, and all modules with one that they depend on."""
    text = subprocess.run(
        ["swift", "package", "describe", "--type", "json"], cwd=root, check=True, capture_output=True, text=True,
        stdin=subprocess.DEVNULL,
    ).stdout
    targets = {target["name"]: target for target in json.loads(text[text.index("{"):])["targets"]}

    def below(name):
        direct = targets[name].get("target_dependencies", [])
        return set(direct).union(*(below(other) for other in direct))

    catalogues = {name: root / target["path"] / f"{name}.docc" for name, target in targets.items()}
    described = {name for name, path in catalogues.items() if path.is_dir()}
    return {name: (catalogues[name], below(name) & described) for name in sorted(described)}


def read_names(module):
    """The links to the public symbols of a module, by their names in Swift, such as `Request.method`."""
    names = {}
    for symbol in json.loads((graphs / f"{module}.symbols.json").read_text())["symbols"]:
        path = symbol["pathComponents"]
        if symbol["kind"]["identifier"] in linked_kinds and "(" not in path[-1]:
            # A name with two meanings needs a suffix in a link, so it is left alone.
            names[".".join(path)] = None if ".".join(path) in names else f"/{module}/" + "/".join(path)
    return {name: link for name, link in names.items() if link}


def linked(text, names):
    """The text with links for its code spans that name a symbol; code blocks, headings and links keep their text."""
    def replace(match):
        link = names.get(match[1])
        if link is None:
            return match[0]
        return f"[`{match[1]}`](doc:{link})" if "." in match[1] else f"``{link}``"

    lines, fenced = [], False
    for line in text.split("\n"):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced and not line.startswith(("#", "    ")):
            line = re.sub(r"(?<![`\[])`([A-Z][A-Za-z.]*)`(?![`\]])", replace, line)
        lines.append(line)
    return "\n".join(lines)


def prepare_module(module, catalogue, names):
    """Copies a catalogue and the module's symbols, with links to the symbols of other modules."""
    folder = work / module
    shutil.copytree(catalogue, folder / f"{module}.docc")
    for page in (folder / f"{module}.docc").rglob("*.md"):
        page.write_text(linked(page.read_text(), names))
    # The module's own symbols, and its extensions of other modules' types.
    for graph in [graphs / f"{module}.symbols.json", *graphs.glob(f"{module}@*.symbols.json")]:
        content = json.loads(graph.read_text())
        for symbol in content["symbols"]:
            lines = symbol.get("docComment", {}).get("lines", [])
            for line, changed in zip(lines, linked("\n".join(line["text"] for line in lines), names).split("\n")):
                line["text"] = changed
        (folder / graph.name).write_text(json.dumps(content))
    return folder / f"{module}.docc"


def prepare_guide(names):
    """Makes a catalogue of Documentation/: its README is the start page, and links between files become DocC's."""
    catalogue = work / "Guide" / "Guide.docc"
    catalogue.mkdir(parents=True)
    pages = sorted((root / "Documentation").rglob("*.md"))
    titles = {page.resolve(): page.parent.name if page.stem == "README" else page.stem for page in pages}
    titles[(root / "Documentation/README.md").resolve()] = "Guide"
    if len(set(titles.values())) != len(pages):
        sys.exit("error: two pages in Documentation/ have the same file name")
    for page in pages:
        def replace(match):
            if re.match(r"[a-z]+:", match[2]):
                return match[0]
            # A link to a heading leads to its page: DocC names headings in another way.
            text, target = match[1], match[2].partition("#")[0]
            file = (page.parent / target).resolve() if target else page.resolve()
            if not file.exists():
                sys.exit(f"error: {page.relative_to(root)} links to {target}, which does not exist")
            if file in titles:
                return f"[{text}](doc:{titles[file]})"
            if file.parent.suffix == ".docc":
                module = file.parent.stem
                return f"[{text}](doc:/{module}" + ("" if file.stem == module else f"/{file.stem}") + ")"
            return text if text.startswith("`") else f"{text} (`{file.relative_to(root)}`)"

        text = re.sub(r"\[([^\]]*)\]\(([^)\s]+)\)", replace, linked(page.read_text(), names))
        # An id stays on one line of its cell.
        text = re.sub(r"(?<=[A-Z]-)(?=[A-Z]*\d)", "\u2060", text) if page.parent.name == "Behaviour" else text
        if titles[page.resolve()] == "Guide":
            title, rest = text.split("\n", 1)
            text = f"{title}\n\n@Metadata {{\n    @TechnologyRoot\n}}\n{rest}"
        (catalogue / f"{titles[page.resolve()]}.md").write_text(text)
    return catalogue


def convert(name, catalogue, dependencies):
    run = subprocess.run(
        [docc, "convert", catalogue, "--output-path", work / f"{name}.doccarchive", "--hosting-base-path", base,
         "--additional-symbol-graph-dir", work / name, "--fallback-display-name", name,
         "--fallback-bundle-identifier", f"lade.{name}", "--fallback-default-module-kind", "Module",
         "--enable-experimental-external-link-support", "--warnings-as-errors",
         *(part for other in dependencies for part in ("--dependency", work / f"{other}.doccarchive"))],
        capture_output=True, text=True, stdin=subprocess.DEVNULL,
    )
    print(f"== {name}", file=sys.stderr)
    if run.stderr.strip() or run.returncode:
        print(run.stdout + run.stderr, file=sys.stderr)
    return run.returncode == 0


# MARK: The site

def plain(content, references):
    """The text of DocC's content, without its markup; a reference has the title of its page."""
    if isinstance(content, list):
        parts = (plain(one, references) + (" " if isinstance(one, list) else "") for one in content)
        return "".join(parts)
    if not isinstance(content, dict):
        return ""
    if content.get("type") == "reference":
        return content.get("overridingTitle") or references.get(content["identifier"], {}).get("title", "")
    code = content.get("code", "")
    own = [content.get("text", ""), code if isinstance(code, str) else "\n".join(code)]
    nested = [content.get(key) for key in ("content", "inlineContent", "items", "rows", "primaryContentSections")]
    text = "".join([*own, *(plain(one, references) for one in nested)])
    # The text of a paragraph, a cell and the like ends at a space.
    return text if content.get("type") in ("text", "codeVoice", "emphasis", "strong") else text + " "


def entry_for(page):
    """What the search knows of a page: address, title, place, kind, abstract, and the words of its text and its code."""
    metadata, address = page["metadata"], page["variants"][0]["paths"][0]
    above = [page["references"].get(one, {}).get("title", "") for one in page["hierarchy"]["paths"][0]]
    article = page["kind"] == "article"
    return {
        "url": url + address, "title": metadata["title"], "in": " › ".join(dict.fromkeys([*above[:1], *above[-1:]])),
        "kind": "Article" if article else metadata.get("roleHeading", ""),
        "abstract": plain(page.get("abstract", []), page["references"]), "text": plain(page, page["references"]).replace("\u2060", ""),
    }


def finish(pages):
    """Adds header, search and start page to the merged archive."""
    header = (root / "Scripts/docs-header.html").read_text().replace("BASE", url)
    for file in output.rglob("index.html"):
        text = file.read_text()
        file.write_text(re.sub(r"(<body[^>]*>)", lambda match: match[1] + header, text, count=1))
    start = f"{url}/documentation/guide/"
    (output / "index.html").write_text(
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Lade</title>'
        f'<meta http-equiv="refresh" content="0; url={start}"></head><body><a href="{start}">Lade</a></body></html>\n'
    )
    entries = sorted((entry_for(page) for page in pages if "metadata" in page and "variants" in page), key=lambda e: e["url"])
    (output / "search.json").write_text(json.dumps(entries, ensure_ascii=False, separators=(",", ":")))
    (output / "search.html").write_text((root / "Scripts/docs-search.html").read_text().replace("BASE", url))


def broken_links(files):
    """Every internal link of the site that leads nowhere, with its page."""
    anchors = {}
    for file, page in files.items():
        found = set()

        def collect(value):
            if isinstance(value, dict):
                if isinstance(value.get("anchor"), str):
                    found.add(value["anchor"])
                for nested in value.values():
                    collect(nested)
            elif isinstance(value, list):
                for nested in value:
                    collect(nested)

        collect(page)
        anchors["/" + str(file.relative_to(output / "data").with_suffix("")).lower()] = found

    def leads(address):
        path, _, anchor = address.partition("#")
        path = path.rstrip("/").lower()
        return path in anchors and (not anchor or anchor in anchors[path])

    def references(value):
        """The identifiers that content refers to."""
        if isinstance(value, dict):
            if value.get("type") == "reference":
                yield value["identifier"], value.get("isActive", True)
            for nested in value.values():
                yield from references(nested)
        elif isinstance(value, list):
            for nested in value:
                yield from references(nested)

    for file, page in files.items():
        where = file.relative_to(output)
        known = page.get("references", {})
        for reference in known.values():
            address = reference.get("url", "")
            if address.startswith("/") and not leads(address):
                yield where, address
            elif reference.get("type") == "link" and not re.match(r"(https?|mailto):", address):
                yield where, address
            for variant in reference.get("variants", []):
                if not (output / variant["url"].removeprefix(url).lstrip("/")).exists():
                    yield where, variant["url"]
        for identifier, active in references({key: value for key, value in page.items() if key != "references"}):
            # Protocols outside the package, such as Sendable, are unresolvable; the text of a page does not refer to them.
            if not active or known.get(identifier, {}).get("type", "unresolvable") == "unresolvable":
                yield where, identifier

    def nodes(values):
        for value in values:
            yield value
            yield from nodes(value.get("children", []))

    index = output / "index/index.json"
    for languages in json.loads(index.read_text())["interfaceLanguages"].values():
        for node in nodes(languages):
            if "path" in node and not leads(node["path"]):
                yield index.relative_to(output), node["path"]


def main():
    shutil.rmtree(work, ignore_errors=True)
    shutil.rmtree(output, ignore_errors=True)
    work.mkdir(parents=True)
    modules = read_modules()
    names = {module: read_names(module) for module in modules}
    left, done = dict(modules), []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        while left:
            ready = [name for name, (_, below) in left.items() if below.isdisjoint(left)]
            runs = []
            for name in ready:
                catalogue, below = left.pop(name)
                # A module that extends another one has a page with its name, which links of DocC lead to in vain.
                extended = {graph.name.split("@")[1].split(".")[0] for graph in graphs.glob(f"{name}@*.symbols.json")}
                visible = {
                    key: link for other in sorted(below - extended) for key, link in names[other].items()
                    if key not in names[name]
                }
                runs.append(pool.submit(convert, name, prepare_module(name, catalogue, visible), sorted(below)))
            if not all([run.result() for run in runs]):
                sys.exit("error: DocC reported problems")
            done += ready
    # The models of the catalogue have everyday names, such as Show, that examples use for types of their own.
    everything = {key: link for module in done if module != "LadeCatalogue" for key, link in names[module].items()}
    if not convert("Guide", prepare_guide(everything), done):
        sys.exit("error: DocC reported problems")
    subprocess.run(
        [docc, "merge", *(work / f"{name}.doccarchive" for name in [*done, "Guide"]), "--output-path", output,
         "--synthesized-landing-page-name", "All modules", "--synthesized-landing-page-topics-style", "list"],
        check=True, stdin=subprocess.DEVNULL,
    )
    files = {file: json.loads(file.read_text()) for file in sorted((output / "data").rglob("*.json"))}
    finish(files.values())
    broken = list(broken_links(files))
    for where, address in broken:
        print(f"error: {where}: broken link: {address}", file=sys.stderr)
    if broken:
        sys.exit(f"error: {len(broken)} broken links")
    shutil.rmtree(work)
    print(f"== {len(files)} pages of {len(done)} modules and the guide, every internal link checked", file=sys.stderr)


main()
