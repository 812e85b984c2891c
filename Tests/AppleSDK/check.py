#!/usr/bin/env python3
"""Type-checks the targets of the package for macOS and iOS on Linux: check.py WHEEL, called by Scripts/apple.

The targets, what they depend on and their settings are those of Package.swift as it is on Apple platforms. The compiler runs twice
for a target: for its module, without bodies of functions, and for all its code. The key of both is a digest of all that they read;
what has passed with the same key is not run again.
"""
import concurrent.futures, hashlib, json, os, pathlib, re, shutil, subprocess, sys, time

sys.dont_write_bytecode = True
from sdk import SDK  # noqa: E402

here = pathlib.Path(__file__).resolve().parent
root = here.parent.parent
build = root / ".build/apple"
toolchain = pathlib.Path(shutil.which("swift-frontend")).resolve().parent.parent
# Where the platform of a condition in Package.swift has another name here.
PLATFORMS = {"macos": "arm64-apple-macosx15.0", "ios": "arm64-apple-ios18.0"}
# What makes code differ between these platforms: conditions, versions, the C library. All else of the SDK is the same on both.
DIFFERS = re.compile(r"\bos\(|canImport\((?!Foundation)|targetEnvironment|[@#]available|import (Darwin|UIKit|SwiftUI|Security|ImageIO|CoreGraphics)\b")


def digest(*parts):
    return hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()


def contents(paths):
    return digest(*(part for path in paths for part in (path, path.read_bytes())))


def errors_of(output):
    """The lines that report errors; those that show the source may quote one."""
    return [line for line in output.splitlines() if re.match(r"(\S+: )?error: ", line)]


class Package:
    """The targets of Package.swift on Apple platforms."""

    def __init__(self):
        described = subprocess.run(["swift", "package", "--scratch-path", build / "package", "dump-package"], cwd=root, env={**os.environ, "LADE_CURL": "0"},
                                   check=True, capture_output=True, text=True).stdout
        self.targets = {target["name"]: target for target in json.loads(described)["targets"]}

    def of_our_own(self):
        return {name for name, target in self.targets.items() if target["type"] != "system"}

    def folder(self, name):
        target = self.targets[name]
        return root / (target.get("path") or ("Tests" if target["type"] == "test" else "Sources") + f"/{name}")

    def dependencies(self, name, platform):
        for dependency in self.targets[name]["dependencies"]:
            (other, *_, condition), = dependency.values()
            platforms = (condition or {}).get("platformNames", []) if isinstance(condition, dict) else []
            if other in self.targets and (not platforms or platform in platforms):
                yield other

    def sources(self, name, suffix=".swift"):
        folder = self.folder(name)
        excluded = [folder / path for path in self.targets[name].get("exclude", [])]
        return sorted(path for path in folder.rglob(f"*{suffix}")
                      if ".docc" not in str(path) and not any(path.is_relative_to(one) for one in excluded))

    def settings(self, name):
        for setting in self.targets[name]["settings"]:
            (kind, value), = setting["kind"].items()
            if kind == "enableUpcomingFeature":
                yield from ("-enable-upcoming-feature", value["_0"])
            elif kind == "defaultIsolation":
                yield from ("-default-isolation", value["_0"])
            elif setting["tool"] == "swift":
                sys.exit(f"error: {name} has the setting {kind}, which check.py does not know")

    def is_on(self, name, platform):
        """Programs, and the tests of programs, are for macOS."""
        return platform == "macos" or self.targets[name]["type"] != "executable" and all(
            self.is_on(other, platform) for other in self.dependencies(name, platform))


