"""What the fixture `coracle` offers: every claim is a test's name."""

import datetime
import json

import pytest
from kubernetes import client, config

import coracle as package
from pages import run_of

POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "default"}}


def core(cluster):
    return client.CoreV1Api(config.new_client_from_config(cluster.kubeconfig))


def config_map(name):
    return client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name))


def create_pod(cluster, **spec):
    body = {**POD, "spec": {"containers": [{"name": "c", "image": "nginx"}], **spec}}
    core(cluster).create_namespaced_pod("default", body)


def names(cluster):
    maps = core(cluster).list_namespaced_config_map("default").items
    return {found.metadata.name for found in maps} - {"kube-root-ca.crt"}


@pytest.mark.coracle(nodes=0)
def test_the_clock_stands_still_and_advances_by_a_text_a_timedelta_or_seconds(coracle):
    before = coracle.clock.now
    assert coracle.clock.now == before
    coracle.clock.advance("24h")
    coracle.clock.advance(datetime.timedelta(minutes=1))
    coracle.clock.advance(30)
    assert coracle.clock.now - before == datetime.timedelta(days=1, minutes=1, seconds=30)


def test_settle_runs_a_pod(coracle):
    create_pod(coracle)
    settled = coracle.settle()
    assert core(coracle).read_namespaced_pod("web", "default").status.phase == "Running"
    assert settled.revision > 0 and settled.now == coracle.clock.now


def test_until_advances_until_an_object_holds(coracle):
    create_pod(coracle)
    advanced = coracle.clock.until({**POD, "status": {"phase": "Running"}}, within="1m")
    assert datetime.timedelta() < advanced < datetime.timedelta(minutes=1)


def test_until_takes_a_model_of_the_client(coracle):
    create_pod(coracle)
    pod = core(coracle).read_namespaced_pod("web", "default")
    pod.api_version, pod.kind, pod.status, pod.metadata, pod.spec = "v1", "Pod", None, pod.metadata, None
    pod.metadata = client.V1ObjectMeta(name="web", namespace="default")
    assert coracle.clock.until(pod) == datetime.timedelta()


def test_until_names_what_it_found(coracle):
    with pytest.raises(package.NotMet, match="not within 1m0s: expected Pod web in default; found no such object"):
        coracle.clock.until(POD, within=60)


def test_until_absent_waits_for_the_end_of_an_object(coracle):
    create_pod(coracle)
    coracle.settle()
    core(coracle).delete_namespaced_pod("web", "default", grace_period_seconds=30)
    coracle.clock.until(POD, within="5m", absent=True)
    assert core(coracle).list_namespaced_pod("default").items == []


@pytest.mark.parametrize("round", [1, 2])
def test_each_test_starts_with_the_same_cluster(coracle, round):
    assert names(coracle) == set() and [snapshot.name for snapshot in coracle.snapshots()] == ["start"]
    core(coracle).create_namespaced_config_map("default", config_map("left"))
    coracle.snapshot("left")
    coracle.fault({"lag": "5s", "kind": "Pod", "to": "nothing"})
    coracle.fork()


def test_a_reset_returns_to_a_snapshot_at_a_higher_revision(coracle):
    core(coracle).create_namespaced_config_map("default", config_map("kept"))
    kept = coracle.snapshot("kept")
    core(coracle).create_namespaced_config_map("default", config_map("lost"))
    assert coracle.reset(kept) > kept.revision
    assert names(coracle) == {"kept"}
    coracle.reset()
    assert names(coracle) == set()


def test_a_fork_has_a_clock_and_objects_of_its_own(coracle):
    core(coracle).create_namespaced_config_map("default", config_map("both"))
    with coracle.fork() as fork:
        core(fork).create_namespaced_config_map("default", config_map("fork"))
        fork.clock.advance("1h")
        assert names(fork) == {"both", "fork"} and names(coracle) == {"both"}
        assert fork.clock.now - coracle.clock.now >= datetime.timedelta(hours=1)
    with pytest.raises(package.CoracleError):
        fork.clock.now


def test_a_fault_strikes_until_its_block_ends(coracle):
    api = config.new_client_from_config(coracle.kubeconfig)
    api.user_agent = "my-operator/v1"
    operator = client.CoreV1Api(api)
    with coracle.fault({"refuse": 503}, {"by": "my-operator", "verb": "create", "resource": "configmaps", "nth": 1}) as fault:
        with pytest.raises(client.ApiException) as refused:
            operator.create_namespaced_config_map("default", config_map("a"))
        assert refused.value.status == 503 and fault.struck == 1
    operator.create_namespaced_config_map("default", config_map("a"))
    assert names(coracle) == {"a"} and coracle.faults() == []


def test_a_fault_with_an_unknown_word_names_it(coracle):
    with pytest.raises(package.ApiError, match="loose") as refused:
        coracle.fault({"loose": "answer"})
    assert refused.value.code == 422


def test_why_names_the_causes_of_a_pod(coracle):
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "nginx"}]}}
    body = {"metadata": {"name": "web"}, "spec": {"selector": {"matchLabels": labels}, "template": template}}
    client.AppsV1Api(core(coracle).api_client).create_namespaced_deployment("default", body)
    coracle.settle()
    pod = core(coracle).list_namespaced_pod("default").items[0].metadata.name
    chain = coracle.why(f"pod/default/{pod}")
    assert "controller-manager/replicaset" in chain and "kubernetes-admin" in chain
    assert coracle.why({"kind": "Pod", "metadata": {"name": pod, "namespace": "default"}}) == chain


def test_check_decides_claims(coracle):
    checked = coracle.check("nodes.size() == 2", {"name": "no pods", "cel": "pods.size() == 1"})
    assert not checked and [claim.holds for claim in checked.claims] == [True, False]
    assert "no pods" in str(checked)
    assert coracle.check("nodes.size() == 2")


def test_report_writes_a_page(coracle, tmp_path):
    create_pod(coracle)
    coracle.settle()
    assert "pods/default/web" in run_of(coracle.report(tmp_path / "pages" / "run.html"))
    assert any("pods/default/web" in json.dumps(event) for event in coracle.events())


def test_until_with_a_function_names_the_last_answer(coracle):
    with pytest.raises(TimeoutError, match=r"the last call gave \[\]"):
        coracle.until(lambda: core(coracle).list_namespaced_pod("default").items, within="100ms")


@pytest.mark.coracle(nodes=1, kubernetes="1.36")
def test_a_marker_selects_nodes_and_a_release(coracle):
    assert coracle.info()["kubernetes"] == "1.36"
    assert len(core(coracle).list_node().items) == 1


@pytest.mark.coracle(time="real", nodes=1)
def test_in_real_time_the_nodes_are_ready_and_the_clock_cannot_be_advanced(coracle):
    conditions = core(coracle).list_node().items[0].status.conditions
    assert {condition.type: condition.status for condition in conditions}["Ready"] == "True"
    with pytest.raises(package.ApiError) as refused:
        coracle.clock.advance("1h")
    assert refused.value.code == 409


def test_kubeconfig_is_in_the_environment(coracle, monkeypatch):
    import os

    assert os.environ["KUBECONFIG"] == coracle.kubeconfig
