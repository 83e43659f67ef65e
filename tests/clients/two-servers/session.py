"""Two API servers and two controller-managers on an etcd of three members, killed one after the other under writes.

    session.py CORACLE FOLDER [SECONDS]

Every write that was acknowledged is there at the end, both API servers agree, and a Deployment that was scaled meanwhile is whole
within 30 s.
"""

import json
import os
import random
import socket
import subprocess
import sys
import threading
import time

coracle, folder = sys.argv[1], sys.argv[2]
seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 60
devnull = subprocess.DEVNULL


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


ports = free_ports(8)
clients, peers, servers = ports[:3], ports[3:6], ports[6:]
url = "http://127.0.0.1:{}".format
cluster = ",".join(f"m{number}={url(port)}" for number, port in enumerate(peers))
pki = os.path.join(folder, "pki")
admin = os.path.join(pki, "admin.kubeconfig")


def command(name):
    kind, number = name.rsplit("-", 1)
    number = int(number)
    if kind == "etcd":
        return [
            "etcd", "--name", f"m{number}", "--data-dir", os.path.join(folder, f"m{number}"), "--unsafe-no-fsync",
            "--log-level", "error", "--listen-client-urls", url(clients[number]),
            "--advertise-client-urls", url(clients[number]), "--listen-peer-urls", url(peers[number]),
            "--initial-advertise-peer-urls", url(peers[number]), "--initial-cluster", cluster,
        ]
    if kind == "apiserver":
        # Each begins with another member.
        members = [url(clients[(at + number) % 3]) for at in range(3)]
        return [coracle, "apiserver", "--etcd-servers", ",".join(members), "--secure-port", str(servers[number]), "--cert-dir", pki]
    if kind == "controller-manager":
        kubeconfig = os.path.join(folder, f"{name}.kubeconfig")
        with open(os.path.join(pki, "controller-manager.kubeconfig")) as source, open(kubeconfig, "w") as target:
            target.write(at_server(source.read(), number))
        return [coracle, "controller-manager", "--kubeconfig", kubeconfig, "--leader-elect"]
    return [coracle, kind, "--kubeconfig", os.path.join(pki, f"{kind}.kubeconfig")]


def at_server(kubeconfig, number):
    """A kubeconfig that names this server: both share a folder of certificates, in which the last that started is named."""
    for port in servers:
        kubeconfig = kubeconfig.replace(f"https://127.0.0.1:{port}", f"https://127.0.0.1:{servers[number]}")
    return kubeconfig


running = {}


def start(name):
    log = open(os.path.join(folder, f"{name}.log"), "ab")
    running[name] = subprocess.Popen(command(name), stdin=devnull, stdout=log, stderr=log)


def stop_all():
    for process in running.values():
        process.kill()
        process.wait()


def kubectl(number, *arguments, stdin=None):
    server = f"https://127.0.0.1:{servers[number]}"
    words = ["kubectl", "--kubeconfig", admin, "--server", server, "--request-timeout=10s", *arguments]
    return subprocess.run(words, input=stdin, capture_output=True, text=True)


def until(what, ask, patience=60):
    end = time.monotonic() + patience
    while time.monotonic() < end:
        answer = ask()
        if answer:
            return answer
        time.sleep(0.2)
    raise SystemExit(f"{what}: not within {patience} s")


def is_ready(number):
    return kubectl(number, "get", "--raw", "/readyz").returncode == 0


def names(number):
    listed = kubectl(number, "get", "configmaps", "-l", "written=yes", "-o", "jsonpath={.items[*].metadata.name}")
    return set(listed.stdout.split()) if listed.returncode == 0 else None


def whole(number, replicas):
    got = kubectl(number, "get", "deployment", "web", "-o", "json")
    if got.returncode:
        return False
    status = json.loads(got.stdout).get("status", {})
    return status.get("readyReplicas") == replicas and status.get("replicas") == replicas


acknowledged, refused, ended = set(), 0, threading.Event()


def write(number):
    """Creates ConfigMaps at one server for as long as the session lasts; only what it acknowledges counts."""
    global refused
    count = 0
    while not ended.is_set():
        count += 1
        name = f"w{number}-{count}"
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": {"written": "yes"}}}
        if kubectl(number, "create", "-f", "-", stdin=json.dumps(body)).returncode == 0:
            acknowledged.add(name)
        else:
            refused += 1


try:
    for number in range(3):
        start(f"etcd-{number}")
    # Both at the same moment, on an etcd that is empty.
    for number in range(2):
        start(f"apiserver-{number}")
    for number in range(2):
        until(f"API server {number} is ready", lambda: is_ready(number))
        assert running[f"apiserver-{number}"].poll() is None, "an API server that starts beside another stays"
    for name in ["controller-manager-0", "controller-manager-1", "scheduler-0", "kubelet-0"]:
        start(name)
    made = kubectl(0, "create", "deployment", "web", "--image=nginx", "--replicas=3")
    assert made.returncode == 0, made.stderr
    until("three pods are ready", lambda: whole(1, 3))

    writers = [threading.Thread(target=write, args=(number,)) for number in range(2)]
    for writer in writers:
        writer.start()
    victims = [name for name in running if name.rsplit("-", 1)[0] in ("etcd", "apiserver", "controller-manager")]
    order, end, killed = random.Random(1), time.monotonic() + seconds, 0
    while time.monotonic() < end:
        victim = order.choice(victims)
        running[victim].kill()
        running[victim].wait()
        time.sleep(2)
        start(victim)
        killed += 1
        time.sleep(3)
    replicas = 7
    until("the Deployment is scaled", lambda: any(kubectl(n, "scale", "deployment/web", f"--replicas={replicas}").returncode == 0 for n in range(2)))
    scaled = time.monotonic()
    until("the scaled Deployment is whole", lambda: whole(0, replicas) and whole(1, replicas), 30)
    took = time.monotonic() - scaled
    ended.set()
    for writer in writers:
        writer.join()
    assert acknowledged, "nothing was written"
    found = [until(f"server {number} lists", lambda: names(number)) for number in range(2)]
    for number in range(2):
        lost = acknowledged - found[number]
        assert not lost, f"server {number} has lost {len(lost)} of {len(acknowledged)} acknowledged writes: {sorted(lost)[:5]}"
    assert found[0] == found[1], f"the servers do not agree: {sorted(found[0] ^ found[1])[:5]}"
    for name, process in running.items():
        assert process.poll() is None, f"{name} has ended by itself"
    print(f"{killed} killed, {len(acknowledged)} writes acknowledged and {refused} refused, none lost; whole after {took:.1f} s")
finally:
    ended.set()
    stop_all()
