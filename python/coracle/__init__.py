"""Coracle, the Kubernetes control plane in one program, for tests in Python.

    pytest --(fixture coracle)--> Cluster --HTTPS, /coracle/v1--> coracle up
                                  Server --starts, ends with the tests--^

Start at `Cluster`, or at `Server` without pytest:

    with coracle.Server(coracle.Options(nodes=1)) as server:
        server.cluster.clock.advance("24h")
"""

from .cluster import Checked, Claim, Clock, Cluster, Fault, Fork, Settled, Snapshot
from .errors import ApiError, BinaryError, CoracleError, NotMet, NotSettled, StartError
from .server import Options, Server
from .version import __version__

__all__ = [
    "ApiError",
    "BinaryError",
    "Checked",
    "Claim",
    "Clock",
    "Cluster",
    "CoracleError",
    "Fault",
    "Fork",
    "NotMet",
    "NotSettled",
    "Options",
    "Server",
    "Settled",
    "Snapshot",
    "StartError",
    "__version__",
]
