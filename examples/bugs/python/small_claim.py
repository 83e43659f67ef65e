"""To make a claim larger, an operator deletes the set that uses it, updates the claim, and creates the set again with
the new size. If the update fails, the next pass finds no set, creates one with the new size, and finds nothing else to
do: it compares the size of the set only, and the claim stays small.

Found in: rabbitmq cluster-operator#782 (by a crash between the steps).
The fault: `refuse: 500` of the update of the claim.
The fix: the decision follows from the claim's own size.

All objects are ConfigMaps, which have their size in `data`: a cluster has the label `example.com/cluster`, and its set
and its claim have the endings `-set` and `-claim`. The annotation of the cluster names the size that was reached.

    python small_claim.py [--fixed]        # with KUBECONFIG
"""

import sys
import time

from kubernetes import client, config, watch
from kubernetes.client.rest import ApiException

NAMESPACE = "default"
LABEL = "example.com/cluster"
ANNOTATION = "example.com/size"


class Operator:
    def __init__(self, core, fixed):
        self.core, self.fixed = core, fixed

    def find(self, name):
        try:
            return self.core.read_namespaced_config_map(name, NAMESPACE)
        except ApiException as error:
            if error.status == 404:
                return None
            raise

    def create(self, name, size):
        self.core.create_namespaced_config_map(NAMESPACE, {"metadata": {"name": name}, "data": {"size": size}})

    def reconcile(self, cluster):
        size, claim_name, set_name = (cluster.data["size"], *(cluster.metadata.name + end for end in ("-claim", "-set")))
        claim, a_set = self.find(claim_name), self.find(set_name)
        compared = claim if self.fixed else a_set
        resizes = compared is not None and compared.data["size"] != size
        if resizes and a_set is not None:
            self.core.delete_namespaced_config_map(set_name, NAMESPACE)
        if resizes:
            self.core.patch_namespaced_config_map(claim_name, NAMESPACE, {"data": {"size": size}})
        if claim is None:
            self.create(claim_name, size)
        if resizes or a_set is None:
            self.create(set_name, size)
        reached = {"metadata": {"annotations": {ANNOTATION: size}}}
        self.core.patch_namespaced_config_map(cluster.metadata.name, NAMESPACE, reached)

    def follow(self):
        """Reconciles each cluster, and each that changes, until the watch ends or a request fails."""
        clusters = self.core.list_namespaced_config_map(NAMESPACE, label_selector=LABEL)
        for cluster in clusters.items:
            self.reconcile(cluster)
        version = clusters.metadata.resource_version
        changes = watch.Watch().stream(
            self.core.list_namespaced_config_map, NAMESPACE, label_selector=LABEL, resource_version=version
        )
        for change in changes:
            if change["type"] != "DELETED":
                self.reconcile(change["object"])

    def run(self):
        while True:
            try:
                self.follow()
            except ApiException as error:
                print(f"begins again: {error.status} {error.reason}", flush=True)
                time.sleep(0.2)


if __name__ == "__main__":
    config.load_kube_config()
    Operator(client.CoreV1Api(), fixed="--fixed" in sys.argv[1:]).run()
