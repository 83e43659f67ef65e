"""Starts a cluster with a state folder of its own, sends requests to it, and reads what its process uses."""

import base64
import http.client
import json
import os
import re
import resource
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import time

# An answer may have more warnings than http.client reads headers by default.
http.client._MAXHEADERS = 100_000
ADDRESSES = 8 << 30
TICK = os.sysconf("SC_CLK_TCK")
RBAC = "/apis/rbac.authorization.k8s.io/v1"
NAMESPACE = "hostile"
USERS = {"editor": "", "outsider": "", "neighbour": ""}


def binary():
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    target = os.environ.get("CARGO_TARGET_DIR", os.path.join(root, "target"))
    path = os.environ.get("CORACLE", os.path.join(target, "release", "coracle"))
    if not os.access(path, os.X_OK):
        raise SystemExit(f"there is no {path}: build it with `cargo build --release -p coracle-cli`, or name another by CORACLE")
    return os.path.realpath(path)


def bounded():
    """A server that takes more than this ends by itself, and not by what else the machine runs."""
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))


class Cluster:
    """A cluster whose objects are in memory, with an administrator's token and a token for each of USERS."""

    def __init__(self, nodes=1, arguments=()):
        self.folder = tempfile.mkdtemp(prefix="coracle-hostile-")
        tokens = os.path.join(self.folder, "tokens.csv")
        with open(tokens, "w") as file:
            for user in USERS:
                file.write(f'token-{user},{user},uid-{user},"group-{user}"\n')
        self.log = os.path.join(self.folder, "up.log")
        state = os.path.join(self.folder, "state")
        command = [binary(), "up", "--ephemeral", "--state-dir", state, "--secure-port", "0", "--nodes", str(nodes)]
        command += ["--token-auth-file", tokens, *arguments]
        self.process = subprocess.Popen(command, stdout=open(self.log, "wb"), stderr=subprocess.STDOUT, preexec_fn=bounded)
        found, deadline = None, time.monotonic() + 60
        while not found and self.process.poll() is None and time.monotonic() < deadline:
            with open(self.log) as file:
                text = file.read()
            found = "ready in" in text and re.search(r"https://127\.0\.0\.1:(\d+)", text)
            time.sleep(0.05)
        if not found:
            self.stop()
            raise SystemExit(f"the cluster did not start:\n{text}")
        self.port = int(found.group(1))
        self.authority = os.path.join(state, "pki", "ca.crt")
        with open(os.path.join(state, "pki", "admin.token")) as file:
            self.admin = file.read().strip()
        self.context = ssl.create_default_context(cafile=self.authority)
        self.context.check_hostname = False
        self.connections = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def alive(self):
        return self.process.poll() is None

    def last_words(self):
        with open(self.log, errors="replace") as file:
            return file.read()[-2000:]

    def token(self, user):
        return {"admin": self.admin, "anonymous": None}.get(user, f"token-{user}")

    def headers(self, user, content=None, more=None):
        headers = dict(more or {})
        if self.token(user):
            headers["Authorization"] = f"Bearer {self.token(user)}"
        if content:
            headers["Content-Type"] = content
        return headers

    def connect(self, timeout=60):
        return http.client.HTTPSConnection("127.0.0.1", self.port, context=self.context, timeout=timeout)

    def socket(self, timeout=60):
        return self.context.wrap_socket(socket.create_connection(("127.0.0.1", self.port), timeout=timeout))

    def send(self, method, path, body=None, user="admin", content="application/json", more=None, timeout=120, key=0):
        """Sends a request on a connection that is kept, and returns the status and the bytes of the answer."""
        if body is not None and not isinstance(body, bytes):
            body = (body if isinstance(body, str) else json.dumps(body)).encode("utf-8", "surrogatepass")
        headers = self.headers(user, content if body is not None else None, more)
        for attempt in (1, 2):
            connection = self.connections.get(key) or self.connect(timeout)
            self.connections[key] = connection
            try:
                connection.request(method, path, body=body, headers=headers)
                answer = connection.getresponse()
                data = answer.read()
                if answer.will_close:
                    self.connections.pop(key).close()
                return answer.status, data
            except (OSError, http.client.HTTPException):
                self.connections.pop(key).close()
                if attempt == 2 or not self.alive():
                    raise

    def ready(self):
        """Whether the server answers on a new connection."""
        connection = self.connect(10)
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def json(self, method, path, body=None, **others):
        status, data = self.send(method, path, body, **others)
        try:
            return status, json.loads(data)
        except ValueError:
            return status, {"message": data[:300].decode("utf-8", "replace")}

    def must(self, method, path, body=None, **others):
        status, answer = self.json(method, path, body, **others)
        if status >= 300:
            raise SystemExit(f"{method} {path} was answered {status}: {answer.get('message')}")
        return answer

    def users(self):
        """The namespace, an editor in it, and a neighbour who edits another namespace."""
        for user, namespace in (("editor", NAMESPACE), ("neighbour", "neighbours")):
            self.must("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
            role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "admin"}
            subject = {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": user}
            binding = {"metadata": {"name": user}, "roleRef": role, "subjects": [subject]}
            self.must("POST", f"{RBAC}/namespaces/{namespace}/rolebindings", binding)

    # What the process uses.

    def cpu(self):
        """Seconds of CPU since the start, of user and system."""
        if not self.alive():
            return 0.0
        with open(f"/proc/{self.process.pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICK

    def memory(self, field="VmRSS"):
        """Bytes that are resident now, or `VmHWM`: at the most since `forget_peak`."""
        if not self.alive():
            return 0
        with open(f"/proc/{self.process.pid}/status") as file:
            found = re.search(field + r":\s+(\d+)", file.read())
        # A process that has ended has no memory.
        return int(found.group(1)) * 1024 if found else 0

    def forget_peak(self):
        if self.alive():
            with open(f"/proc/{self.process.pid}/clear_refs", "w") as file:
                file.write("5")

    def settle(self, patience=30.0, calm=0.1):
        """Waits until the process has used no more than a hundredth of a second within `calm` seconds."""
        deadline = time.monotonic() + patience
        before = self.cpu()
        while time.monotonic() < deadline and self.alive():
            time.sleep(calm)
            now = self.cpu()
            if now - before <= 1 / TICK:
                return True
            before = now
        return False

    def idle_rate(self, seconds=5.0):
        """Seconds of CPU that the process uses in a second while no client asks for anything."""
        self.settle()
        before, start = self.cpu(), time.monotonic()
        time.sleep(seconds)
        return (self.cpu() - before) / (time.monotonic() - start)


def load_of_machine():
    with open("/proc/loadavg") as file:
        return f"{file.read().split()[0]} on {os.cpu_count()} processors"


def basic(text):
    return base64.b64encode(text if isinstance(text, bytes) else text.encode()).decode()
