#!/usr/bin/env python3
"""Compares what kube-apiserver and Coracle answer to drawn writes of RBAC objects.

An administrator creates drawn roles and bindings on both servers. Four users, who may write RBAC objects and have the
rights of the drawn bindings, then send drawn writes as dry runs: POST, PUT, three kinds of patches, and apply. A write
that Coracle allows and kube-apiserver refuses is an escalation of rights, and ends the program with exit code 1; so does
any other difference of code or message.

Both servers need `--authorization-mode` with RBAC and the token file that `--tokens FILE` writes. Neither may run with
a controller manager, which fills in the rules of aggregated roles at its own time. `run` starts both.

With `--record FILE` and without `--coracle`, the program writes the requests with kube-apiserver's answers to FILE, as
compressed lines of JSON.
"""

import argparse
import copy
import gzip
import http.client
import json
import random
import ssl
import sys
import time
import urllib.parse

GROUP = "rbac.authorization.k8s.io"
BASE = f"/apis/{GROUP}/v1"
KINDS = {
    "roles": "Role",
    "clusterroles": "ClusterRole",
    "rolebindings": "RoleBinding",
    "clusterrolebindings": "ClusterRoleBinding",
}
USERS = ["u0", "u1", "u2", "u3"]
ADMINISTRATOR = "administrator"
WRITES_PER_ROUND = 60


def tokens():
    """The token file of both servers: token, user, uid, groups."""
    lines = [f'{ADMINISTRATOR},admin,uid-admin,"system:masters"']
    lines += [f'{user},{user},uid-{user},"team-{number % 2}"' for number, user in enumerate(USERS)]
    return "\n".join(lines) + "\n"


