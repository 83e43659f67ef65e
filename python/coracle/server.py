"""The server process: `coracle up` with a state folder of its own, which ends with this process."""

from __future__ import annotations

import atexit
import dataclasses
import os
import pathlib
import shutil
import subprocess
import tempfile
import time
from typing import Optional

from . import binary
from .cluster import Cluster
from .connection import Connection
from .errors import StartError

SUPERVISE = pathlib.Path(__file__).parent / "supervise.sh"
STARTS_WITHIN = 60.0
STOPS_WITHIN = 15.0


@dataclasses.dataclass(frozen=True)
class Options:
    """What a server starts with."""

    nodes: Optional[int] = None
    """The number of simulated nodes; 2 by default."""
    kubernetes: Optional[str] = None
    """The release of Kubernetes, such as `1.36`; the newest by default."""
    time: str = "stepped"
    """`stepped`: the clock stands still until it is advanced. `real`, or `scaled=N`: N times as fast."""
    seed: Optional[int] = None
    """The seed of names and uids; from the operating system by default."""
    events: bool = True
    """Keeps the event log, which `why` and `report` need."""
    port: int = 0
    """The HTTPS port; 0 for a free one."""
    args: tuple = ()
    """More arguments of `coracle up`."""

    def arguments(self, folder: pathlib.Path) -> list[str]:
        arguments = ["up", "--ephemeral", "--state-dir", str(folder / "state"), "--time", self.time]
        arguments += ["--secure-port", str(self.port)]
        for name, value in (("nodes", self.nodes), ("kubernetes", self.kubernetes), ("seed", self.seed)):
            if value is not None:
                arguments += [f"--{name}", str(value)]
        if self.events:
            arguments += ["--events", str(folder / "events.jsonl")]
        return [*arguments, *self.args]


class Server:
    """A running server. `cluster` controls it. Use it as a context manager, or call `stop`."""

    def __init__(self, options: Options = Options()):
        program = binary.find()
        self.options = options
        self._folder = pathlib.Path(tempfile.mkdtemp(prefix="coracle-"))
        self._log = open(self._folder / "log", "w+b")
        self._last_log = ""
        command = ["/bin/sh", str(SUPERVISE), str(self._folder), program, *options.arguments(self._folder)]
        # A session of its own, so that Ctrl-C ends the tests first, which then stop the server.
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=self._log, stderr=self._log, start_new_session=True
        )
        atexit.register(self.stop)
        try:
            kubeconfig = self._wait_for_kubeconfig()
            self.cluster = Cluster(Connection(kubeconfig.read_text(), self.why_ended), kubeconfig)
            self.cluster.prepare()
        except BaseException:
            self.stop()
            raise

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def log(self) -> str:
        """What the server has written on its standard output and standard error."""
        if not self._log.closed:
            self._log.seek(0)
            self._last_log = self._log.read().decode(errors="replace")
        return self._last_log

    def why_ended(self) -> str:
        """The last message of a server that has ended, or an empty text."""
        if self.is_running:
            return ""
        if self._log.closed:
            return "it was stopped"
        lines = [line for line in self.log().splitlines() if line.startswith(("coracle: ", "error: "))]
        message = lines[-1].partition(": ")[2] if lines else f"exit code {self._process.returncode}"
        if "Address already in use" in message:
            return f"port {self.options.port} is in use: choose another port, or 0 for a free one"
        return message

    def stop(self) -> None:
        """Stops the server and removes its folder. A second call has no effect."""
        atexit.unregister(self.stop)
        if self._process.stdin and not self._process.stdin.closed:
            self._process.stdin.close()
        try:
            self._process.wait(STOPS_WITHIN)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, 9)
            self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)
        self.log()
        self._log.close()

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_) -> None:
        self.stop()

    def _wait_for_kubeconfig(self) -> pathlib.Path:
        kubeconfig = self._folder / "state" / "kubeconfig"
        until = time.monotonic() + STARTS_WITHIN
        while not kubeconfig.exists():
            if not self.is_running:
                raise StartError(f"the server did not start: {self.why_ended()}")
            if time.monotonic() > until:
                raise StartError(f"the server was not ready within {STARTS_WITHIN:.0f} seconds: {self.log().strip()}")
            time.sleep(0.01)
        return kubeconfig
