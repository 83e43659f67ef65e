"""Measures a reset of a cluster of 200 ConfigMaps from Python: measure_reset.py [COUNT]. It prints milliseconds.

A test sees the time from the call until the answer, with the TLS handshake. The program is the one that tests use, so say
with the figures whether it is a debug build.
"""

import concurrent.futures
import statistics
import sys
import time

from kubernetes import client, config

import coracle

OBJECTS = 200


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    for events in (True, False):
        with coracle.Server(coracle.Options(events=events)) as server:
            cluster = server.cluster
            core = client.CoreV1Api(config.new_client_from_config(cluster.kubeconfig))

            def create(number):
                body = {"metadata": {"name": f"map-{number}"}, "data": {"key": "x" * 200}}
                core.create_namespaced_config_map("default", body)

            with concurrent.futures.ThreadPoolExecutor(4) as pool:
                list(pool.map(create, range(OBJECTS)))
            cluster.snapshot("full")
            took = []
            for _ in range(count):
                begin = time.perf_counter()
                cluster.reset("full")
                took.append((time.perf_counter() - begin) * 1000)
            assert len(core.list_namespaced_config_map("default").items) > OBJECTS - 1
            took.sort()
            log = "with the event log" if events else "without the event log"
            p50, p95 = statistics.median(took), took[int(len(took) * 0.95)]
            print(f"reset to {OBJECTS} objects {log}: p50 {p50:.0f} ms, p95 {p95:.0f} ms ({count} resets)")


if __name__ == "__main__":
    main()
