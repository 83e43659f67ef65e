"""Sets faults between two lines of a test, with the standard library only. The cluster is the one of KUBECONFIG."""

import base64
import http.client
import json
import os
import re
import ssl
import time
import urllib.parse

kubeconfig = open(os.environ["KUBECONFIG"]).read()
field = lambda name: re.search(rf"^ *{name}: (\S+)$", kubeconfig, re.MULTILINE).group(1)
server = urllib.parse.urlparse(field("server"))
context = ssl.create_default_context(cadata=base64.b64decode(field("certificate-authority-data")).decode())

MAPS = "/api/v1/namespaces/default/configmaps"
OPERATOR = "my-operator/v0.1"


def send(method, path, body=None, agent="test", media_type="application/json", timeout=30):
    connection = http.client.HTTPSConnection(server.hostname, server.port, context=context, timeout=timeout)
    headers = {"Authorization": f"Bearer {field('token')}", "User-Agent": agent, "Content-Type": media_type}
    connection.request(method, path, body, headers)
    return connection.getresponse()


def ask(method, path, body=None, agent="test"):
    answer = send(method, path, json.dumps(body) if body is not None else None, agent)
    return answer.status, json.load(answer)


def config(name, **more):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **more}}


def create(name):
    code, created = ask("POST", MAPS, config(name))
    assert code == 201, created
    return created["metadata"]["resourceVersion"]


def cause(fault):
    code, added = ask("POST", "/coracle/v1/faults", fault)
    assert code == 201, added
    return added["faults"][0]["id"]


def struck(fault):
    code, found = ask("GET", f"/coracle/v1/faults/{fault}")
    assert code == 200, found
    return found["faults"][0]["struck"]


def heal(fault):
    code, removed = ask("DELETE", f"/coracle/v1/faults/{fault}")
    assert code == 200, removed
    return removed["faults"][0]["struck"]


def watch(since, more="", timeout=30):
    """A watch of the operator: each line is an event."""
    path = f"{MAPS}?watch=true&resourceVersion={since}{more}"
    answer = send("GET", path, agent=OPERATOR, timeout=timeout)
    assert answer.status == 200, answer.read()
    return answer


def lines(answer):
    """The names of the objects, until the watch ends."""
    return (json.loads(line)["object"]["metadata"]["name"] for line in iter(answer.readline, b""))


def an_answer_is_lost_and_the_write_landed():
    when = {"by": "my-operator", "verb": "create", "resource": "configmaps"}
    fault = cause({"when": when, "do": {"lose": "answer"}})
    try:
        answer = ask("POST", MAPS, config("lost"), agent=OPERATOR)
    except http.client.RemoteDisconnected:
        answer = None
    assert answer is None, f"the answer came: {answer}"
    code, found = ask("GET", f"{MAPS}/lost")
    assert code == 200, found
    assert heal(fault) == 1


def a_watch_hangs_and_delivers_what_it_held():
    since = create("hang-before")
    held, other = watch(since), send("GET", f"{MAPS}?watch=true&resourceVersion={since}")
    fault = cause({"do": {"hang": {}, "kind": "ConfigMap", "to": "my-operator"}})
    names = ["held-b", "held-a"]
    [create(name) for name in names]
    seen = lines(other)
    assert [next(seen), next(seen)] == names
    while struck(fault) == 0:
        time.sleep(0.02)
    heal(fault)
    seen = lines(held)
    assert [next(seen), next(seen)] == names


def a_watch_that_hangs_ends_after_its_timeout():
    since = create("timeout-before")
    held = watch(since, "&timeoutSeconds=3")
    fault = cause({"do": {"hang": {}, "kind": "ConfigMap", "to": "my-operator"}})
    create("timeout-held")
    assert list(lines(held)) == [], "the event is held, and lost to this watch"
    heal(fault)
    assert next(lines(watch(since))) == "timeout-held", "a watch after the last revision has it"


def a_watch_is_closed_without_an_error():
    since = create("close-before")
    closed = watch(since)
    fault = cause({"do": {"close": {}, "kind": "ConfigMap", "to": "my-operator"}})
    assert list(lines(closed)) == []
    create("close-after")
    assert next(lines(watch(since))) == "close-after"
    assert heal(fault) == 1


def updates_and_applies_conflict():
    create("storm")
    path = f"{MAPS}/storm"
    current = lambda: ask("GET", path)[1]["metadata"]["resourceVersion"]

    def update():
        return ask("PUT", path, config("storm", resourceVersion=current()), agent=OPERATOR)[0]

    def apply(version):
        body = f'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: storm\n  resourceVersion: "{version}"\n'
        apply_path = f"{path}?fieldManager=my-operator"
        return send("PATCH", apply_path, body, OPERATOR, "application/apply-patch+yaml").status

    for write in [update, lambda: apply(current())]:
        fault = cause({"when": {"by": "my-operator", "resource": "configmaps", "name": "storm"}, "do": {"refuse": 409}, "for": 3})
        assert [write() for _ in range(4)] == [409, 409, 409, 200]
        assert heal(fault) == 3


for claim in [
    an_answer_is_lost_and_the_write_landed,
    a_watch_hangs_and_delivers_what_it_held,
    a_watch_that_hangs_ends_after_its_timeout,
    a_watch_is_closed_without_an_error,
    updates_and_applies_conflict,
]:
    claim()
    print(claim.__name__.replace("_", " "))
