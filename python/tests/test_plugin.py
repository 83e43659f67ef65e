"""The plug-in in a pytest of its own: every claim is a test's name."""

import pathlib
import re

from pages import run_of

FAILING = """
    from kubernetes import client, config

    def test_fails(coracle):
        core = client.CoreV1Api(config.new_client_from_config(coracle.kubeconfig))
        core.create_namespaced_config_map("default", {"metadata": {"name": "the-last-one"}})
        assert 1 == 2

    def test_passes(coracle):
        pass
"""


def test_a_failure_shows_the_path_of_the_page(pytester):
    pytester.makepyfile(FAILING)
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(failed=1, passed=1)
    path = re.search(r"the page of the run: (\S+)", result.stdout.str()).group(1)
    assert "the-last-one" in run_of(path)
    assert [page.name for page in pathlib.Path(path).parent.iterdir()] == [pathlib.Path(path).name]


def test_ini_options_select_the_cluster_and_the_folder_of_pages(pytester):
    pytester.makeini("[pytest]\ncoracle_nodes = 1\ncoracle_kubernetes = 1.35\ncoracle_report_dir = pages\n")
    pytester.makepyfile(
        """
        def test_nodes(coracle, coracle_server):
            assert coracle.check("nodes.size() == 1") and coracle.info()["kubernetes"] == "1.35"
            assert coracle_server.cluster is coracle
            assert False
        """
    )
    result = pytester.runpytest_subprocess()
    assert "pages/test_ini_options" in result.stdout.str()


def test_a_marker_with_an_unknown_name_lists_the_known_ones(pytester):
    pytester.makepyfile("import pytest\n\n@pytest.mark.coracle(node=1)\ndef test_it(coracle):\n    pass\n")
    result = pytester.runpytest_subprocess()
    assert "unknown name: use nodes, kubernetes, time, seed" in result.stdout.str()


def test_a_missing_program_is_one_sentence_in_the_output(pytester, monkeypatch):
    monkeypatch.setenv("CORACLE_BIN", "/no/such/coracle")
    pytester.makepyfile("def test_it(coracle):\n    pass\n")
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(errors=1)
    assert "CORACLE_BIN names /no/such/coracle, which is not a file" in result.stdout.str()


def test_each_worker_of_xdist_has_a_server(pytester):
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.parametrize("number", range(4))
        def test_writes_its_server(coracle, coracle_server, worker_id, number):
            with open("servers", "a") as servers:
                servers.write(f"{worker_id} {coracle.server}\\n")
        """
    )
    pytester.runpytest_subprocess("-n2", "--dist=each").assert_outcomes(passed=8)
    lines = set((pytester.path / "servers").read_text().splitlines())
    assert {line.split()[0] for line in lines} == {"gw0", "gw1"} and len(lines) == 2
    assert len({line.split()[1] for line in lines}) == 2
