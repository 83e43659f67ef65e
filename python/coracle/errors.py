"""What can fail. Each message is one sentence about the problem, and what to do."""

from __future__ import annotations


class CoracleError(Exception):
    """Base of all errors of this package."""


class BinaryError(CoracleError):
    """The program is missing, or cannot run here."""


class StartError(CoracleError):
    """The server did not start, or has ended."""


class ApiError(CoracleError):
    """The control endpoint refused a request with a Status of meta/v1."""

    def __init__(self, code: int, reason: str, message: str):
        super().__init__(message)
        self.code = code
        self.reason = reason


class NotMet(ApiError):
    """`clock.until`: the object did not hold in time. The message has what was found."""


class NotSettled(CoracleError):
    """`settle`: something still moves. `last_change` and `pending` name it."""

    def __init__(self, last_change: str | None, pending: list[str]):
        found = [f"the last change was {last_change}"] if last_change else []
        found += pending
        super().__init__("the cluster did not settle: " + "; ".join(found))
        self.last_change = last_change
        self.pending = pending
