"""The envtest suites of two published operators: `session.py CORACLE SETUP_ENVTEST FOLDER`.

Each suite runs unchanged with what the published setup-envtest installs from Coracle's index, and a second time with a patch
for the Go module coracletest. The sources are Go modules of pinned versions, with the checksums of go.sum.

If REAL_ENVTEST names a folder with etcd and kube-apiserver, both runs are compared with these programs: the medians of three
alternating rounds. FOLDER is empty, and keeps what setup-envtest installs.
"""

import contextlib
import ctypes
import functools
import http.server
import json
import os
import re
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

RELEASE = "1.36"
HERE = Path(__file__).resolve().parent
MODULES = [HERE.parents[2] / "go" / "coracletest", HERE.parents[2] / "go" / "coracletest" / "envtest"]
PR_SET_CHILD_SUBREAPER = 36


class Operator:
    """A published operator: the module, the packages of its suites, and the file that sets the interval of its polls."""

    def __init__(self, name, module, packages, interval, prepare=lambda folder: None):
        self.name, self.module, self.packages, self.interval, self.prepare = name, module, packages, interval, prepare


def kueue_definitions(folder):
    """What `make compile-crd-manifests` of Kueue does."""
    made = folder / "config/components/crd/_output"
    made.mkdir()
    with open(made / "crds-with-webhooks.yaml", "w") as out:
        subprocess.run(["kubectl", "kustomize", made.parent], stdout=out, check=True)


OPERATORS = [
    Operator(
        "trust-manager", "github.com/cert-manager/trust-manager",
        ["test/integration/bundle", "test/integration/clusterbundle"], "test/env/data.go",
    ),
    Operator(
        "kueue", "sigs.k8s.io/kueue", ["test/integration/singlecluster/webhook/core"], "test/util/constants.go",
        kueue_definitions,
    ),
]


def run(*command, **options):
    return subprocess.run(command, check=True, **options)


@contextlib.contextmanager
def served(folder):
    """The address at which the folder is served on the loopback interface."""
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=folder)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def installed(coracle, setup_envtest, folder):
    """The folder that setup-envtest installs from Coracle's index."""
    index = folder / "index"
    index.mkdir()
    program = folder / "coracle"
    # Symbols would only make the archive larger.
    if not shutil.which("strip") or subprocess.run(["strip", "-o", program, coracle]).returncode:
        shutil.copy(coracle, program)
    with served(index) as url:
        run(coracle, "dist", "envtest", "--out", index, "--url", url, "--kubernetes", RELEASE, "--program", program)
        use = [setup_envtest, "use", "--index", f"{url}/envtest-releases.yaml", "--bin-dir", folder / "installed", RELEASE]
        return run(*use, "-p", "path", stdout=subprocess.PIPE, text=True).stdout


def copied(operator, folder):
    """A copy of the operator's module, which is read-only in the cache of modules."""
    printed = run("go", "mod", "download", "-json", operator.module, cwd=HERE, stdout=subprocess.PIPE).stdout
    shutil.copytree(json.loads(printed)["Dir"], folder)
    for path in [folder, *folder.rglob("*")]:
        path.chmod(path.stat().st_mode | 0o200)
    operator.prepare(folder)
    return folder


def built(operator, source, label):
    """The test program of each package."""
    programs = []
    for package in operator.packages:
        program = source / f"{label}-{Path(package).name}.test"
        run("go", "test", "-c", "-ldflags=-s -w", "-o", program, f"./{package}", cwd=source)
        programs.append((source / package, program))
    return programs


def patched(operator, source, *limits):
    # git would ignore a patch for files outside of the repository that it finds around the folder.
    outside = dict(os.environ, GIT_CEILING_DIRECTORIES=str(source.parent))
    run("git", "apply", *limits, HERE / f"{operator.name}.patch", cwd=source, env=outside)


def leftovers():
    """The processes that a suite started and left behind: trust-manager's suites never stop their Environment."""
    children = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if stat.read_text().rsplit(")", 1)[1].split()[1] == str(os.getpid()):
                children.append(int(stat.parent.name))
    return children


def measured(programs, variables):
    """The seconds on the clock and of CPU that the programs and all processes of theirs take. All specs must pass."""
    unset = ("USE_EXISTING_CLUSTER", "KUBECONFIG", "CORACLE_KUBERNETES", "CORACLE_STATE_DIR", "PROJECT_DIR")
    environment = {name: value for name, value in os.environ.items() if name not in unset} | variables
    before, start, passed = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic(), 0
    for folder, program in programs:
        log = program.with_suffix(".log")
        with open(log, "w") as out:
            code = subprocess.run([program], cwd=folder, env=environment, stdout=out, stderr=subprocess.STDOUT).returncode
        printed = re.sub(r"\x1b\[[0-9;]*m", "", log.read_text(errors="replace"))
        ran = re.search(r"Ran (\d+) of (\d+) Specs", printed)
        if code or not ran or ran[1] != ran[2] or ran[1] == "0":
            sys.exit(f"{printed[-6000:]}\nFAILED: {program.name}: exit code {code}")
        passed += int(ran[1])
    wall = time.monotonic() - start
    for child in leftovers():
        os.kill(child, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        while True:
            os.wait()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, passed


def main(coracle, setup_envtest, folder):
    folder = Path(folder).resolve()
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    assets = {"KUBEBUILDER_ASSETS": installed(coracle, setup_envtest, folder)}
    real = {"KUBEBUILDER_ASSETS": os.environ["REAL_ENVTEST"]} if os.environ.get("REAL_ENVTEST") else None
    for operator in OPERATORS:
        source = copied(operator, folder / operator.name)
        unchanged = built(operator, source, "unchanged")
        runs = {"unchanged, Coracle's index": (unchanged, assets)}
        if real:
            runs = {"unchanged, real envtest": (unchanged, real)} | runs
            patched(operator, source, f"--include={operator.interval}")
            runs["real envtest, shorter polls"] = (built(operator, source, "polls"), real)
            patched(operator, source, "--reverse", f"--include={operator.interval}")
        run("go", "work", "init", ".", *MODULES, cwd=source)
        patched(operator, source, f"--exclude={operator.interval}")
        if real:
            runs["coracletest"] = (built(operator, source, "coracletest"), {"CORACLE_BIN": coracle})
        patched(operator, source, f"--include={operator.interval}")
        runs["coracletest, shorter polls"] = (built(operator, source, "coracletest-polls"), {"CORACLE_BIN": coracle})
        rounds = {name: [] for name in runs}
        for _ in range(3 if real else 1):
            for name, (programs, variables) in runs.items():
                rounds[name].append(measured(programs, variables))
        for name, results in rounds.items():
            wall, cpu = (statistics.median(result[i] for result in results) for i in (0, 1))
            print(f"{operator.name}: {name}: {results[0][2]} specs passed, {wall:.2f} s, {cpu:.2f} s of CPU", flush=True)
        shutil.rmtree(source)


if __name__ == "__main__":
    main(*sys.argv[1:])
