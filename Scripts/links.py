#!/usr/bin/env python3
"""Checks the links between the pages of the checkout, and the files that pages about the sources name, for make lint.

A link leads to a file of the checkout, and its part behind # to a heading there. Links to symbols, and to other hosts, are left out:
make docs checks the first.
"""
import pathlib, re, subprocess, sys

root = pathlib.Path(__file__).resolve().parent.parent
# Their code spans that look like files of the checkout are paths, or ends of paths.
about_the_sources = ["CONTRIBUTING.md", "Documentation/Architecture.md", "Documentation/Style.md"]
problems = []


def tracked():
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=root, check=True, stdout=subprocess.PIPE, text=True)
    files = {line for line in listed.stdout.splitlines() if (root / line).is_file()}
    return files, {str(parent) for file in files for parent in pathlib.PurePath(file).parents}


def prose(path):
    """The numbered lines outside of code blocks."""
    inside = False
    for number, line in enumerate((root / path).read_text().splitlines(), 1):
        if line.lstrip().startswith("```"):
            inside = not inside
        elif not inside:
            yield number, line


def anchors(path):
    """The names by which the headings of a page are linked, as GitHub makes them."""
    found = {}
    for _, line in prose(path):
        if heading := re.match(r"#{1,6} +(.*)", line):
            text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[1]).strip().lower()
            name = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
            found[name] = found.get(name, -1) + 1
    return {name if number == 0 else f"{name}-{number}" for name, count in found.items() for number in range(count + 1)}


def check_links(page, files, folders):
    count = 0
    for number, line in prose(page):
        for address in re.findall(r"\]\(([^)\s]+)(?: \"[^\"]*\")?\)", re.sub(r"`[^`]*`", "", line)):
            if re.match(r"\w+:", address):
                continue
            count += 1
            target, _, anchor = address.partition("#")
            whole = (root / page).parent.joinpath(target).resolve() if target else root / page
            path = whole.relative_to(root).as_posix() if whole.is_relative_to(root) else None
            if path not in files and path not in folders:
                problems.append(f"{page}:{number}: {target} does not exist")
            elif anchor and (path not in files or anchor not in anchors(path)):
                problems.append(f"{page}:{number}: {target or page} has no heading #{anchor}")
    return count


def check_names(page, files, folders):
    ends = {"/".join(parts[start:]) for path in files | folders for parts in [path.split("/")] for start in range(len(parts))}
    for number, line in prose(page):
        for name in re.findall(r"`([\w.+/-]+)`", line):
            if re.match(r"(Benchmarks|Documentation|Examples|Fuzzing|Scripts|Snippets|Sources|Tests)/|.*\.(swift|md|py)$", name) and name.rstrip("/") not in ends:
                problems.append(f"{page}:{number}: there is no {name}")


def main():
    files, folders = tracked()
    pages = sorted(file for file in files if file.endswith(".md"))
    links = sum(check_links(page, files, folders) for page in pages)
    for page in about_the_sources:
        check_names(page, files, folders)
    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    print(f"== links: {links} on {len(pages)} pages", file=sys.stderr)
    sys.exit(1 if problems else 0)


main()