class Checker:
    """Checks targets for one platform."""

    def __init__(self, package, platform, wheel):
        self.package, self.platform = package, platform
        self.folder = build / platform
        self.keys = {}
        self.sdk = SDK(self.folder / "sdk", PLATFORMS[platform], toolchain, wheel)
        self.compiler = [
            toolchain / "bin/swift-frontend", "-target", self.sdk.triple, "-sdk", self.sdk.folder,
            "-resource-dir", toolchain / "lib/swift", "-module-cache-path", self.folder / "cache",
            "-plugin-path", toolchain / "lib/swift/host/plugins", "-disable-objc-interop", "-diagnostic-style", "llvm",
            "-package-name", "lade", "-swift-version", "6", "-I", self.folder / "modules",
        ]

    def make_sdk(self):
        """Makes the SDK, and builds its modules by importing each."""
        made_of = [here / "sdk.py", here / "foundation.py", *here.glob("Headers/*"), *here.glob("Modules/*")]
        self.key = digest(contents(sorted(made_of)), self.sdk.wheel, toolchain, *self.compiler,
                          (toolchain / "bin/swift-frontend").stat().st_mtime)
        mark = self.folder / "sdk.key"
        if mark.exists() and mark.read_text() == self.key:
            return []
        self.sdk.make()
        (self.folder / "modules").mkdir(exist_ok=True)
        probe = self.folder / "probe.swift"
        probe.write_text("".join(f"import {module.stem}\n" for module in sorted((self.sdk.folder / "usr/lib/swift").iterdir())))
        problems = self.run(["-typecheck", "-module-name", "Probe", probe])
        if not problems:
            mark.write_text(self.key)
        return problems

    def run(self, arguments):
        """Runs the compiler. Returns the lines with errors."""
        ended = subprocess.run([*self.compiler, *arguments], cwd=root, capture_output=True, text=True)
        output = ended.stdout + ended.stderr
        errors = errors_of(output)
        if ended.returncode and not errors:
            errors = [f"error: the compiler failed with {ended.returncode}", *output.splitlines()[-20:]]
        return errors

    def key_of(self, name):
        """A digest of all that the checks of a target read."""
        if name not in self.keys:
            package = self.package
            read = contents(package.sources(name) + package.sources(name, ".[ch]"))
            needs = [self.key_of(other) for other in package.dependencies(name, self.platform)]
            self.keys[name] = digest(self.key, read, json.dumps(package.targets[name], sort_keys=True), *needs)
        return self.keys[name]

    def once(self, step, name):
        """Makes a target's module or checks its code, unless that has passed with the same key. Returns the problems."""
        mark = self.folder / f"passed/{step}-{name}"
        mark.parent.mkdir(exist_ok=True)
        if mark.exists() and mark.read_text() == self.key_of(name):
            return []
        mark.unlink(missing_ok=True)
        problems = {"module": self.make_module, "code": self.check_code}[step](name)
        if not problems:
            mark.write_text(self.key_of(name))
        return problems

    def arguments(self, name, sources):
        yield from ["-module-name", name, *self.package.settings(name), "-enable-testing"]
        if not any(path.name == "main.swift" for path in sources):
            yield "-parse-as-library"

    def make_module(self, name):
        """What other targets need of one: its declarations. Bodies of functions are checked apart from this."""
        sources = self.package.sources(name)
        if not sources:
            return self.check_c(name)
        if self.package.targets[name]["type"] == "test":
            return []
        return self.run([*self.arguments(name, sources), "-emit-module", "-emit-module-path", self.folder / f"modules/{name}.swiftmodule",
                         "-experimental-skip-non-inlinable-function-bodies", *sources])

    def check_code(self, name):
        """Checks all code of a target; of tests on a further platform, the files that can differ there."""
        sources = self.package.sources(name)
        checked = sources
        if self.package.targets[name]["type"] == "test" and self.platform != next(iter(PLATFORMS)):
            checked = [path for path in sources if DIFFERS.search(path.read_text())]
        if not checked:
            return []
        primary = sources if checked == sources else [
            word for path in sources for word in (["-primary-file", path] if path in checked else [path])]
        return self.run([*self.arguments(name, sources), "-typecheck", *primary])

    def check_c(self, name):
        """Compiles the sources of a target in C, and lets Swift import its headers."""
        if self.package.targets[name]["type"] == "system":
            shutil.copytree(self.package.folder(name), self.folder / "modules" / name, dirs_exist_ok=True)
            return []
        include = self.package.folder(name) / "include"
        if not (include / "module.modulemap").exists():
            module = self.folder / f"modules/{name}/module.modulemap"
            module.parent.mkdir(exist_ok=True)
            headers = "".join(f'    header "{path}"\n' for path in sorted(include.glob("*.h")))
            module.write_text(f"module {name} {{\n{headers}    export *\n}}\n")
        problems = []
        for source in self.package.sources(name, ".c"):
            ended = subprocess.run([toolchain / "bin/clang", "-target", self.sdk.triple, "-isysroot", self.sdk.folder,
                                    "-fsyntax-only", "-I", include, source], cwd=root, capture_output=True, text=True)
            problems += errors_of(ended.stderr)
        return problems

    def check_refused(self):
        """The negative control: each file in Refused must have an error in every line that names one, and no other error."""
        problems = []
        for path in sorted((here / "Refused/Modules").glob("*.swift")):
            problems += self.run(["-module-name", path.stem, "-emit-module", "-emit-module-path",
                                  self.folder / f"modules/{path.stem}.swiftmodule", path])
        for path in sorted((here / "Refused").glob("*.swift")):
            lines = path.read_text().splitlines()
            expected = {number: line.split("// error: ")[1] for number, line in enumerate(lines, 1) if "// error: " in line}
            found = {}
            for error in self.run(["-typecheck", "-module-name", "Refused", "-parse-as-library", path]):
                match = re.search(rf"{path.name}:(\d+):\d+: error: (.*)", error)
                number, text = (int(match[1]), match[2]) if match else (0, error)
                found.setdefault(number, []).append(text)
            for number in sorted(expected.keys() | found.keys()):
                if not any(expected.get(number, "\0") in text for text in found.get(number, [])):
                    problems.append(f"{path.name}:{number}: expected {expected.get(number)}, found {found.get(number)}")
        return problems


