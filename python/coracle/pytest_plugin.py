"""The plug-in for pytest: the fixtures `coracle` and `coracle_server`, and the page of a failed test.

With pytest-xdist each worker is a process with servers of its own.
"""

from __future__ import annotations

import dataclasses
import pathlib
import re

import pytest

from .cluster import Cluster
from .errors import BinaryError, CoracleError, StartError
from .server import Options, Server

INI = {
    "coracle_nodes": "the number of simulated nodes (2)",
    "coracle_kubernetes": "the release of Kubernetes, such as 1.36 (the newest)",
    "coracle_time": "stepped, real or scaled=N (stepped)",
    "coracle_seed": "the seed of names and uids",
    "coracle_report_dir": "the folder for the pages of failed tests (coracle-reports)",
}
REPORTS = "coracle-reports"


def pytest_addoption(parser):
    for name, text in INI.items():
        parser.addini(name, text, default="")


def pytest_configure(config):
    marker = "coracle(nodes, kubernetes, time, seed, args): the cluster of this test, where it differs from the ini options"
    config.addinivalue_line("markers", marker)


def options_of(config) -> Options:
    """The options of the ini file."""
    asked = {name: config.getini(f"coracle_{name}") for name in ("nodes", "kubernetes", "time", "seed")}
    asked = {name: int(value) if name in ("nodes", "seed") else value for name, value in asked.items() if value}
    return Options(**asked)


class Servers:
    """The servers of a test session, by their options."""

    def __init__(self):
        self._servers: dict[Options, Server] = {}

    def get(self, options: Options) -> Server:
        found = self._servers.get(options)
        if found is None or not found.is_running:
            if found is not None:
                found.stop()
            try:
                found = self._servers[options] = Server(options)
            except (BinaryError, StartError) as error:
                # The sentence has what to do; a traceback of this package would hide it.
                pytest.fail(str(error), pytrace=False)
        return found

    def stop(self) -> None:
        for server in self._servers.values():
            server.stop()


@pytest.fixture(scope="session")
def _coracle_servers():
    servers = Servers()
    yield servers
    servers.stop()


@pytest.fixture(scope="session")
def coracle_server(_coracle_servers, pytestconfig) -> Server:
    """The server with the options of the ini file."""
    return _coracle_servers.get(options_of(pytestconfig))


@pytest.fixture
def coracle(request, _coracle_servers, pytestconfig, monkeypatch) -> Cluster:
    """A cluster in the state in which it started. KUBECONFIG names its kubeconfig during the test."""
    options = options_of(pytestconfig)
    # The nearest marker comes first, so it is applied last.
    for marker in reversed(list(request.node.iter_markers("coracle"))):
        asked = {**marker.kwargs, **({"args": tuple(marker.kwargs["args"])} if "args" in marker.kwargs else {})}
        try:
            options = dataclasses.replace(options, **asked)
        except TypeError:
            known = ", ".join(field.name for field in dataclasses.fields(Options))
            raise pytest.UsageError(f"the marker coracle({', '.join(asked)}) has an unknown name: use {known}") from None
    cluster = _coracle_servers.get(options).cluster
    cluster.start_over()
    monkeypatch.setenv("KUBECONFIG", cluster.kubeconfig)
    return cluster


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    # The failure of a fixture that uses the cluster is one of the phase `setup`.
    cluster = getattr(item, "funcargs", {}).get("coracle")
    if report.failed and report.when in ("setup", "call") and isinstance(cluster, Cluster):
        report.sections.append(("coracle", write_page(item, cluster)))


def write_page(item, cluster: Cluster) -> str:
    """Writes the page of a failed test, and returns what is shown about it."""
    folder = pathlib.Path(item.config.getini("coracle_report_dir") or REPORTS)
    name = re.sub(r"[^A-Za-z0-9.-]+", "_", item.nodeid)[-150:].strip("_")
    try:
        return f"the page of the run: {cluster.report(item.config.rootpath / folder / f'{name}.html')}"
    except (CoracleError, OSError) as error:
        return f"there is no page of the run: {error}"
