"""Sets a fault between two lines of a test, with the standard library only. The cluster is the one of KUBECONFIG."""

import base64
import http.client
import json
import os
import re
import ssl
import urllib.parse

kubeconfig = open(os.environ["KUBECONFIG"]).read()
field = lambda name: re.search(rf"^ *{name}: (\S+)$", kubeconfig, re.MULTILINE).group(1)
server = urllib.parse.urlparse(field("server"))
context = ssl.create_default_context(cadata=base64.b64decode(field("certificate-authority-data")).decode())


def ask(method, path, body=None, agent="test"):
    connection = http.client.HTTPSConnection(server.hostname, server.port, context=context, timeout=30)
    headers = {"Authorization": f"Bearer {field('token')}", "User-Agent": agent, "Content-Type": "application/json"}
    connection.request(method, path, json.dumps(body) if body is not None else None, headers)
    answer = connection.getresponse()
    return answer.status, json.load(answer)


maps = "/api/v1/namespaces/default/configmaps"
config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "python"}}

when = {"by": "my-operator", "verb": "create", "resource": "configmaps"}
code, added = ask("POST", "/coracle/faults", {"when": when, "do": {"lose": "answer"}})
assert code == 201, added
fault = added["faults"][0]["id"]

try:
    print("the answer came:", ask("POST", maps, config, agent="my-operator/v0.1"))
except http.client.RemoteDisconnected:
    code, found = ask("GET", f"{maps}/python")
    assert code == 200, found
    code, removed = ask("DELETE", f"/coracle/faults/{fault}")
    assert (code, removed["faults"][0]["struck"]) == (200, 1), removed
    print("the answer was lost, and the write landed")