class Server:
    def __init__(self, url):
        self.address = urllib.parse.urlsplit(url)
        self.context = ssl.create_default_context()
        self.context.check_hostname = False
        # Both servers run on this machine, with certificates of their own.
        self.context.verify_mode = ssl.CERT_NONE
        self.connection = None

    def request(self, method, path, body=None, token=ADMINISTRATOR, media_type="application/json"):
        """The code and the document of an answer. A connection that the server has closed is opened again."""
        headers = {"Authorization": f"Bearer {token}"}
        data = None
        if body is not None:
            data, headers["Content-Type"] = json.dumps(body), media_type
        for attempt in range(3):
            try:
                if self.connection is None:
                    self.connection = http.client.HTTPSConnection(
                        self.address.hostname, self.address.port, context=self.context, timeout=60
                    )
                self.connection.request(method, path, body=data, headers=headers)
                answer = self.connection.getresponse()
                text = answer.read().decode("utf8", "replace")
                try:
                    return answer.status, json.loads(text)
                except ValueError:
                    return answer.status, {"message": text}
            except (OSError, http.client.HTTPException):
                self.connection = None
                if attempt == 2:
                    raise

    def wait_until_ready(self):
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            try:
                if self.request("GET", "/readyz")[0] == 200:
                    return
            except (OSError, http.client.HTTPException):
                pass
            time.sleep(0.2)
        sys.exit(f"{self.address.geturl()} is not ready after 120 s")

    def wait_until_allowed(self, user, attributes):
        """Waits until the authorizer has seen what allows a user something."""
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {"user": user, "resourceAttributes": attributes},
        }
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            code, answer = self.request("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review)
            if code == 201 and answer["status"].get("allowed"):
                return
            time.sleep(0.02)
        sys.exit(f"{user} is not allowed {attributes} after 60 s")


def collection(plural):
    return f"{BASE}/namespaces/default/{plural}" if plural in ("roles", "rolebindings") else f"{BASE}/{plural}"


class Draw:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def some(self, among, most=2):
        return self.random.sample(among, self.random.randint(1, most))

    def pick(self, among):
        return self.random.choice(among)

    def one_in(self, share):
        return self.random.random() < share

    def wide_rule(self, is_cluster):
        if is_cluster and self.one_in(0.18):
            paths = ["/metrics", "/m*", "*", "/healthz/*", "/healthz/x"]
            return {"nonResourceURLs": self.some(paths), "verbs": self.some(["get", "post", "*"])}
        resources = ["pods", "pods/log", "*/log", "*", "secrets", "roles", "clusterroles", "pods/*", "deployments"]
        verbs = ["get", "list", "create", "*", "update", "patch", "bind", "escalate"]
        rule = {
            "apiGroups": self.some(["", "apps", GROUP, "*"]),
            "resources": self.some(resources),
            "verbs": self.some(verbs, 3),
        }
        if self.one_in(0.25):
            rule["resourceNames"] = self.some(["a", "b", "ra", "rb"])
        return rule

    def narrow_rule(self):
        rule = {
            "apiGroups": [self.pick(["", "apps"])],
            "resources": [self.pick(["pods", "pods/log", "secrets"])],
            "verbs": self.some(["get", "list", "create"]),
        }
        if self.one_in(0.2):
            rule["resourceNames"] = [self.pick(["a", "b"])]
        return rule

    def rules(self, is_cluster):
        count = self.random.randint(0, 3)
        return [self.wide_rule(is_cluster) if self.one_in(0.5) else self.narrow_rule() for _ in range(count)]

    def subjects(self):
        users = [{"kind": "User", "apiGroup": GROUP, "name": user} for user in USERS]
        groups = [{"kind": "Group", "apiGroup": GROUP, "name": group} for group in ("team-0", "team-1")]
        return self.some(users + groups)

    def thing(self, plural, name):
        """A role or a binding."""
        metadata = {"name": name}
        made = {"apiVersion": f"{GROUP}/v1", "kind": KINDS[plural], "metadata": metadata}
        if self.one_in(0.3):
            feeds_view = {"rbac.authorization.k8s.io/aggregate-to-view": "true"}
            metadata["labels"] = self.pick([{"a": "b"}, feeds_view])
        if plural in ("roles", "clusterroles"):
            made["rules"] = self.rules(plural == "clusterroles")
            if plural == "clusterroles" and self.one_in(0.15):
                made["aggregationRule"] = {"clusterRoleSelectors": [{"matchLabels": {"x": "y"}}]}
            if plural == "clusterroles" and self.one_in(0.04):
                made["aggregationRule"] = {}
        else:
            is_cluster_role = plural == "clusterrolebindings" or self.one_in(0.5)
            made["roleRef"] = {
                "apiGroup": GROUP,
                "kind": "ClusterRole" if is_cluster_role else "Role",
                "name": self.pick(["ra", "rb", "rc", "absent", "view", "a", "cluster-admin"]),
            }
            made["subjects"] = self.subjects()
        return made

    def setup(self):
        """The roles and bindings of a round."""
        names = [
            ("clusterroles", ["ra", "rb", "rc"]),
            ("roles", ["ra", "rb", "a"]),
            ("clusterrolebindings", ["ba", "bb"]),
            ("rolebindings", ["ba", "bb", "bc"]),
        ]
        drawn = [(plural, name) for plural, all_names in names for name in all_names if self.one_in(0.8)]
        return [(plural, self.thing(plural, name)) for plural, name in drawn]

    def write(self):
        """A write: who, by which method, where, what. `change` is a merge patch of what the user has read."""
        plural = self.pick(list(KINDS))
        of_roles = {"clusterroles": ["ra", "rb", "rc", "view", "new"], "roles": ["ra", "rb", "a", "new"]}
        name = self.pick(of_roles.get(plural, ["ba", "bb", "bc", "new"]))
        write = {"user": self.pick(USERS), "query": "dryRun=All", "path": f"{collection(plural)}/{name}"}
        how = self.pick(["POST", "POST", "PUT", "CHANGE", "MERGE", "MERGE", "JSON", "STRATEGIC", "APPLY"])
        if how == "POST":
            made = self.thing(plural, "new" if self.one_in(0.9) else name)
            return write | {"method": "POST", "path": collection(plural), "body": made}
        made = self.thing(plural, name)
        if how == "PUT":
            return write | {"method": "PUT", "body": made}
        if how == "CHANGE":
            return write | {"method": "PUT", "change": self.change(made)}
        media_type = {
            "MERGE": "application/merge-patch+json",
            "STRATEGIC": "application/strategic-merge-patch+json",
            "JSON": "application/json-patch+json",
            "APPLY": "application/apply-patch+yaml",
        }[how]
        write |= {"method": "PATCH", "type": media_type}
        if how == "APPLY":
            write["query"] += "&fieldManager=m" + ("&force=true" if self.one_in(0.7) else "")
            return write | {"body": made}
        if how == "JSON":
            field = self.pick(["rules", "subjects", "metadata"])
            at, value = f"/{field}", made.get(field)
            if field == "metadata" or value is None:
                at, value = "/metadata/annotations", {"k": "v"}
            return write | {"body": [{"op": "add", "path": at, "value": value}]}
        return write | {"body": self.merged_fields(made)}

    def merged_fields(self, made):
        others = {
            "finalizers": {"metadata": {"finalizers": ["x.example/y"]}},
            "no aggregation": {"aggregationRule": None},
            "nothing": {},
        }
        fields = [field for field in made if field not in ("apiVersion", "kind", "roleRef")]
        field = self.pick(fields + list(others))
        if field in others:
            return others[field]
        if field == "metadata":
            return {"metadata": {name: value for name, value in made["metadata"].items() if name != "name"}}
        return {field: made[field]}

    def change(self, made):
        change = {"metadata": {}}
        if self.one_in(0.5):
            change["metadata"]["resourceVersion"] = None
        what = self.pick(["nothing", "finalizers", "labels", "rules", "owner"])
        if what == "finalizers":
            change["metadata"]["finalizers"] = ["x.example/y"]
        if what == "owner":
            owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "abc"}
            change["metadata"]["ownerReferences"] = [owner]
        if what == "labels":
            change["metadata"]["labels"] = {"n": "m"}
        if what == "rules":
            change |= {field: made[field] for field in ("rules", "subjects", "aggregationRule") if field in made}
        return change


