#!/usr/bin/env bash
# nodes.sh KUBECTL: what kubectl does with the nodes' part of a cluster: exec, logs -f, debug, top and drain.
set -euo pipefail
kubectl=$1
name=web-$RANDOM
say() { echo "-- $*"; }
fail() { echo "$*" >&2; exit 1; }
# within SECONDS WHAT COMMAND...: until the command succeeds.
within() {
  local end=$((SECONDS + $1)) what=$2; shift 2
  until "$@"; do [ $SECONDS -lt $end ] || fail "not in time: $what"; sleep 0.2; done
}
trap 'set +e; "$kubectl" uncordon "$node" >/dev/null 2>&1; "$kubectl" delete pod "$name" --now --wait=false >/dev/null 2>&1; true' EXIT
node=none

say exec
"$kubectl" run "$name" --image=busybox --annotations=coracle.dev/cpu=250m -- sh -c 'echo started; sleep 3; echo later; sleep 3600' >/dev/null
within 30 "the pod runs" "$kubectl" wait --for=condition=Ready "pod/$name" --timeout=5s
[ "$("$kubectl" exec "$name" -- hostname)" = "$name" ] || fail "exec: hostname"
code=0; "$kubectl" exec "$name" -- sh -c 'exit 7' 2>/dev/null || code=$?
[ "$code" = 7 ] || fail "exec: the exit code is $code"

say logs -f
# It would follow for ever.
told=$(timeout 8 "$kubectl" logs -f "$name" || true)
[ "$told" = $'started\nlater' ] || fail "logs -f: $told"

say debug
"$kubectl" debug "$name" --image=busybox -c looker -- sh -c 'hostname' >/dev/null
within 30 "the debug container has ended" bash -c "'$kubectl' get pod $name -o jsonpath='{.status.ephemeralContainerStatuses[0].state.terminated.exitCode}' | grep -qx 0"
"$kubectl" logs "$name" -c looker | grep -qx "$name" || fail "debug: $("$kubectl" logs "$name" -c looker)"
"$kubectl" debug "$name" -i --image=busybox -c attached -- sh -c 'sleep 2; echo attached' 2>/dev/null </dev/null | grep -qx attached || fail "debug -i"

say top
within 90 "there is usage of the pod" bash -c "'$kubectl' top pod $name --no-headers 2>/dev/null | grep -Eq '250m'"
within 30 "there is usage of nodes" bash -c "'$kubectl' top node --no-headers >/dev/null 2>&1"

say drain
node=$("$kubectl" get pod "$name" -o jsonpath='{.spec.nodeName}')
"$kubectl" drain "$node" --ignore-daemonsets --delete-emptydir-data --force --timeout=60s >/dev/null
"$kubectl" get pod "$name" >/dev/null 2>&1 && fail "drain: the pod is still there"
"$kubectl" get node "$node" -o jsonpath='{.spec.unschedulable}' | grep -qx true || fail "drain: the node is not cordoned"
"$kubectl" uncordon "$node" >/dev/null
say "all as it should be"