def check_all(checkers, wanted, workers):
    """Makes the modules in the order of their dependencies, and checks the code. Returns the number of targets that failed."""
    # The largest first, so that no long one is left at the end.
    size = {name: sum(path.stat().st_size for path in checkers[0].package.sources(name)) for name in checkers[0].package.targets}
    waiting, seen = [], set()

    def add(checker, name, steps):
        for other in checker.package.dependencies(name, checker.platform):
            add(checker, other, ["module"])
        for step in steps:
            if (checker, step, name) not in seen:
                seen.add((checker, step, name))
                waiting.append((checker, step, name))

    for checker in checkers:
        for name in sorted(wanted, key=size.get, reverse=True):
            if checker.package.is_on(name, checker.platform):
                add(checker, name, ["module", "code"])
    waiting.sort(key=lambda one: (one[1] != "module", -size[one[2]]))
    made, running, failed = set(), {}, set()
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        while waiting or running:
            for one in list(waiting):
                checker, step, name = one
                if len(running) < workers and all((checker, other) in made for other in checker.package.dependencies(name, checker.platform)):
                    waiting.remove(one)
                    running[pool.submit(checker.once, step, name)] = one
            if not running:
                break
            done, _ = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
            for future in done:
                checker, step, name = running.pop(future)
                problems = future.result()
                if step == "module" and not problems:
                    made.add((checker, name))
                if problems and (checker, name) not in failed:
                    failed.add((checker, name))
                    print(f"error: {name} for {checker.platform}:", *problems[:40], sep="\n    ", flush=True)
    # What needs a module that could not be made.
    failed.update((checker, name) for checker, step, name in waiting)
    return len(failed)


def main():
    package = Package()
    platforms = os.environ.get("PLATFORMS", " ".join(PLATFORMS)).split()
    checkers = [Checker(package, platform, sys.argv[1]) for platform in platforms]
    workers = os.cpu_count() or 2
    start = time.time()
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        problems = [line for lines in pool.map(Checker.make_sdk, checkers) for line in lines]
    if problems:
        sys.exit("\n".join(["error: the SDK does not compile:", *problems[:40]]))
    print(f"== SDK of {' and '.join(platforms)}: {time.time() - start:.0f} s", flush=True)
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        problems = [line for lines in pool.map(Checker.check_refused, checkers) for line in lines]
    if problems:
        sys.exit("\n".join(["error: the check does not find what it must find:", *problems]))
    wanted = set(os.environ.get("TARGETS", "").split()) or package.of_our_own()
    failed = check_all(checkers, wanted, workers)
    if failed:
        sys.exit(f"error: {failed} checks of targets for Apple platforms have failed")
    print(f"== {len(wanted)} targets compile for Apple platforms: {time.time() - start:.0f} s", flush=True)


main()