def merged(document, patch):
    """A JSON merge patch (RFC 7396), applied."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    document = dict(document) if isinstance(document, dict) else {}
    for name, value in patch.items():
        if value is None:
            document.pop(name, None)
        else:
            document[name] = merged(document.get(name), value)
    return document


def send(server, write):
    """The code and the message of the answer to a write."""
    body = write.get("body")
    if "change" in write:
        code, live = server.request("GET", write["path"])
        if code != 200:
            return code, live.get("message", "")
        body = merged(live, write["change"])
    path = f"{write['path']}?{write['query']}"
    code, answer = server.request(
        write["method"], path, body, write["user"], write.get("type", "application/json")
    )
    return code, answer.get("message", "") if code >= 400 else ""


def editors():
    """What lets all users write RBAC objects."""
    rule = {"apiGroups": [GROUP], "resources": list(KINDS), "verbs": ["get", "create", "update", "patch"]}
    users = [{"kind": "User", "apiGroup": GROUP, "name": user} for user in USERS]
    role = {"apiVersion": f"{GROUP}/v1", "kind": "ClusterRole", "metadata": {"name": "editor"}, "rules": [rule]}
    binding = {
        "apiVersion": f"{GROUP}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "editor"},
        "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": "editor"},
        "subjects": users,
    }
    return [("clusterroles", role), ("clusterrolebindings", binding)]


def markers(number):
    """Objects of each kind that are created last: an authorizer that has seen them has seen the others."""
    user, name = f"marker-{number}", f"marker-{number}"
    rule = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}
    subjects = [{"kind": "User", "apiGroup": GROUP, "name": user}]
    made = []
    for role, binding, namespaced in (("clusterroles", "clusterrolebindings", ""), ("roles", "rolebindings", "x-")):
        is_cluster = not namespaced
        own = dict(rule, resources=["configmaps" if is_cluster else "endpoints"])
        head = {"apiVersion": f"{GROUP}/v1", "metadata": {"name": name}}
        reference = {"apiGroup": GROUP, "kind": KINDS[role], "name": name}
        made.append((role, head | {"kind": KINDS[role], "rules": [own]}))
        made.append((binding, head | {"kind": KINDS[binding], "roleRef": reference, "subjects": subjects}))
    return user, made


def create(servers, objects):
    """Creates objects, all or none on all servers; answers those that were created."""
    created = []
    for plural, made in objects:
        codes = [server.request("POST", collection(plural), made)[0] for server in servers]
        if len(set(codes)) > 1:
            sys.exit(f"the servers answer {codes} to the administrator who creates {json.dumps(made)}")
        if codes[0] == 201:
            created.append((plural, made))
    return created


def delete(servers, objects):
    for plural, made in objects:
        for server in servers:
            server.request("DELETE", f"{collection(plural)}/{made['metadata']['name']}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tokens", metavar="FILE", help="write the token file of both servers, and end")
    parser.add_argument("--kube", metavar="URL", help="the kube-apiserver")
    parser.add_argument("--coracle", metavar="URL", help="the API server of Coracle")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--writes", type=int, default=1200)
    parser.add_argument("--record", metavar="FILE", help="write the requests and kube-apiserver's answers")
    options = parser.parse_args()
    if options.tokens:
        with open(options.tokens, "w", encoding="utf8") as file:
            file.write(tokens())
        return
    if not options.kube or not (options.coracle or options.record):
        parser.error("--kube is needed, with --coracle or --record")
    kube = Server(options.kube)
    servers = [kube] + ([Server(options.coracle)] if options.coracle else [])
    for server in servers:
        server.wait_until_ready()
    draw, sent, escalations, differences = Draw(options.seed), 0, [], []
    lines = []

    def note(line):
        lines.append(json.dumps(line, separators=(",", ":")) + "\n")

    # A server that has answered before may have these objects already; the recording needs them all the same.
    create(servers, editors())
    note({"objects": [made for _, made in editors()]})
    number = 0
    while sent < options.writes:
        number += 1
        made = create(servers, draw.setup())
        user, marks = markers(number)
        marks = create(servers, marks)
        for server in servers:
            server.wait_until_allowed(user, {"verb": "get", "resource": "configmaps"})
            server.wait_until_allowed(user, {"verb": "get", "resource": "endpoints", "namespace": "default"})
        note({"round": [thing for _, thing in made]})
        for _ in range(min(WRITES_PER_ROUND, options.writes - sent)):
            write = draw.write()
            answers = [send(server, write) for server in servers]
            sent += 1
            note(write | {"code": answers[0][0]} | ({"message": answers[0][1]} if answers[0][1] else {}))
            if len(answers) == 2 and answers[0] != answers[1]:
                found = escalations if answers[1][0] < 300 <= answers[0][0] else differences
                found.append((write, answers))
        delete(servers, made + marks)
    if options.record:
        with open(options.record, "wb") as file:
            file.write(gzip.compress("".join(lines).encode(), mtime=0))
    for title, found in (("allowed by Coracle and refused by kube-apiserver", escalations), ("different", differences)):
        for write, (theirs, ours) in found[:10]:
            print(f"{title}:\n  {json.dumps(write)}\n  kube-apiserver {theirs}\n  Coracle        {ours}")
    print(f"{sent} writes with seed {options.seed}: {len(escalations)} escalations, {len(differences)} other differences")
    sys.exit(1 if escalations or differences else 0)


if __name__ == "__main__":
    main()
