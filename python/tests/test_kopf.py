"""An operator on kopf, in this process, in a cluster whose clock stands still: every claim is a test's name."""

import kopf
import pytest
from kopf.testing import KopfRunner
from kubernetes import client, config

GROUP, VERSION, PLURAL = "example.com", "v1", "sites"
CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"{PLURAL}.{GROUP}"},
    "spec": {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {"plural": PLURAL, "singular": "site", "kind": "Site"},
        "versions": [
            {
                "name": VERSION,
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}
SITE = {"apiVersion": f"{GROUP}/{VERSION}", "kind": "Site", "metadata": {"name": "shop"}, "spec": {"replicas": 2}}
DEPLOYMENT = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "shop", "namespace": "default"}}


def operator(api):
    """An operator that makes a Deployment for each Site."""
    registry = kopf.OperatorRegistry()

    @kopf.on.create(GROUP, VERSION, PLURAL, registry=registry)
    @kopf.on.update(GROUP, VERSION, PLURAL, registry=registry)
    def deploy(name, namespace, spec, **_):
        labels = {"site": name}
        pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "nginx"}]}}
        wanted = {"replicas": spec["replicas"], "selector": {"matchLabels": labels}, "template": pod}
        body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": wanted}
        kopf.adopt(body)
        apps = client.AppsV1Api(api)
        try:
            apps.create_namespaced_deployment(namespace, body)
        except client.ApiException as error:
            if error.status != 409:
                raise
            apps.patch_namespaced_deployment(name, namespace, {"spec": {"replicas": spec["replicas"]}})

    @kopf.on.login(registry=registry)
    def login(**arguments):
        return kopf.login_with_kubeconfig(**arguments)

    return registry


@pytest.fixture
def running(coracle):
    """The operator, as it runs in a thread, and its client."""
    api = config.new_client_from_config(coracle.kubeconfig)
    client.ApiextensionsV1Api(api).create_custom_resource_definition(CRD)
    coracle.clock.until({**CRD, "spec": {}, "status": {"acceptedNames": {"kind": "Site"}}})
    settings = kopf.OperatorSettings()
    settings.posting.enabled = False
    arguments = ["run", "-n", "default", "--standalone"]
    with KopfRunner(arguments, registry=operator(api), settings=settings, timeout=60) as runner:
        yield api
    assert runner.exit_code == 0 and runner.exception is None, runner.stdout


def sites(api):
    return client.CustomObjectsApi(api)


def deployments(api):
    return client.AppsV1Api(api).list_namespaced_deployment("default").items


def test_the_operator_acts_while_the_clock_stands_still_and_the_cluster_when_it_advances(coracle, running):
    before = coracle.clock.now
    sites(running).create_namespaced_custom_object(GROUP, VERSION, "default", PLURAL, SITE)
    created = coracle.until(lambda: deployments(running))
    assert coracle.clock.now == before and created[0].status.available_replicas is None
    coracle.clock.until({**DEPLOYMENT, "status": {"availableReplicas": 2}}, within="5m")
    assert coracle.clock.now > before


def test_an_update_reaches_the_deployment_and_a_deletion_removes_it(coracle, running):
    sites(running).create_namespaced_custom_object(GROUP, VERSION, "default", PLURAL, SITE)
    coracle.until(lambda: deployments(running))
    change = {"spec": {"replicas": 5}}
    sites(running).patch_namespaced_custom_object(GROUP, VERSION, "default", PLURAL, "shop", change)
    coracle.until(lambda: deployments(running)[0].spec.replicas == 5)
    coracle.clock.until({**DEPLOYMENT, "status": {"availableReplicas": 5}}, within="5m")
    sites(running).delete_namespaced_custom_object(GROUP, VERSION, "default", PLURAL, "shop")
    coracle.clock.until(DEPLOYMENT, within="5m", absent=True)
    assert "it was removed later" in coracle.why(DEPLOYMENT)
