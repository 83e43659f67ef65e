"""Resident memory and /metrics while hostile clients make up names, and open what they leave."""

import http.client
import json
import random
import ssl
import threading
import time

from cluster import NAMESPACE, Cluster, basic, load_of_machine

MOST_METRICS = 3_000_000
CORE = f"/api/v1/namespaces/{NAMESPACE}"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class Churn:
    def __init__(self, cluster, seed):
        self.cluster, self.seed, self.ends = cluster, seed, threading.Event()
        self.counts, self.failures, self.lock = {}, {}, threading.Lock()

    def send(self, *request, **others):
        return self.cluster.send(*request, key=threading.get_ident(), **others)

    def head(self, method, path, more=()):
        return "\r\n".join([f"{method} {path} HTTP/1.1", "Host: a", f"Authorization: Bearer {self.cluster.admin}", *more, "", ""]).encode()

    def definitions(self, number, rng):
        group = f"g{number}-{rng.randrange(10**6)}.example.com"
        made = {"metadata": {"name": f"as.{group}"}, "spec": {"group": group, "scope": "Namespaced", "names": {"plural": "as", "kind": "A"}, "versions": [
            {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                "spec": {"type": "object", "properties": {f"p{each}-{number}": {"type": "string", "pattern": f"^a{number}{each}+$"} for each in range(20)}}}}}}]}}
        self.send("POST", DEFINITIONS, made)
        for _ in range(20):
            status, _ = self.send("POST", f"/apis/{group}/v1/namespaces/{NAMESPACE}/as", {"apiVersion": f"{group}/v1", "kind": "A", "metadata": {"name": "a"}})
            if status == 201:
                break
            self.ends.wait(0.05)
        self.send("GET", "/openapi/v3")
        self.send("DELETE", f"{DEFINITIONS}/as.{group}")

    def impersonated(self, number, rng):
        self.send("GET", CORE + "/pods", more={"Impersonate-User": f"user-{number}", "Impersonate-Group": f"group-{number}", f"Impersonate-Extra-a{number}": "a" * 200})

    def tokens(self, number, rng):
        self.send("GET", CORE + "/pods", user="anonymous", more={"Authorization": f"Bearer made-up-{number}-" + "a" * rng.randrange(3000)})
        jwt = ".".join(basic(each).rstrip("=") for each in ('{"alg":"RS256","kid":"' + str(number) + '"}', '{"iss":"https://kubernetes.default.svc","n":' + str(number) + "}", "a"))
        self.send("GET", CORE + "/pods", user="anonymous", more={"Authorization": "Bearer " + jwt})
        self.send("POST", CORE + "/serviceaccounts", {"metadata": {"name": f"a-{number}"}})
        status, data = self.send("POST", f"{CORE}/serviceaccounts/a-{number}/token", {"spec": {}})
        if status == 201:
            self.send("GET", CORE + "/pods", user="anonymous", more={"Authorization": "Bearer " + json.loads(data)["status"]["token"]})
        self.send("DELETE", f"{CORE}/serviceaccounts/a-{number}")

    def labels(self, number, rng):
        """Values that would be labels of metrics."""
        user = rng.choice(("admin", "outsider", "anonymous"))
        self.send("".join(rng.choice("ABCDEFGHIJ") for _ in range(12)), "/api", user=user)
        for path in (f"/apis/g{number}.example.com/v{number}/things{number}", f"{CORE}/things{number}", f"{CORE}/pods/a/sub{number}", f"/made-up-{number}", f"/api/v{number}/pods"):
            self.send("GET", path, user=user, more={"User-Agent": f"agent-{number}", "Accept": f"application/x-{number}, */*"})
        self.send("POST", CORE + f"/configmaps?dryRun=D{number}&fieldManager=m{number}", "a", user=user, content=f"application/x-{number}")

    def watches(self, number, rng):
        connection = self.cluster.socket(20)
        connection.sendall(self.head("GET", rng.choice((f"{CORE}/pods?watch=1&labelSelector=a{number}", f"/api/v1/configmaps?watch=1&fieldSelector=metadata.name%3Da{number}", f"{CORE}/events?watch=1"))))
        connection.recv(100)
        self.ends.wait(rng.random())
        connection.close()

    def readers(self, number, rng):
        """Lists that are not read."""
        connection = self.cluster.socket(20)
        connection.sendall(self.head("GET", CORE + "/configmaps?pretty=" + str(number % 2), [f"Accept: {rng.choice(('application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf'))}"]))
        self.ends.wait(5 * rng.random())
        connection.close()

    def halves(self, number, rng):
        """Bodies that do not come."""
        connection = self.cluster.socket(20)
        connection.sendall(self.head("POST", CORE + "/configmaps", ["Content-Type: application/json", "Content-Length: 1000000"]) + b'{"metadata":' + b" " * rng.randrange(100_000))
        self.ends.wait(5 * rng.random())
        connection.close()

    def events(self, number, rng):
        for each in range(10):
            self.send("POST", CORE + "/events", {"metadata": {"name": f"e{number}-{each}"}, "reason": f"Made{number}", "message": "a" * 500, "involvedObject": {"kind": "Pod", "name": f"p{number}", "namespace": NAMESPACE}})
        self.send("DELETE", CORE + "/events")

    def namespaces(self, number, rng):
        name = f"n{number}-{rng.randrange(10**6)}"
        self.send("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        self.send("POST", f"/api/v1/namespaces/{name}/configmaps", {"metadata": {"name": "a"}, "data": {"a": "a" * 5000}})
        template = {"metadata": {"labels": {"a": "a"}}, "spec": {"containers": [{"name": "a", "image": "a"}]}}
        self.send("POST", f"/apis/apps/v1/namespaces/{name}/deployments", {"metadata": {"name": "a"}, "spec": {"replicas": 1, "selector": {"matchLabels": {"a": "a"}}, "template": template}})
        self.ends.wait(1)
        self.send("DELETE", f"/api/v1/namespaces/{name}")

    def reviews(self, number, rng):
        attributes = {"verb": f"v{number}", "resource": f"r{number}", "group": f"g{number}", "namespace": f"n{number}"}
        self.send("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {"spec": {"resourceAttributes": attributes}}, user="outsider")
        self.send("POST", "/apis/authentication.k8s.io/v1/tokenreviews", {"spec": {"token": f"made-up-{number}"}})

    def large(self, number, rng):
        self.send("POST", CORE + "/configmaps", {"metadata": {"name": f"large-{number}"}, "data": {"a": "a" * 300_000}})
        self.send("DELETE", f"{CORE}/configmaps/large-{number}")
        self.ends.wait(1)

    def policies(self, number, rng):
        rule = {"apiGroups": ["none.example.com"], "apiVersions": ["v1"], "resources": ["nothing"], "operations": ["CREATE"]}
        path = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
        self.send("POST", path, {"metadata": {"name": f"p{number}"}, "spec": {"matchConstraints": {"resourceRules": [rule]}, "validations": [{"expression": f"object.metadata.name != 'a{number}'"}]}})
        self.send("DELETE", f"{path}/p{number}")

    def repeat(self, act, number, pause):
        rng = random.Random(f"{self.seed} {act.__name__} {number}")
        turn = number * 10_000_000
        while not self.ends.is_set() and self.cluster.alive():
            turn += 1
            try:
                act(turn, rng)
                found, key = self.counts, act.__name__
            except (OSError, http.client.HTTPException, ssl.SSLError) as error:
                found, key = self.failures, f"{act.__name__}: {type(error).__name__}"
            with self.lock:
                found[key] = found.get(key, 0) + 1
            self.ends.wait(pause)


def run(options):
    with Cluster(nodes=2) as cluster:
        cluster.users()
        for number in range(100):
            cluster.must("POST", CORE + "/configmaps", {"metadata": {"name": f"filler-{number}"}, "data": {"a": "a" * 10_000}})
        churn = Churn(cluster, options.seed)
        acts = [(churn.definitions, 1, 0.1), (churn.impersonated, 1, 0.005), (churn.tokens, 1, 0.01), (churn.labels, 2, 0.005), (churn.watches, 10, 0), (churn.readers, 10, 0), (churn.halves, 10, 0),
                (churn.events, 1, 0.05), (churn.namespaces, 2, 0.1), (churn.reviews, 1, 0.01), (churn.large, 1, 0), (churn.policies, 1, 0.05)]
        print(f"seed {options.seed}; load of the machine {load_of_machine()}; {cluster.memory() / 1e6:.0f} MB before")
        threads = [threading.Thread(target=churn.repeat, args=(act, number, pause), daemon=True) for act, count, pause in acts for number in range(count)]
        for each in threads:
            each.start()
        start, samples, metrics = time.monotonic(), [], 0
        minute = min(60.0, options.seconds / 3)
        while time.monotonic() - start < options.seconds and cluster.alive():
            time.sleep(2)
            samples.append((time.monotonic() - start, cluster.memory()))
            if len(samples) % 15 == 0:
                metrics = max(metrics, len(cluster.send("GET", "/metrics", key="metrics")[1]))
                print(f"  after {samples[-1][0]:.0f} s: {samples[-1][1] / 1e6:.0f} MB, /metrics {metrics / 1e6:.2f} MB, {sum(churn.counts.values())} turns, revision {revision(cluster)}")
        churn.ends.set()
        for each in threads:
            each.join(30)
        metrics = max(metrics, len(cluster.send("GET", "/metrics", key="metrics")[1]))
        alive = cluster.alive()
        print(f"turns: {churn.counts}; failures of connections: {churn.failures}; load of the machine {load_of_machine()}")
        cluster.settle(60)
        after = cluster.memory()
    window = 10.0
    first = max(size for at, size in samples if abs(at - minute) <= window)
    # The store keeps the history of five minutes, so that what grows until then is no leak.
    later = max(size for at, size in samples if abs(at - 0.7 * options.seconds) <= window)
    last = max(size for at, size in samples if at >= samples[-1][0] - 2 * window)
    growth = (last / first - 1) * 100
    holds = alive and growth <= options.growth and metrics <= MOST_METRICS
    print(f"{first / 1e6:.0f} MB after {minute:.0f} s, {last / 1e6:.0f} MB at the end: {growth:+.1f} %, {options.growth:.0f} % allowed; {(last / later - 1) * 100:+.1f} % in the last third; {after / 1e6:.0f} MB when it was calm again; "
          f"/metrics {metrics / 1e6:.2f} MB, 3 MB allowed: the bar {'holds' if holds else 'DOES NOT HOLD'}")
    return 0 if holds else 1


def revision(cluster):
    return json.loads(cluster.send("GET", f"{CORE}/configmaps?limit=1", key="metrics")[1])["metadata"]["resourceVersion"]
