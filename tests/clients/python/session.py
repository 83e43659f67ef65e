"""What the Python client does with a cluster: every claim is a test's name. The cluster is the one of KUBECONFIG."""

import threading
import time
import unittest

from kubernetes import client, config, dynamic, utils, watch
from kubernetes.client.rest import ApiException
from kubernetes.leaderelection import electionconfig, leaderelection
from kubernetes.leaderelection.resourcelock.configmaplock import ConfigMapLock

PATIENCE = 30


def eventually(what, ask):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        answer = ask()
        if answer:
            return answer
        time.sleep(0.05)
    raise AssertionError(f"{what}: not within {PATIENCE} s")


class Session(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        config.load_kube_config()
        cls.core, cls.apps = client.CoreV1Api(), client.AppsV1Api()
        made = cls.core.create_namespace({"metadata": {"generateName": "python-"}})
        cls.namespace = made.metadata.name

    @classmethod
    def tearDownClass(cls):
        cls.core.delete_namespace(cls.namespace)

    def refused(self, status, reason, call, *arguments, **options):
        with self.assertRaises(ApiException) as caught:
            call(*arguments, **options)
        self.assertEqual((caught.exception.status, caught.exception.reason), (status, reason))
        return caught.exception

    def config_map(self, name, **data):
        return client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name, labels={"app": name}), data=data)

    def test_an_object_lives_through_every_verb_while_a_watch_looks_on(self):
        ns, seen = self.namespace, []
        start = self.core.list_namespaced_config_map(ns).metadata.resource_version

        def look():
            stream = watch.Watch()
            for event in stream.stream(self.core.list_namespaced_config_map, ns, label_selector="app=m", resource_version=start, timeout_seconds=PATIENCE):
                seen.append((event["type"], event["object"].metadata.name))
                if event["type"] == "DELETED":
                    stream.stop()

        looking = threading.Thread(target=look)
        looking.start()
        made = self.core.create_namespaced_config_map(ns, self.config_map("m", a="1"))
        self.refused(409, "Conflict", self.core.create_namespaced_config_map, ns, self.config_map("m"))
        made.data["a"] = "2"
        self.core.replace_namespaced_config_map("m", ns, made)
        self.refused(409, "Conflict", self.core.replace_namespaced_config_map, "m", ns, made)
        patches = [
            ([{"op": "add", "path": "/data/json", "value": "y"}], None),
            ({"data": {"strategic": "y"}}, None),
            ({"data": {"merge": "y", "a": None}}, "application/merge-patch+json"),
        ]
        for body, content_type in patches:
            patching = client.ApiClient()
            if content_type:
                patching.set_default_header("Content-Type", content_type)
            patched = client.CoreV1Api(patching).patch_namespaced_config_map("m", ns, body)
        self.assertEqual(patched.data, {"json": "y", "strategic": "y", "merge": "y"})
        self.assertEqual(len(self.core.list_namespaced_config_map(ns, field_selector="metadata.name=m").items), 1)
        self.core.delete_namespaced_config_map("m", ns, body=client.V1DeleteOptions(grace_period_seconds=0))
        self.refused(404, "Not Found", self.core.read_namespaced_config_map, "m", ns)
        looking.join(PATIENCE)
        self.assertEqual([kind for kind, _ in seen], ["ADDED"] + 4 * ["MODIFIED"] + ["DELETED"])

    def test_a_server_side_apply_owns_its_fields(self):
        resources = dynamic.DynamicClient(client.ApiClient()).resources.get(api_version="v1", kind="ConfigMap")
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "applied", "namespace": self.namespace}, "data": {"a": "1"}}
        applied = resources.server_side_apply(body=body, field_manager="one")
        self.assertEqual([entry.manager for entry in applied.metadata.managedFields], ["one"])
        body["data"]["a"] = "2"
        with self.assertRaises(dynamic.exceptions.ConflictError) as caught:
            resources.server_side_apply(body=body, field_manager="two")
        self.assertIn('conflict with \\"one\\": .data.a', caught.exception.body.decode())
        self.assertEqual(resources.server_side_apply(body=body, field_manager="two", force_conflicts=True).data.a, "2")

    def test_a_deployment_of_a_file_runs_scales_and_logs(self):
        labels = {"app": "web"}
        body = {
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
            "spec": {"replicas": 2, "selector": {"matchLabels": labels},
                     "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "nginx"}]}}},
        }
        utils.create_from_dict(client.ApiClient(), body, namespace=self.namespace)
        ready = lambda: self.apps.read_namespaced_deployment_status("web", self.namespace).status.ready_replicas == 2
        eventually("two pods are ready", ready)
        pods = self.core.list_namespaced_pod(self.namespace, label_selector="app=web", limit=1)
        self.assertTrue(pods.metadata._continue)
        self.assertTrue(self.core.read_namespaced_pod_log(pods.items[0].metadata.name, self.namespace))
        self.apps.patch_namespaced_deployment_scale("web", self.namespace, {"spec": {"replicas": 0}})
        eventually("no pod is left", lambda: not self.core.list_namespaced_pod(self.namespace).items)
        self.apps.delete_namespaced_deployment("web", self.namespace)

    def test_a_custom_kind_is_defined_found_and_written(self):
        extensions = client.ApiextensionsV1Api()
        name = "gadgets.python.example.com"
        schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer", "default": 3}}}}}
        extensions.create_custom_resource_definition({
            "metadata": {"name": name},
            "spec": {"group": "python.example.com", "scope": "Namespaced", "names": {"plural": "gadgets", "kind": "Gadget"},
                     "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}]},
        })
        self.addCleanup(extensions.delete_custom_resource_definition, name)
        established = lambda: any(c.type == "Established" and c.status == "True"
                                  for c in extensions.read_custom_resource_definition(name).status.conditions or [])
        eventually("the definition is established", established)
        custom = client.CustomObjectsApi()
        where = ("python.example.com", "v1", self.namespace, "gadgets")
        made = custom.create_namespaced_custom_object(*where, {"apiVersion": "python.example.com/v1", "kind": "Gadget", "metadata": {"name": "g"}, "spec": {}})
        self.assertEqual(made["spec"], {"size": 3})
        patched = custom.patch_namespaced_custom_object(*where, "g", {"spec": {"size": 4}})
        self.assertEqual(patched["spec"], {"size": 4})
        found = dynamic.DynamicClient(client.ApiClient()).resources.get(api_version="python.example.com/v1", kind="Gadget")
        self.assertEqual([g.metadata.name for g in found.get(namespace=self.namespace).items], ["g"])
        custom.delete_namespaced_custom_object(*where, "g")

    def test_a_version_of_nobodys_is_refused_and_a_watch_with_a_timeout_ends(self):
        stream = watch.Watch()
        refused = self.refused(400, "Bad Request", self.core.list_namespaced_config_map, self.namespace, resource_version="nonsense", resource_version_match="Exact")
        self.assertIn("invalid resource version", refused.body)
        self.assertEqual(list(stream.stream(self.core.list_namespaced_secret, self.namespace, timeout_seconds=1)), [])

    def test_leadership_passes_from_one_candidate_to_the_next(self):
        leading = []

        def candidate(name):
            lock = ConfigMapLock("lead", self.namespace, name)
            settings = electionconfig.Config(lock, lease_duration=4, renew_deadline=3, retry_period=1,
                                             onstarted_leading=lambda: None, onstopped_leading=None)
            # It never renews, as one that crashes at once.
            leaderelection.LeaderElection(settings).acquire()
            leading.append(name)

        for name in ("first", "second"):
            threading.Thread(target=candidate, args=(name,), daemon=True).start()
            eventually(f"{name} leads", lambda: leading[-1:] == [name])
        self.assertEqual(leading, ["first", "second"])

    def faults(self, method, below="", body=None):
        answer = self.core.api_client.call_api(
            f"/coracle/v1/faults{below}", method, body=body, auth_settings=["BearerToken"], response_type="object"
        )
        return answer[0]["faults"]

    def test_a_watch_shows_what_the_list_shows_after_each_fault(self):
        operator = config.new_client_from_config()
        operator.user_agent = "python-operator/1.0"
        core = client.CoreV1Api(operator)
        for fault in ({"gone": {}}, {"close": {}}, {"hang": {}}, {"bookmark-only": {}}, {"lag": "700ms"}):
            with self.subTest(fault=fault):
                self.follow_through(core, {**fault, "kind": "Secret", "to": "python-operator"}, next(iter(fault)))

    def follow_through(self, core, fault, name):
        ns, label, seen, wrong = self.namespace, f"fault={name}", {}, []

        def write(*numbers):
            for number in numbers:
                made = client.V1ObjectMeta(name=f"{name}-{number}", labels={"fault": name})
                self.core.create_namespaced_secret(ns, client.V1Secret(metadata=made))
                if number % 3:
                    change = {"stringData": {"number": str(number)}}
                    self.core.patch_namespaced_secret(f"{name}-{number}", ns, change)
                if number % 3 > 1:
                    self.core.delete_namespaced_secret(f"{name}-{number}", ns)

        def follow():
            stream = watch.Watch()
            start = core.list_namespaced_secret(ns, label_selector=label)
            seen.update({one.metadata.name: one.metadata.resource_version for one in start.items})
            options = {"resource_version": start.metadata.resource_version, "allow_watch_bookmarks": True}
            for event in stream.stream(core.list_namespaced_secret, ns, label_selector=label, **options):
                if event["type"] == "BOOKMARK":
                    continue
                found = event["object"].metadata
                if (found.name in seen) == (event["type"] == "ADDED"):
                    wrong.append((event["type"], found.name))
                if event["type"] == "DELETED":
                    del seen[found.name]
                else:
                    seen[found.name] = found.resource_version
                if found.name == f"{name}-30":
                    stream.stop()

        write(0, 1, 2)
        following = threading.Thread(target=follow, daemon=True)
        following.start()
        eventually("the program has its list", lambda: f"{name}-1" in seen)
        write(9)
        eventually("its watch is open", lambda: f"{name}-9" in seen)
        added = self.faults("POST", body={"do": fault})[0]
        write(10, 11, 12)
        eventually("the fault has struck", lambda: self.faults("GET", f"/{added['id']}")[0]["struck"])
        self.faults("DELETE", f"/{added['id']}")
        write(20, 21, 30)
        following.join(PATIENCE)
        self.assertFalse(following.is_alive(), f"the watch shows the last secret; it has shown {seen}")
        there = self.core.list_namespaced_secret(ns, label_selector=label).items
        self.assertEqual(seen, {one.metadata.name: one.metadata.resource_version for one in there})
        self.assertEqual((wrong, len(there)), ([], 7))


if __name__ == "__main__":
    unittest.main(verbosity=2)
