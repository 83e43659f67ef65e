#!/usr/bin/env bash
# The example operator of kube-rs and its published manifests: `documents.sh OPERATOR MANIFESTS`.
set -euo pipefail
operator_program=$1 manifests=$2
. "$(dirname "$0")/steps.sh"

kubectl apply -f "$manifests/crd.yaml"
kubectl wait --for condition=Established --timeout 30s -f "$manifests/crd.yaml" >/dev/null
kubectl apply -f "$manifests/deployment.yaml"
operate "$(as default doc-controller)" env RUST_LOG=info,controller=debug "$operator_program"

kubectl apply -f "$manifests/instance-lorem.yaml" -f "$manifests/instance-samuel.yaml"
holds "a Document is held by a finalizer" is documents.kube.rs doc lorem -o 'jsonpath={.metadata.finalizers[*]}'
holds "one is shown" is false doc lorem -o 'jsonpath={.status.hidden}'
holds "another is hidden" is true doc samuel -o 'jsonpath={.status.hidden}'
holds "which is told" is HideRequested events.events.k8s.io --field-selector regarding.name=samuel -o 'jsonpath={.items[*].reason}'
kubectl patch doc lorem --type merge -p '{"spec": {"hide": true}}'
holds "a change is followed" is true doc lorem -o 'jsonpath={.status.hidden}'

kubectl apply -f "$manifests/instance-illegal.yaml"
holds "what is refused is said" grep -q "IllegalDocument" "$work/operator.log"
if kubectl apply -f - <<<'{"apiVersion": "kube.rs/v1", "kind": "Document", "metadata": {"name": "wrong"}, "spec": {"title": 7}}'; then
  not "the schema holds" "a title was taken that is no text"
fi

kubectl delete doc lorem samuel illegal --wait=false
holds "they are let go" gone documents
holds "which is told" is DeleteRequested events.events.k8s.io --field-selector regarding.name=lorem,reason=DeleteRequested \
  -o 'jsonpath={.items[*].reason}'
holds "its own roles were enough" permitted
