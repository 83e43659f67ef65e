#!/usr/bin/env bash
# The API server of k8s.io/sample-apiserver and its published manifests: `flunders.sh PROGRAM ARTIFACTS`. CORACLE is the
# program of the cluster, which has to be one of its own: it is told where the service of the manifests is answered.
set -euo pipefail
program=$1 artifacts=$2
work=$(mktemp -d)
. "$(dirname "$0")/../operators/steps.sh"

free() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
port=$(free) store=$(free)
export CORACLE_STATE_DIR=$work/state
"$CORACLE" store --listen-client-urls "http://127.0.0.1:$store" --data-dir "$work/data" >"$work/store.log" 2>&1 &
others=$!
"$CORACLE" up --ephemeral --service-address "wardle/api=127.0.0.1:$port" >"$work/up.log" 2>&1 &
others="$others $!"
trap 'kill $others 2>/dev/null; wait $others 2>/dev/null; rm -rf "$work"' EXIT
for _ in $(seq 200); do grep -q ready "$work/up.log" && break; sleep 0.05; done
eval "$("$CORACLE" env)" || { cat "$work/up.log"; exit 70; }

kubectl apply -f "$artifacts/example/ns.yaml"
kubectl apply -f "$artifacts/example"
account=$(as wardle apiserver)
serve() {
  operate "$account" "$program" --secure-port "$port" --bind-address 127.0.0.1 --cert-dir "$work/certificates" \
    --etcd-servers "http://127.0.0.1:$store" --kubeconfig "$account" --authentication-kubeconfig "$account" \
    --authorization-kubeconfig "$account"
  trap 'kill $operator $others 2>/dev/null; wait $operator $others 2>/dev/null; rm -rf "$work"' EXIT
}
serve
available='jsonpath={.status.conditions[?(@.type=="Available")].reason}'
of_wardle=(apiservice v1alpha1.wardle.example.com -o "$available")
holds "a server that answers is available" is Passed "${of_wardle[@]}"
offered() { kubectl api-resources --api-group wardle.example.com -o name | grep -qx flunders.wardle.example.com; }
holds "its kinds are in discovery" offered
explained() { kubectl explain flunders.spec | grep -q referenceType; }
holds "and explained" explained

kubectl get flunders --watch --output-watch-events -o 'jsonpath={.type} {.object.metadata.name}{"\n"}' >"$work/events" 2>"$work/warnings" &
others="$others $!"
kubectl apply -f "$artifacts/flunders/01-flunder.yaml"
holds "a Flunder is created and listed" is my-first-flunder flunders -o 'jsonpath={.items[*].metadata.name}'
kubectl label flunder my-first-flunder sample-label=false --overwrite
kubectl delete flunder my-first-flunder
watched() {
  [ "$(tr '\n' ' ' <"$work/events")" = "ADDED my-first-flunder MODIFIED my-first-flunder DELETED my-first-flunder " ] ||
    { cat "$work/events" "$work/warnings"; return 1; }
}
holds "who watches is told of each change" watched

# says TEXT KUBECTL-ARGUMENTS...: whether kubectl is refused with this text.
says() {
  local wanted=$1; shift
  ! kubectl "$@" >"$work/refusal" 2>&1 && grep -q "$wanted" "$work/refusal" || { cat "$work/refusal"; return 1; }
}
refused() { says 'User "somebody" cannot list resource "flunders"' get flunders "$@" --as somebody; }
holds "who may not is refused" refused
kubectl create role flunders --verb get,list --resource flunders.wardle.example.com
kubectl create rolebinding flunders --role flunders --user somebody
holds "who may is let through, under its own name" kubectl get flunders --as somebody
holds "and not everywhere" refused -n kube-system

kubectl create namespace fleet
kubectl apply -n fleet -f "$artifacts/flunders/01-flunder.yaml"
kubectl delete namespace fleet --timeout 60s
holds "a namespace goes with the objects that the other server has in it" gone flunders -n fleet

kubectl create namespace convoy
kubectl apply -n convoy -f "$artifacts/flunders/01-flunder.yaml"
kill "$operator"; wait "$operator" 2>/dev/null || true
sleep 60 & operator=$!
holds "one that has ended is no longer available" is FailedDiscoveryCheck "${of_wardle[@]}"
holds "and requests for it are answered so" says "the server is currently unable to handle the request" get flunders
kubectl delete namespace convoy --wait=false
failure='jsonpath={.status.conditions[?(@.type=="NamespaceDeletionDiscoveryFailure")].message}'
why='Discovery failed for some groups, 1 failing: unable to retrieve the complete list of server APIs:'
why="$why wardle.example.com/v1alpha1: stale GroupVersion discovery: wardle.example.com/v1alpha1"
holds "a namespace waits for it, and says so" is "$why" namespace convoy -o "$failure"
kill "$operator"; wait "$operator" 2>/dev/null || true
serve
holds "it comes back" is Passed "${of_wardle[@]}"
holds "and the namespace goes" gone namespace convoy
holds "it was never refused what it asked for" permitted
