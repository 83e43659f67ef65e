"""kr8s, as it is published, with the fixture."""

import kr8s
from kr8s.objects import Deployment, Pod

DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {
        "replicas": 3,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "c", "image": "nginx"}]},
        },
    },
}


def test_a_deployment_becomes_available_and_a_deleted_pod_comes_back(coracle):
    api = kr8s.api(kubeconfig=coracle.kubeconfig)
    deployment = Deployment(DEPLOYMENT, api=api)
    deployment.create()
    coracle.clock.until({**DEPLOYMENT, "status": {"availableReplicas": 3}}, within="5m")
    pods = list(api.get("pods", namespace="default", label_selector={"app": "web"}))
    pods[0].delete()
    coracle.settle()
    after = {pod.name for pod in api.get("pods", namespace="default", label_selector={"app": "web"})}
    assert len(after) == 3 and pods[0].name not in after


def test_until_takes_an_object_of_kr8s(coracle):
    api = kr8s.api(kubeconfig=coracle.kubeconfig)
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"containers": [{"name": "c", "image": "nginx"}]},
    }
    Pod(body, api=api).create()
    wanted = Pod({**body, "status": {"phase": "Running"}}, api=api)
    assert coracle.clock.until(wanted, within="1m").total_seconds() > 0
    assert coracle.why(wanted).startswith("#")
