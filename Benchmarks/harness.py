"""What Benchmarks/run and Benchmarks/gate share: the build, the server, the peers and the scenarios."""

import contextlib
import gzip
import json
import os
import pathlib
import pwd
import random
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
BUILD = pathlib.Path(os.environ.get("BENCH_BUILD") or HERE / ".build")
SERVER_CORE, CLIENT_CORE = 0, 1
# A peer that hangs is a failure, not a reason to wait.
RUN_SECONDS = 180


class Scenario:
    def __init__(self, name, file, concurrency, requests, mode="collect", port="http", coding=None, explained=""):
        self.name, self.file, self.concurrency, self.requests = name, file, concurrency, requests
        self.mode, self.port, self.tls, self.explained = mode, port, port != "http", explained
        # The content coding in which the server sends the file; every peer decodes it.
        self.coding = coding


SCENARIOS = {scenario.name: scenario for scenario in [
    Scenario("small1", "small.json", 1, 10_000, explained="1 KB, one at a time"),
    Scenario("small16", "small.json", 16, 30_000, explained="1 KB, 16 at a time"),
    Scenario("small64", "small.json", 64, 30_000, explained="1 KB, 64 at a time"),
    Scenario("small256", "small.json", 256, 30_000, explained="1 KB, 256 at a time"),
    Scenario("medium64", "medium.json", 64, 8_000, explained="100 KB, 64 at a time"),
    Scenario("gzip64", "medium.json", 64, 3_000, coding="gzip", explained="100 KB, gzip, 64 at a time"),
    Scenario("br64", "medium.json", 64, 3_000, coding="br", explained="100 KB, Brotli, 64 at a time"),
    Scenario("stream", "large.bin", 1, 4, mode="count", explained="256 MiB, streamed, one at a time"),
    Scenario("h2small64", "small.json", 64, 30_000, port="h2", explained="1 KB, 64 at a time, HTTP/2 over TLS"),
    Scenario("h2medium64", "medium.json", 64, 8_000, port="h2", explained="100 KB, 64 at a time, HTTP/2 over TLS"),
    Scenario("streamtls", "large.bin", 1, 4, mode="count", port="tls", explained="256 MiB over TLS, streamed, one at a time"),
]}


class Peer:
    """A program called with URL REQUESTS CONCURRENCY collect|count that prints one line of JSON."""

    def __init__(self, name, command, scale=1.0, environment=None, skip=(), systems_authorities=False):
        self.name, self.command, self.scale = name, [str(word) for word in command], scale
        self.environment, self.skip = environment or {}, set(skip)
        # It trusts those of the system alone, so for TLS it runs inside with-authority.
        self.systems_authorities = systems_authorities

    def exists(self):
        return shutil.which(self.command[0]) is not None

    def words(self, server, requests, scenario):
        wrap = [HERE / "with-authority", server.files["ca"]] if scenario.tls and self.systems_authorities else []
        return [*map(str, wrap), *self.command, server.url(scenario), str(requests), str(scenario.concurrency),
                scenario.mode]

    def takes_part(self, server, scenario):
        if scenario.tls and self.systems_authorities:
            probe = subprocess.run(
                [HERE / "with-authority", server.files["ca"], "true"], capture_output=True, text=True)
            if probe.returncode:
                print(f"{self.name} is left out of {scenario.name}: {probe.stderr.strip()}", file=sys.stderr)
                return False
        if scenario.coding and not (server.coded / scenario.coding).exists():
            return False
        return scenario.name not in self.skip

    def requests(self, scenario):
        """Slow peers make fewer requests, so that a round does not take minutes."""
        if scenario.mode == "count":
            return scenario.requests
        return max(int(scenario.requests * self.scale), 4 * scenario.concurrency)


BASELINE = "c-libcurl"


def peers(extra=None):
    release = BUILD / "release"
    found = [
        Peer(BASELINE, [release / "CLimit"]),
        # A different URL cannot be handed over parsed; what libcurl's own parsing costs is the difference of the two.
        Peer("c-libcurl-parsed", [release / "CLimit"], environment={"CLIMIT_PARSED": "1"}),
        # Sends 42 bytes less than the others: what those cost libcurl is the difference.
        Peer("c-libcurl-bare", [release / "CLimit"], environment={"CLIMIT_BARE": "1"}),
        Peer("lade", [release / "LadePeer"]),
        Peer("lade-curl", [release / "LadePeer"], environment={"LADE_ENGINE": "curl"}),
        Peer("lade-policies", [release / "LadePeer"], environment={"LADE_PEER": "policies"}),
        Peer("lade-intercepted", [release / "LadePeer"], environment={"LADE_PEER": "intercepted"}),
        Peer("lade-fields", [release / "LadePeer"], environment={"LADE_PEER": "fields"}),
        Peer("lade-executor", [release / "LadePeer"], environment={"LADE_PEER": "executor"}),
        Peer("urlsession", [release / "URLSessionPeer"], scale=0.15, systems_authorities=True),
    ]
    for name, entry in (json.loads(pathlib.Path(extra).read_text()) if extra else {}).items():
        found = [peer for peer in found if peer.name != name]
        found.append(Peer(name, entry["command"], entry.get("scale", 1.0), entry.get("environment"), entry.get("skip", ())))
    return {peer.name: peer for peer in found if peer.exists()}


