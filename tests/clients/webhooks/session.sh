#!/usr/bin/env bash
# A mutating webhook of another language: `session.sh PROGRAM...`, which is started with an address, a certificate and its key, and does
# what kube-rs's example of an admission controller does: it adds a label `admission` and refuses objects with a label `illegal`.
set -euo pipefail
. "$(dirname "$0")/../operators/steps.sh"

openssl req -x509 -newkey rsa:2048 -nodes -days 2 -keyout "$work/tls.key" -out "$work/tls.crt" -subj /CN=localhost \
  -addext subjectAltName=DNS:localhost,IP:127.0.0.1 2>/dev/null
port=$(free) name=admission-$(basename "$work" | tr 'A-Z._' 'a-z--')
"$@" "127.0.0.1:$port" "$work/tls.crt" "$work/tls.key" >"$work/operator.log" 2>&1 &
operator=$!
listens() { (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; }
holds "the webhook listens" listens

kubectl create namespace "$name"
gone() {
  kubectl delete mutatingwebhookconfiguration "$name" --ignore-not-found
  kubectl delete namespace "$name" --wait=false
  kill "$operator"; wait "$operator"; rm -rf "$work"
}
trap 'gone >/dev/null 2>&1 || true' EXIT
kubectl create -f - <<MANIFEST
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: $name}
webhooks:
- name: admission.example.com
  clientConfig: {url: "https://localhost:$port/mutate", caBundle: $(base64 -w0 <"$work/tls.crt")}
  rules: [{operations: [CREATE, UPDATE], apiGroups: [""], apiVersions: [v1], resources: [configmaps]}]
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: $name}}
  failurePolicy: Fail
  admissionReviewVersions: [v1]
  sideEffects: None
MANIFEST
inside() { kubectl -n "$name" "$@"; }
label() { inside get configmap "$1" -o 'jsonpath={.metadata.labels.admission}'; }
created() { inside create configmap plain --from-literal=a=b 2>/dev/null || inside get configmap plain >/dev/null; [ "$(label plain)" = modified-by-admission-controller ]; }
holds "an object gets the label" created
inside create -f - <<<'{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "labelled", "labels": {"admission": "own"}}}'
keeps() { [ "$(label labelled)" = own ]; }
holds "an object that has the label keeps its own" keeps
illegal='{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "bad", "labels": {"illegal": "yes"}}}'
refused() { ! inside create -f - <<<"$illegal" 2>"$work/refusal" && grep -q "denied the request: Resource contained 'illegal' label" "$work/refusal"; }
holds "an object with the label illegal is refused" refused
