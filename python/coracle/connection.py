"""Requests to the control endpoint, with the address and the token of a kubeconfig."""

from __future__ import annotations

import base64
import http.client
import json
import re
import ssl
import time
import urllib.parse
from typing import Any, Callable

from .errors import ApiError, NotMet, StartError
from .version import __version__

RETRIED_FOR = 60.0
"""Seconds for which a request is repeated that got 503, as all requests do while a reset runs."""


class Connection:
    """The control endpoint of one API server. Each request has a connection of its own, because a reset ends them."""

    def __init__(self, kubeconfig: str, explain: Callable[[], str] = lambda: ""):
        """`kubeconfig` is the text of one that Coracle wrote. `explain` returns why the server may not answer."""
        self.server = _field(kubeconfig, "server")
        self._token = _field(kubeconfig, "token")
        self._explain = explain
        address = urllib.parse.urlparse(self.server)
        self._host, self._port = address.hostname, address.port
        authority = base64.b64decode(_field(kubeconfig, "certificate-authority-data")).decode()
        self._context = ssl.create_default_context(cadata=authority)

    def json(self, method: str, path: str, body: Any = None) -> dict:
        return json.loads(self.text(method, path, body))

    def text(self, method: str, path: str, body: Any = None) -> str:
        """The body of the answer. Raises ApiError if it is a Status, and StartError if no server answers."""
        return self.bytes(method, path, body).decode()

    def bytes(self, method: str, path: str, body: Any = None) -> bytes:
        sent = body if body is None or isinstance(body, (str, bytes)) else json.dumps(body)
        if isinstance(sent, str):
            sent = sent.encode()
        until = time.monotonic() + RETRIED_FOR
        while True:
            code, retry_after, answer = self._send(method, path, sent)
            if code == 503 and retry_after and time.monotonic() < until:
                time.sleep(0.05)
                continue
            if code >= 400:
                raise _error(code, answer)
            return answer

    def _send(self, method: str, path: str, body: bytes | None):
        connection = http.client.HTTPSConnection(self._host, self._port, context=self._context)
        headers = {
            "Authorization": f"Bearer {self._token}",
            "Content-Type": "application/json",
            "User-Agent": f"coracle-python/{__version__}",
        }
        try:
            connection.request(method, "/coracle/v1" + path, body, headers)
            response = connection.getresponse()
            return response.status, response.getheader("Retry-After"), response.read()
        except (OSError, http.client.HTTPException) as error:
            why = self._explain() or f"{error!r}; start another one"
            raise StartError(f"the server at {self.server} does not answer: {why}") from error
        finally:
            connection.close()


def _field(kubeconfig: str, name: str) -> str:
    found = re.search(rf"^ *{name}: (\S+)$", kubeconfig, re.MULTILINE)
    if not found:
        raise ValueError(f"the kubeconfig has no `{name}`: use one that Coracle wrote")
    return found.group(1)


def _error(code: int, answer: bytes) -> ApiError:
    try:
        status = json.loads(answer)
        reason, message = status.get("reason", ""), status.get("message", "")
    except ValueError:
        reason, message = "", answer.decode(errors="replace").strip()
    if code == 404 and not reason:
        message = "this API server has no control endpoint: start it with `coracle up` of the version of this package"
    kind = NotMet if code == 408 else ApiError
    return kind(code, reason, message or f"HTTP {code}")
