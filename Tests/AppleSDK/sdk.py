"""Makes an SDK of an Apple platform on Linux, in which the compiler finds what it would find in Apple's.

README.md says from what each module is made.
"""
import importlib.util, pathlib, re, subprocess, zipfile

here = pathlib.Path(__file__).resolve().parent
# The toolchain's modules whose interfaces are the same on all platforms, with the availability of each declaration.
SHARED = ["Swift", "_Builtin_float", "SwiftOnoneSupport", "_Concurrency", "_RegexParser", "_StringProcessing", "Synchronization",
          "Observation", "Testing"]
# The headers of libraries that the systems have too, as they are on this machine.
OF_THIS_MACHINE = ["sqlite3.h"]
FLAGS = ("-disable-objc-interop -enable-library-evolution -swift-version 5"
         " -enable-experimental-feature LifetimeDependence -enable-experimental-feature NonescapableTypes")


def write(path, content):
    """Writes a file that differs: the compiler builds a module again when a file of it is newer."""
    if not path.exists() or path.read_bytes() != content:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


class SDK:
    """The SDK of one platform: `triple` is the target that is compiled for."""

    def __init__(self, folder, triple, toolchain, wheel):
        self.folder, self.triple, self.toolchain, self.wheel = folder, triple, toolchain, wheel
        self.system = "macos" if "macos" in triple else "ios"

    def make(self):
        include = self.folder / "usr/include"
        prefix = "ziglang/lib/libc/include/any-darwin-any/"
        with zipfile.ZipFile(self.wheel) as wheel:
            for name in wheel.namelist():
                if name.startswith(prefix) and not name.endswith("/"):
                    write(include / name[len(prefix):], wheel.read(name))
        for header in (here / "Headers").iterdir():
            write(include / header.name, header.read_bytes())
        for name in OF_THIS_MACHINE:
            write(include / name, pathlib.Path("/usr/include", name).read_bytes())
        for name in SHARED:
            text = self.shared(self.interface(name))
            self.add(name, self.testing(text) if name == "Testing" else text)
        for source in sorted((here / "Modules").iterdir()):
            if source.stem == "UIKit" and self.system == "macos":
                continue
            text = source.read_text()
            if source.stem == "Foundation":
                text = self.foundation(text)
            self.add(source.stem, self.head(source.stem) + text)

    def interface(self, name):
        """The interface of a module of the toolchain, for Linux."""
        folder = self.toolchain / f"lib/swift/linux/{name}.swiftmodule"
        return next(path for path in sorted(folder.glob("*.swiftinterface")) if ".private." not in path.name).read_text()

    def shared(self, text):
        """The same, for this platform."""
        # Without optimisation, which takes twice the time. Inlined code may need the platform's version that is compiled for.
        text = re.sub(r" -O\b| -library-level api| -target-min-inlining-version min", "", text)
        text = re.sub(r"-target \S+", f"-target {self.triple}", text, count=1)
        text = re.sub(r"^((?:public )?import) Glibc$", r"\1 Darwin", text, flags=re.M)
        # Back-deployed functions need bodies, which these have in Apple's interfaces only.
        text = re.sub(r"@backDeployed\([^)]*\)", "", text)
        # C functions that only the headers for Linux have.
        return re.sub(r"\b_swift_stdlib_gettid\(\)", "UInt32(0)", re.sub(r"self = _stdlib_\w+l\(.*\)", "fatalError()", text))

    def testing(self, text):
        """Testing, whose macros expand to little: their arguments are checked, and what they expand to is the same on Linux."""
        condition = r"(macro expect\(_ condition: Swift\.Bool,.*\)) = (#externalMacro\(.*?)\"ExpectMacro\"\)"
        text, replaced = re.subn(condition, r'\1 -> Testing.SourceLocation = \2"SourceLocationMacro")', text)
        text, declared = re.subn(r'"(Suite|Test)DeclarationMacro"', '"PragmaMacro"', text)
        if not replaced or not declared:
            raise SystemExit("error: the toolchain's Testing declares other macros than sdk.py expects")
        return text

    def head(self, name):
        version = self.interface("Swift").splitlines()[1]
        return (f"// swift-interface-format-version: 1.0\n{version}\n"
                f"// swift-module-flags: -target {self.triple} {FLAGS} -module-name {name}\n")

    def add(self, name, text):
        write(self.folder / f"usr/lib/swift/{name}.swiftmodule/arm64-apple-{self.system}.swiftinterface", text.encode())

    def foundation(self, additions):
        """Foundation's interface: what the toolchain prints of its own, and `additions` in place of what they declare."""
        import foundation
        texts = [
            subprocess.run([self.toolchain / "bin/swift-synthesize-interface", "-module-name", name,
                            "-target", "x86_64-unknown-linux-gnu", "-I", self.toolchain / "lib/swift/linux"],
                           check=True, capture_output=True, text=True).stdout
            for name in ("Foundation", "FoundationEssentials", "FoundationNetworking")
        ]
        return foundation.interface(texts, additions)
