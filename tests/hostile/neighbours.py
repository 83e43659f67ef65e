"""How long others wait while hostile clients send the costliest bodies that they may send."""

import http.client
import multiprocessing
import random
import ssl
import threading
import time

import crafted
from bodies import World, measured
from cluster import NAMESPACE, load_of_machine
from inflate import compact

ROOM = 2_900_000
AT = "/api/v1/namespaces/neighbours/configmaps"


def candidates(seed):
    """Large bodies that an editor of a namespace, a user without rights and an anonymous one may send."""
    rng = random.Random(seed)
    many = lambda make: crafted.many(ROOM, make)
    core, apps = crafted.CORE, f"/apis/apps/v1/namespaces/{NAMESPACE}"
    pod = lambda spec: {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "n"}, "spec": {"containers": [{"name": "a", "image": "a"}], **spec}}
    bodies = {
        "empty containers": pod({"containers": [{}] * (ROOM // 3)}), "containers": pod({"containers": many(lambda n: {"name": f"a{n}", "image": "a"})}),
        "ports": pod({"containers": [{"name": "a", "image": "a", "ports": many(lambda n: {"containerPort": n % 65535 + 1})}]}),
        "variables": pod({"containers": [{"name": "a", "image": "a", "env": many(lambda n: {"name": f"A{n}", "value": "a"})}]}),
        "volumes": pod({"volumes": many(lambda n: {"name": f"a{n}", "emptyDir": {}})}), "tolerations": pod({"tolerations": many(lambda n: {"key": f"a{n}", "operator": "Exists"})}),
        "owners": {"metadata": {"name": "n", "ownerReferences": many(lambda n: {"apiVersion": "v1", "kind": "Pod", "name": f"a{n}", "uid": f"{n}"})}},
        "keys": {"metadata": {"name": "n"}, "data": {f"a{n}": "a" for n in range(ROOM // 14)}}, "wrong keys": {"metadata": {"name": "n"}, "data": {f"/{n}/": "a" for n in range(ROOM // 14)}},
        "labels": {"metadata": {"name": "n", "labels": {f"a b{n}": "a b" for n in range(ROOM // 18)}}},
    }
    for name, body in bodies.items():
        path = core + ("/pods" if "spec" in body else "/configmaps")
        yield name, crafted.post(path + "?dryRun=All", body, user="editor")
        yield name + " in YAML", crafted.post(path + "?dryRun=All", compact(body), "application/yaml", user="editor")
        yield name + " by apply", crafted.post(path + "/n?dryRun=All&fieldManager=n", {"apiVersion": "v1", "kind": "Pod" if "spec" in body else "ConfigMap", **body}, crafted.APPLY, user="editor", method="PATCH")
    for family in (crafted.reviews, crafted.patches, crafted.rights, crafted.yamls, crafted.managers, crafted.denied):
        for _ in range(6):
            for what, requests in family(rng, ROOM):
                method, path, content, body, user = requests[0]
                if body is not None and method != "DELETE" and (NAMESPACE in path or "self" in path or user == "anonymous"):
                    yield what, (method, path, content, body, "editor" if user == "admin" else user)
    yield "a template", crafted.post(apps + "/deployments?dryRun=All", {"metadata": {"name": "n"}, "spec": {
        "selector": crafted.LABELS, "template": {"metadata": {"labels": {"a": "a"}}, "spec": {"containers": many(lambda n: {"name": f"a{n}", "image": "a"})}}}}, user="editor")


def attack(cluster, requests, offset, stop, counts):
    """A hostile client: it sends one request after the other until it is stopped."""
    turn, connection = offset, None
    while not stop.is_set():
        method, path, content, body, user = requests[turn % len(requests)]
        turn += 1
        try:
            connection = connection or cluster.connect(60)
            connection.request(method, path, body=body, headers=cluster.headers(user, content))
            answer = connection.getresponse()
            answer.read()
            status = answer.status
            if answer.will_close:
                connection.close()
                connection = None
        except (OSError, http.client.HTTPException, ssl.SSLError):
            status = "closed"
            connection.close()
            connection = None
        counts[status] = counts.get(status, 0) + 1


def attackers(cluster, of_users, number, stop, results):
    """The process of all hostile clients."""
    counts = {}
    users = sorted(of_users)
    threads = [threading.Thread(target=attack, args=(cluster, of_users[users[each % len(users)]], each, stop, counts), daemon=True) for each in range(number)]
    for each in threads:
        each.start()
    stop.wait()
    for each in threads:
        each.join(70)
    results.put(counts)


def waits(cluster, seconds, name):
    """Milliseconds that the neighbour waits for each of its requests, by verb, and how many were not answered as they should."""
    found, refused, number, end = {"get": [], "list": [], "create": [], "delete": []}, {}, 0, time.monotonic() + seconds
    while time.monotonic() < end:
        number += 1
        body = compact({"metadata": {"name": f"{name}-{number}"}, "data": {"a": "a"}}).encode()
        for verb, method, path, sent, wanted in (
                ("create", "POST", AT, body, 201), ("get", "GET", f"{AT}/{name}-{number}", None, 200), ("list", "GET", AT, None, 200),
                ("delete", "DELETE", f"{AT}/{name}-{number}", None, 200)):
            start = time.perf_counter()
            status, _ = cluster.send(method, path, sent, user="neighbour", key="neighbour")
            found[verb].append((time.perf_counter() - start) * 1000)
            if status != wanted:
                refused[(verb, status)] = refused.get((verb, status), 0) + 1
        time.sleep(0.02)
    return found, refused


def percentile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * share))]


def show(title, found, refused):
    for verb, values in found.items():
        print(f"  {title}, {verb}: {len(values)} requests, p50 {percentile(values, 0.5):.1f} ms, p99 {percentile(values, 0.99):.1f} ms, at most {max(values):.1f} ms")
    if refused:
        print(f"  {title}: not answered as they should: {refused}")


def run(options):
    world = World()
    cluster = world.cluster
    try:
        for number in range(50):
            cluster.must("POST", AT, {"metadata": {"name": f"kept-{number}"}, "data": {"a": "a" * 100}})
        costs = {}
        bodies = list(candidates(options.seed))
        random.Random(options.seed).shuffle(bodies)
        for what, request in bodies[:options.candidates]:
            status, cpu, memory, _ = measured(world, request)
            if not cluster.alive():
                print(f"THE SERVER ENDED ({cluster.process.returncode}) by {what}, {len(request[3])} bytes by {request[4]}: {request[0]} {request[1]}\n{cluster.last_words()}")
                return 1
            costs.setdefault(request[4], []).append((cpu, memory, status, what, request))
        print(f"seed {options.seed}; load of the machine {load_of_machine()}; the costliest bodies of each user:")
        of_users = {}
        for user, each in costs.items():
            each.sort(key=lambda cost: -cost[0])
            of_users[user] = [request for *_, request in each[:4]]
            for cpu, memory, status, what, request in each[:4]:
                print(f"  {user}: {cpu:.2f} s, {memory / 1e6:.0f} MB, {status} {what}, {len(request[3])} bytes")
        alone, refused = waits(cluster, min(10, options.seconds), "alone")
        show("alone", alone, refused)
        context = multiprocessing.get_context("fork")
        stop, results = context.Event(), context.Queue()
        cluster.connections.pop("neighbour", None)
        process = context.Process(target=attackers, args=(cluster, of_users, options.clients, stop, results), daemon=True)
        process.start()
        time.sleep(3)
        cpu, start = cluster.cpu(), time.monotonic()
        found, refused = waits(cluster, options.seconds, "attacked")
        used = (cluster.cpu() - cpu) / (time.monotonic() - start)
        stop.set()
        counts = results.get(timeout=120)
        process.join()
        show(f"next to {options.clients} clients", found, refused)
        print(f"  the hostile clients were answered {counts}; the server used {used:.2f} processors; load of the machine {load_of_machine()}")
        worst = max(percentile(values, 0.99) for values in found.values())
    finally:
        cluster.stop()
    holds = worst <= options.latency and not refused
    print(f"p99 of the slowest verb {worst:.0f} ms, {options.latency:.0f} ms allowed: the bar {'holds' if holds else 'DOES NOT HOLD'}")
    return 0 if holds else 1
