"""A cluster whose clock, snapshots, forks and faults a test controls."""

from __future__ import annotations

import dataclasses
import datetime
import json
import os
import pathlib
import tempfile
import time as real_time
import urllib.parse
from typing import Any, Callable, Optional, TypeVar

from . import durations, objects
from .connection import Connection
from .durations import Duration
from .errors import ApiError, NotSettled

T = TypeVar("T")

START = "start"
"""The snapshot that each server has: the cluster as it started."""


@dataclasses.dataclass(frozen=True)
class Settled:
    revision: int
    now: datetime.datetime


@dataclasses.dataclass(frozen=True)
class Snapshot:
    name: str
    revision: int


@dataclasses.dataclass(frozen=True)
class Claim:
    """One check: what was expected, and what was found."""

    name: str
    holds: bool
    expected: str
    found: str


@dataclasses.dataclass(frozen=True)
class Checked:
    """The answer to a check. It is true if all claims hold."""

    holds: bool
    claims: list[Claim]

    def __bool__(self) -> bool:
        return self.holds

    def __str__(self) -> str:
        failed = [claim for claim in self.claims if not claim.holds]
        return "; ".join(f"{claim.name}: expected {claim.expected}, found {claim.found}" for claim in failed) or "all hold"


class Cluster:
    """A cluster. `kubeconfig` is the path of a file for any client; its user is an administrator."""

    def __init__(self, connection: Connection, kubeconfig: pathlib.Path):
        self._connection = connection
        self._start = START
        self.kubeconfig = str(kubeconfig)
        self.clock = Clock(connection)

    @property
    def server(self) -> str:
        """The address of the API server: https://127.0.0.1:PORT."""
        return self._connection.server

    def info(self) -> dict:
        """`version`, `kubernetes` and `time` of the server."""
        return self._connection.json("GET", "")

    def prepare(self) -> None:
        """Makes the state in which each test starts: the nodes are Ready. Only stepped time starts with that."""
        if self.info()["time"] != "stepped":
            self.settle()
            self._start = self.snapshot("ready").name

    def settle(self, quiet: Optional[Duration] = None, within: Optional[Duration] = None) -> Settled:
        """Waits until nothing moves; a stepped clock advances as far as needed. Raises NotSettled."""
        asked = {"quiet": quiet, "within": within}
        asked = {name: durations.to_text(value) for name, value in asked.items() if value is not None}
        answer = self._connection.json("POST", "/settle", asked)
        if not answer["settled"]:
            raise NotSettled(answer.get("lastChange"), answer.get("pending", []))
        return Settled(answer["revision"], durations.to_time(answer["now"]))

    def until(self, holds: Callable[[], T], within: Duration = 30) -> T:
        """Calls `holds` until it returns something true, which it returns. `within` is real time: this waits for programs
        in other processes, or in this one, while a stepped clock stands still. An ApiError, AssertionError or false value
        of the last call is in the TimeoutError."""
        end = real_time.monotonic() + durations.to_seconds(within)
        while True:
            try:
                found: Any = holds()
                if found:
                    return found
            except AssertionError as error:
                found = error
            if real_time.monotonic() > end:
                raise TimeoutError(f"not within {durations.to_text(within)} of real time; the last call gave {found!r}")
            real_time.sleep(0.02)

    def fault(self, do: dict, when: Optional[dict] = None, *, name: Optional[str] = None, **more: Any) -> "Fault":
        """Causes a fault, until it is removed; use it as a context manager. `do` and `when` are those of a fault in a
        scenario: `fault({"lose": "answer"}, {"by": "my-operator", "verb": "create"})`. More fields by name; `for_` is
        `for`, which is a word of Python."""
        asked = {name.rstrip("_"): value for name, value in {**more, "do": do, "when": when, "name": name}.items()}
        asked = {name: value for name, value in asked.items() if value is not None}
        answer = self._connection.json("POST", "/faults", asked)
        return Fault(self._connection, answer["faults"][0]["id"])

    def faults(self) -> list[dict]:
        """All faults, with `id`, `name`, `state`, `struck`, `nearMiss`."""
        return self._connection.json("GET", "/faults")["faults"]

    def snapshot(self, name: str) -> Snapshot:
        """Keeps the cluster as it is. A snapshot of the same name is replaced."""
        answer = self._connection.json("PUT", f"/snapshots/{_path(name)}")
        return Snapshot(answer["name"], answer["revision"])

    def snapshots(self) -> list[Snapshot]:
        found = self._connection.json("GET", "/snapshots")["snapshots"]
        return [Snapshot(snapshot["name"], snapshot["revision"]) for snapshot in found]

    def reset(self, snapshot: "Snapshot | str | None" = None) -> int:
        """Makes the cluster what a snapshot has; by default the one in which each test starts. Faults end, and watches,
        too. Returns the revision, which is higher than all before."""
        name = snapshot.name if isinstance(snapshot, Snapshot) else snapshot or self._start
        return self._connection.json("POST", "/reset", {"snapshot": name})["revision"]

    def start_over(self) -> None:
        """`reset`, and removes all forks, and the snapshots that tests have kept: what a fixture does for each test."""
        for fork in self._connection.json("GET", "/forks")["forks"]:
            self._connection.json("DELETE", f"/forks/{_path(fork['name'])}")
        for snapshot in self.snapshots():
            if snapshot.name not in (START, self._start):
                self._connection.json("DELETE", f"/snapshots/{_path(snapshot.name)}")
        self.reset()

    def fork(self, snapshot: "Snapshot | str | None" = None, revision: Optional[int] = None) -> "Fork":
        """A second cluster that begins as this one is, as a snapshot, or at a revision. It has its own clock, faults and
        kubeconfig. Use it as a context manager, or call `stop`."""
        name = snapshot.name if isinstance(snapshot, Snapshot) else snapshot
        asked = {"snapshot": name, "revision": revision}
        asked = {name: value for name, value in asked.items() if value is not None}
        answer = self._connection.json("POST", "/forks", asked)
        # In the folder of the server, which is removed when the server ends.
        number, path = tempfile.mkstemp(prefix="kubeconfig-", dir=pathlib.Path(self.kubeconfig).parent)
        with os.fdopen(number, "w") as file:
            file.write(answer["kubeconfig"])
        return Fork(self._connection, answer, pathlib.Path(path))

    def why(self, about: Any) -> str:
        """The chain of causes of an object, as text: `why("pod/default/web-1")`, or the object itself."""
        query = urllib.parse.urlencode({"about": objects.reference(about)})
        return self._connection.text("GET", f"/why?{query}")

    def check(self, *claims: Any, namespace: Optional[str] = None) -> Checked:
        """Decides claims about the cluster as it is. Each is a text in CEL, or a dictionary as below `eventually:` in a
        scenario; a single text in YAML or dictionary with a `kind` is a whole scenario."""
        if len(claims) == 1 and _is_scenario(claims[0]):
            body = claims[0]
        else:
            wanted = [{"name": claim, "cel": claim} if isinstance(claim, str) else claim for claim in claims]
            metadata = {"name": "check"}
            spec = {"eventually": wanted, "steps": []}
            if namespace:
                spec["namespace"] = namespace
            body = {"apiVersion": "coracle.dev/v1alpha1", "kind": "Scenario", "metadata": metadata, "spec": spec}
        answer = self._connection.json("POST", "/check", body)
        fields = [field.name for field in dataclasses.fields(Claim)]
        return Checked(answer["holds"], [Claim(*(claim.get(field) for field in fields)) for claim in answer["claims"]])

    def events(self) -> list[dict]:
        """The event log since the last reset."""
        return [json.loads(line) for line in self._connection.text("GET", "/events").splitlines()]

    def report(self, path: "str | os.PathLike[str]") -> pathlib.Path:
        """Writes the page of the run since the last reset, and returns its path."""
        page = pathlib.Path(path)
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_bytes(self._connection.bytes("GET", "/report"))
        return page


