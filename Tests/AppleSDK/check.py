#!/usr/bin/env python3
"""Type-checks the targets of the package for macOS and iOS on Linux: check.py WHEEL, called by Scripts/apple.

The targets, what they depend on and their settings are those of Package.swift as it is on Apple platforms. Every check is one
run of the compiler. Its key is a digest of all that it reads; a check that has passed with the same key is not run again.
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
        self.targets = {target["name"]: target for target in json.loads(described)["targets"] if target["type"] != "system"}

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

    def is_on(self, name, platform):
        """Programs, and the tests of programs, are for macOS."""
        return platform == "macos" or self.targets[name]["type"] != "executable" and all(
            self.is_on(other, platform) for other in self.dependencies(name, platform))


class Checker:
    """Checks targets for one platform."""

    def __init__(self, package, platform, wheel):
        self.package, self.platform = package, platform
        self.folder = build / platform
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

    def check(self, name, keys):
        """Checks one target; the keys are those of its dependencies. Returns its own key and its problems."""
        package, target = self.package, self.package.targets[name]
        sources = package.sources(name)
        c_sources = package.sources(name, ".[ch]")
        key = digest(self.key, contents(sources + c_sources), json.dumps(target, sort_keys=True), *keys)
        mark = self.folder / f"checked/{name}"
        mark.parent.mkdir(exist_ok=True)
        if mark.exists() and mark.read_text() == key:
            return key, []
        problems = self.check_c(name) if not sources else self.check_swift(name, sources)
        if problems:
            mark.unlink(missing_ok=True)
        else:
            mark.write_text(key)
        return key, problems

    def check_swift(self, name, sources):
        kind = self.package.targets[name]["type"]
        arguments = ["-module-name", name, *self.package.settings(name), "-enable-testing"]
        if not any(path.name == "main.swift" for path in sources):
            arguments.append("-parse-as-library")
        if kind == "test":
            arguments.append("-typecheck")
        else:
            arguments += ["-emit-module", "-emit-module-path", self.folder / f"modules/{name}.swiftmodule"]
        return self.run(arguments + sources)

    def check_c(self, name):
        """Compiles the sources of a target in C, and lets Swift import its headers."""
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
    """Checks the targets of all platforms in the order of their dependencies. Returns the number of targets that failed."""
    waiting = {(checker, name) for checker in checkers for name in wanted if checker.package.is_on(name, checker.platform)}
    keys, running, failed = {}, {}, 0
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        while waiting or running:
            for checker, name in sorted(waiting, key=lambda pair: pair[1]):
                needs = [(checker, other) for other in checker.package.dependencies(name, checker.platform)]
                if all(need in keys for need in needs):
                    waiting.remove((checker, name))
                    running[pool.submit(checker.check, name, [keys[need] for need in needs])] = (checker, name)
            if not running:
                break
            done, _ = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
            for future in done:
                checker, name = running.pop(future)
                key, problems = future.result()
                keys[checker, name] = key
                if problems:
                    failed += 1
                    print(f"error: {name} for {checker.platform}:", *problems[:40], sep="\n    ", flush=True)
    return failed


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
    wanted = set(os.environ.get("TARGETS", "").split()) or set(package.targets)
    failed = check_all(checkers, wanted, workers)
    if failed:
        sys.exit(f"error: {failed} targets do not compile for Apple platforms")
    print(f"== {len(wanted)} targets compile for Apple platforms: {time.time() - start:.0f} s", flush=True)


main()
