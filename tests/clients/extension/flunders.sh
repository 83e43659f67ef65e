#!/usr/bin/env bash
# The API server of k8s.io/sample-apiserver and its published manifests: `flunders.sh PROGRAM ARTIFACTS`. CORACLE is the
# program of the cluster, which has to be one of its own: it is told where the service of the manifests is answered.
set -euo pipefail
program=$1 artifacts=$2
. "$(dirname "$0")/../operators/steps.sh"

port=$(free) store=$(free)
export CORACLE_STATE_DIR=$work/state
alongside "$CORACLE" store --listen-client-urls "http://127.0.0.1:$store" --data-dir "$work/data" >"$work/store.log" 2>&1
cluster --service-address "wardle/api=127.0.0.1:$port"

kubectl apply -f "$artifacts/example/ns.yaml"
kubectl apply -f "$artifacts/example"
account=$(as wardle apiserver)
serve() {
  operate "$account" "$program" --secure-port "$port" --bind-address 127.0.0.1 --cert-dir "$work/certificates" \
    --etcd-servers "http://127.0.0.1:$store" --kubeconfig "$account" --authentication-kubeconfig "$account" \
    --authorization-kubeconfig "$account"
}
serve
available='jsonpath={.status.conditions[?(@.type=="Available")].reason}'
of_wardle=(apiservice v1alpha1.wardle.example.com -o "$available")
holds "a server that answers is available" is Passed "${of_wardle[@]}"
offered() { kubectl api-resources --api-group wardle.example.com -o name | grep -qx flunders.wardle.example.com; }
holds "its kinds are in discovery" offered
explained() { kubectl explain flunders.spec | grep -q referenceType; }
holds "and explained" explained

alongside kubectl get flunders --watch --output-watch-events -o 'jsonpath={.type} {.object.metadata.name}{"\n"}' >"$work/events" 2>"$work/warnings"
kubectl apply -f "$artifacts/flunders/01-flunder.yaml"
holds "a Flunder is created and listed" is my-first-flunder flunders -o 'jsonpath={.items[*].metadata.name}'
kubectl label flunder my-first-flunder sample-label=false --overwrite
kubectl delete flunder my-first-flunder
watched() {
  [ "$(tr '\n' ' ' <"$work/events")" = "ADDED my-first-flunder MODIFIED my-first-flunder DELETED my-first-flunder " ] ||
    { cat "$work/events" "$work/warnings"; return 1; }
}
holds "who watches is told of each change" watched

refused() { says 'User "somebody" cannot list resource "flunders"' kubectl get flunders "$@" --as somebody; }
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
holds "and requests for it are answered so" says "the server is currently unable to handle the request" kubectl get flunders
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