class Clock:
    """The clock of a cluster."""

    def __init__(self, connection: Connection):
        self._connection = connection

    @property
    def now(self) -> datetime.datetime:
        return durations.to_time(self._connection.json("GET", "/clock")["now"])

    @property
    def time(self) -> str:
        """`stepped`, `real` or `scaled=N`."""
        return self._connection.json("GET", "/clock")["time"]

    def advance(self, duration: Duration) -> datetime.datetime:
        """Advances a stepped clock: `"24h"`, a timedelta or seconds. All timers fire in their order. Returns the time."""
        answer = self._connection.json("POST", "/clock/advance", {"duration": durations.to_text(duration)})
        return durations.to_time(answer["now"])

    def until(self, obj: Any, within: Duration = "1h", absent: bool = False) -> datetime.timedelta:
        """Advances a stepped clock until the object has all that the partial object `obj` has, or with `absent` until
        there is no such object. Raises NotMet with what was found. Returns how far the clock has advanced."""
        until = {"object": objects.to_dict(obj), "absent": absent}
        asked = {"until": until, "within": durations.to_text(within)}
        return durations.from_text(self._connection.json("POST", "/clock/advance", asked)["advanced"])


class Fault:
    """A fault. It ends with the `with` block, with `remove`, or with a reset."""

    def __init__(self, connection: Connection, number: int):
        self._connection = connection
        self.id = number

    @property
    def status(self) -> dict:
        """`state`, `struck`, `revision` (of the first strike), `nearMiss`."""
        return self._connection.json("GET", f"/faults/{self.id}")["faults"][0]

    @property
    def struck(self) -> int:
        """How often the fault has struck."""
        return self.status["struck"]

    def remove(self) -> dict:
        """Ends the fault, and returns its last status."""
        return self._connection.json("DELETE", f"/faults/{self.id}")["faults"][0]

    def __enter__(self) -> "Fault":
        return self

    def __exit__(self, *_: Any) -> None:
        try:
            self.remove()
        except ApiError as error:
            # A reset within the block has ended it.
            if error.code != 404:
                raise


class Fork(Cluster):
    """A fork of a cluster: a cluster of its own until `stop`."""

    def __init__(self, parent: Connection, answer: dict, kubeconfig: pathlib.Path):
        super().__init__(Connection(answer["kubeconfig"]), kubeconfig)
        self.name: str = answer["name"]
        self.revision: int = answer["revision"]
        self._parent = parent

    def stop(self) -> None:
        """Stops the fork. A second call has no effect."""
        try:
            self._parent.json("DELETE", f"/forks/{_path(self.name)}")
        except ApiError as error:
            if error.code != 404:
                raise
        pathlib.Path(self.kubeconfig).unlink(missing_ok=True)

    def __enter__(self) -> "Fork":
        return self

    def __exit__(self, *_: Any) -> None:
        self.stop()


def _is_scenario(claim: Any) -> bool:
    return "kind" in claim if isinstance(claim, dict) else "\n" in claim and "kind:" in claim


def _path(name: str) -> str:
    return urllib.parse.quote(name, safe="")