def build():
    flags = os.environ.get("SWIFTFLAGS", "").split()
    # As the `lade` command is linked: calls into a dynamic runtime are 4 % of the instructions.
    # valgrind 3.19 cannot read DWARF 5, which clang makes of C; the compiler of Swift makes DWARF 4.
    command = ["swift", "build", "-c", "release", "--static-swift-stdlib", "-Xcc", "-gdwarf-4", "--package-path", HERE,
               "--scratch-path", BUILD, *flags]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=sys.stderr)
    if done.returncode:
        sys.exit(done.returncode)


# MARK: The server


class Server:
    def __init__(self):
        self.files = json.loads(subprocess.run(
            [ROOT / "Scripts" / "peers", "files"], check=True, capture_output=True, text=True).stdout)
        self.ports, self.coded = {}, pathlib.Path()

    def url(self, scenario):
        port = self.ports[scenario.port]
        base = f"https://localhost:{port}" if scenario.tls else f"http://127.0.0.1:{port}"
        return f"{base}/{scenario.coding}/{scenario.file}" if scenario.coding else f"{base}/{scenario.file}"

    def body_bytes(self, scenario):
        return (pathlib.Path(self.files["www"]) / scenario.file).stat().st_size

    def environment(self, peer, scenario):
        decoding = {"CLIMIT_DECODE": "1"} if scenario.coding else {}
        return dict(os.environ, BENCH_CA=self.files["ca"], **decoding, **peer.environment)

    def make_coded(self, folder):
        """Coded copies of medium.json; that in Brotli was made by Scripts/peers, where its encoder was installed."""
        www, self.coded = pathlib.Path(self.files["www"]), folder
        (folder / "gzip").mkdir(parents=True)
        (folder / "gzip" / "medium.json").write_bytes(gzip.compress((www / "medium.json").read_bytes(), mtime=0))
        if (www / "br" / "medium.json").exists():
            shutil.copytree(www / "br", folder / "br")
        else:
            print("no Brotli encoder: Scripts/bootstrap test installs it; br64 is left out", file=sys.stderr)

    def configure(self, prefix):
        program = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")
        if not program:
            sys.exit("nginx is missing: Scripts/bootstrap bench installs it")
        self.ports = free_ports("http", "tls", "h2", "handshakes")
        values = dict(
            self.files, **self.ports, prefix=prefix, coded=self.coded,
            affinity=f"worker_cpu_affinity {1 << SERVER_CORE:b};" if pinned() else "",
            # Started by root, nginx would drop to a user account that may not read the checkout.
            user=f"user {pwd.getpwuid(0).pw_name};" if os.geteuid() == 0 else "",
        )
        text = (HERE / "nginx.conf").read_text()
        configuration = prefix / "nginx.conf"
        configuration.write_text(re.sub(r"{{(\w+)}}", lambda match: str(values[match[1]]), text))
        return [program, "-p", prefix, "-c", configuration]

    @contextlib.contextmanager
    def running(self):
        with tempfile.TemporaryDirectory(prefix="lade-bench-") as folder:
            prefix = pathlib.Path(folder)
            self.make_coded(prefix / "coded")
            log = (prefix / "log").open("w+")
            process = subprocess.Popen(
                self.configure(prefix), stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
            try:
                deadline = time.monotonic() + 20
                while not all(map(accepts, self.ports.values())):
                    if process.poll() is not None or time.monotonic() > deadline:
                        sys.exit("nginx did not start:\n" + (prefix / "log").read_text())
                    time.sleep(0.01)
                yield self
            finally:
                process.terminate()
                process.wait(timeout=20)


def free_ports(*names):
    """Below the range of outgoing connections, so that no client's socket sits on one; see Scripts/peers."""
    ports = {}
    while len(ports) < len(names):
        port = random.randrange(20000, 32000)
        with socket.socket() as probe:
            if port not in ports.values() and not accepts(port):
                with contextlib.suppress(OSError):
                    probe.bind(("127.0.0.1", port))
                    ports[names[len(ports)]] = port
    return ports


def accepts(port):
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


# MARK: Running a peer


def pinned():
    return hasattr(os, "sched_getaffinity") and {SERVER_CORE, CLIENT_CORE} <= os.sched_getaffinity(0) \
        and shutil.which("taskset") is not None


def pin():
    return ["taskset", "-c", str(CLIENT_CORE)] if pinned() else []


def run_peer(server, peer, scenario, unpinned=False):
    """One run; a dictionary of its results, or with the key "failure"."""
    requests = peer.requests(scenario)
    command = ([] if unpinned else pin()) + peer.words(server, requests, scenario)
    try:
        done = subprocess.run(
            command, env=server.environment(peer, scenario), stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=RUN_SECONDS)
        lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
        if not lines:
            return {"failure": f"exit code {done.returncode}: {(done.stderr or done.stdout).strip()[-300:]}"}
        result = json.loads(lines[-1])
    except subprocess.TimeoutExpired:
        return {"failure": f"not done in {RUN_SECONDS} s"}
    result["concurrency"] = scenario.concurrency
    if result["bytes"] != result["requests"] * server.body_bytes(scenario):
        # A peer that loses bytes has failed, whatever its statuses.
        result["errors"] += 1
    if result["errors"]:
        result["stderr"] = done.stderr.strip()[-300:]
    return result
