"""A refused write between two steps makes an operator forget the second: over HTTPS, with the fault and without it.

CORACLE is the path of the program `coracle`; without it, the one on the PATH runs.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

from kubernetes import client, config

from small_claim import ANNOTATION, LABEL, NAMESPACE

CORACLE = os.environ.get("CORACLE", "coracle")
PATIENCE = 120
HERE = pathlib.Path(__file__).parent


def eventually(what, ask):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if ask():
            return
        time.sleep(0.02)
    raise AssertionError(f"{what}: not within {PATIENCE} s")


class Trial:
    """A cluster of its own, with the faults or without, in which one of the twins runs."""

    def __init__(self, faulty, fixed):
        self.faulty, self.fixed, self.programs = faulty, fixed, []
        self.folder = tempfile.TemporaryDirectory()
        self.environment = {**os.environ, "CORACLE_STATE_DIR": self.folder.name}

    def __enter__(self):
        arguments = ["up", "--ephemeral", "--empty", "--nodes", "0"]
        if self.faulty:
            arguments += ["--faults", str(HERE / "small_claim.yaml")]
        up = self.start([CORACLE, *arguments], stdout=subprocess.PIPE, text=True)
        next(line for line in up.stdout if "ready" in line)
        kubeconfig = self.coracle("kubeconfig", "--for", "operator").strip()
        twin = [sys.executable, str(HERE / "small_claim.py")]
        self.start(twin + ["--fixed"] * self.fixed, env={**os.environ, "KUBECONFIG": kubeconfig})
        self.api = config.new_client_from_config(str(pathlib.Path(self.folder.name, "kubeconfig")))
        self.core = client.CoreV1Api(self.api)
        return self

    def __exit__(self, *error):
        for program in reversed(self.programs):
            program.terminate()
            program.communicate()
        self.folder.cleanup()

    def start(self, command, **options):
        program = subprocess.Popen(command, **{"env": self.environment, **options})
        self.programs.append(program)
        return program

    def coracle(self, *arguments):
        return subprocess.run([CORACLE, *arguments], env=self.environment, check=True, capture_output=True, text=True).stdout

    def struck(self):
        """How often each fault has struck, as `coracle fault list` knows it."""
        listed = self.api.call_api("/coracle/v1/faults", "GET", auth_settings=["BearerToken"], response_type="object")[0]
        return [fault["struck"] for fault in listed["faults"]]

    def grows(self):
        """Makes a cluster larger, and returns the size of its claim."""
        cluster = {"metadata": {"name": "queue", "labels": {LABEL: "true"}}, "data": {"size": "10"}}
        self.core.create_namespaced_config_map(NAMESPACE, cluster)
        self.reaches("10")
        self.core.patch_namespaced_config_map("queue", NAMESPACE, {"data": {"size": "15"}})
        self.reaches("15")
        return self.core.read_namespaced_config_map("queue-claim", NAMESPACE).data["size"]

    def reaches(self, size):
        def is_reached():
            found = self.core.read_namespaced_config_map("queue", NAMESPACE)
            return (found.metadata.annotations or {}).get(ANNOTATION) == size

        eventually(f"the cluster reaches {size}", is_reached)


class SmallClaim(unittest.TestCase):
    def size_of_the_claim(self, faulty, fixed):
        with Trial(faulty, fixed) as trial:
            size = trial.grows()
            self.assertEqual(trial.struck(), [1] if faulty else [])
            return size

    def test_the_buggy_one_with_the_fault_keeps_a_small_claim(self):
        self.assertEqual(self.size_of_the_claim(faulty=True, fixed=False), "10")

    def test_the_fixed_one_with_the_fault(self):
        self.assertEqual(self.size_of_the_claim(faulty=True, fixed=True), "15")

    def test_the_buggy_one_without_a_fault(self):
        self.assertEqual(self.size_of_the_claim(faulty=False, fixed=False), "15")

    def test_the_fixed_one_without_a_fault(self):
        self.assertEqual(self.size_of_the_claim(faulty=False, fixed=True), "15")


if __name__ == "__main__":
    unittest.main()
