"""A controller without a library: it keeps one ConfigMap for the Secret `a`, and deletes it with the Secret.

With --forgetful it gives each ConfigMap a generated name, and notes the name in the Secret afterwards: what happens
between these two writes is lost when it is killed. With --leader NOTES it acts only while it holds a Lease, and notes in
this file when it waits for another holder, and when its process continues after a stop.
"""

import base64
import datetime
import json
import os
import re
import signal
import ssl
import sys
import time
import urllib.error
import urllib.request

NAMESPACE = "/api/v1/namespaces/default"
FINALIZER = "example.com/clean-up"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
LEASE_SECONDS = 15


class Api:
    def __init__(self, kubeconfig):
        field = lambda name: re.search(name + r": (\S+)", kubeconfig).group(1)
        self.server, self.token = field("server"), field("token")
        authority = base64.b64decode(field("certificate-authority-data")).decode()
        self.context = ssl.create_default_context(cadata=authority)

    def send(self, method, path, body=None, content="application/json", root=NAMESPACE):
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": content}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.server + root + path, method=method, data=data, headers=headers)
        with urllib.request.urlopen(request, context=self.context, timeout=30) as answer:
            return json.load(answer)

    def patch_secret(self, name, body):
        self.send("PATCH", f"/secrets/{name}", body, "application/merge-patch+json")

    def delete_map(self, name):
        try:
            self.send("DELETE", f"/configmaps/{name}")
        except urllib.error.HTTPError as error:
            if error.code != 404:
                raise


def leads(api, me, note):
    """Whether this process holds the Lease, which it takes or renews."""
    now = datetime.datetime.now(datetime.timezone.utc)
    spec = {
        "holderIdentity": me,
        "leaseDurationSeconds": LEASE_SECONDS,
        "renewTime": now.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
    }
    try:
        lease = api.send("GET", "/leader", root=LEASES)
    except urllib.error.HTTPError as error:
        if error.code != 404:
            raise
        lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "leader"}, "spec": spec}
        api.send("POST", "", lease, root=LEASES)
        return True
    held = lease.get("spec", {})
    holder = held.get("holderIdentity")
    if holder and holder != me:
        renewed = datetime.datetime.fromisoformat(held["renewTime"].replace("Z", "+00:00"))
        if (now - renewed).total_seconds() < held["leaseDurationSeconds"]:
            note("waits for another holder")
            return False
    lease["spec"] = spec
    api.send("PUT", "/leader", lease, root=LEASES)
    return True


def reconcile(api, secret, forgetful):
    metadata = secret["metadata"]
    name, child = metadata["name"], metadata.get("annotations", {}).get("child")
    if "deletionTimestamp" in metadata:
        if child or not forgetful:
            api.delete_map(child if forgetful else name)
        api.patch_secret(name, {"metadata": {"uid": metadata["uid"], "finalizers": None}})
        return
    if not metadata.get("finalizers"):
        api.patch_secret(name, {"metadata": {"finalizers": [FINALIZER]}})
    if forgetful:
        if not child:
            created = api.send("POST", "/configmaps", {"metadata": {"generateName": f"{name}-"}})
            api.patch_secret(name, {"metadata": {"annotations": {"child": created["metadata"]["name"]}}})
    elif name not in [item["metadata"]["name"] for item in api.send("GET", "/configmaps")["items"]]:
        api.send("POST", "/configmaps", {"metadata": {"name": name}})


def main():
    with open(os.environ["KUBECONFIG"]) as file:
        api = Api(file.read())
    notes = sys.argv[sys.argv.index("--leader") + 1] if "--leader" in sys.argv else None

    def note(text):
        with open(notes, "a") as file:
            print(text, file=file)

    if notes:
        signal.signal(signal.SIGCONT, lambda *_: note("was stopped and continues"))
    while True:
        try:
            if notes and not leads(api, str(os.getpid()), note):
                time.sleep(0.2)
                continue
            for secret in api.send("GET", "/secrets")["items"]:
                if secret["metadata"]["name"] == "a":
                    reconcile(api, secret, "--forgetful" in sys.argv)
        except OSError as error:
            print("it is tried again:", error, flush=True)
        time.sleep(0.2)


if __name__ == "__main__":
    main()
