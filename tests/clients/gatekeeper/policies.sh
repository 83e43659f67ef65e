#!/usr/bin/env bash
# The policy engine Gatekeeper with its published manifests and examples: `policies.sh PROGRAM MODULE`. CORACLE is the
# program of the cluster.
set -euo pipefail
program=$1 module=$2
. "$(dirname "$0")/../operators/steps.sh"

port=$(free)
cluster --service-address "gatekeeper-system/gatekeeper-webhook-service=127.0.0.1:$port"
kubectl apply --server-side -f "$module/deploy/gatekeeper.yaml" >/dev/null
kubectl wait --for condition=Established --timeout 30s crd --all >/dev/null
kubectl -n gatekeeper-system rollout status deployment gatekeeper-controller-manager --timeout 60s
pod=$(kubectl -n gatekeeper-system get pods -l gatekeeper.sh/operation=webhook -o 'jsonpath={.items[0].metadata.name}')
mkdir "$work/certs" "$work/audit"
operate "$(as gatekeeper-system gatekeeper-admin)" env POD_NAMESPACE=gatekeeper-system NAMESPACE=gatekeeper-system \
  POD_NAME="$pod" "$program" --host=127.0.0.1 --port="$port" --cert-dir="$work/certs" --health-addr=127.0.0.1:0 \
  --exempt-namespace=gatekeeper-system --disable-opa-builtin='{http.send}' --audit-interval=2 --api-cache-dir="$work/audit" --logtostderr

# Its pod has the Secret mounted that it makes for itself; on this machine somebody has to.
mounted() {
  local name
  for name in ca.crt tls.crt tls.key; do
    kubectl -n gatekeeper-system get secret gatekeeper-webhook-server-cert \
      -o "go-template={{index .data \"$name\" | base64decode}}" >"$work/$name" && [ -s "$work/$name" ] || return
  done
  mv "$work"/{ca.crt,tls.crt,tls.key} "$work/certs/"
}
holds "it makes itself a certificate" mounted
trusted() { kubectl get validatingwebhookconfigurations gatekeeper-validating-webhook-configuration \
  -o 'jsonpath={.webhooks[*].clientConfig.caBundle}' | grep -q ' '; }
holds "and has its webhooks trust it" trusted
answers() { kubectl label namespace default touched=yes --overwrite; }
holds "they answer" answers

kubectl apply -f "$module/demo/basic/templates/k8srequiredlabels_template.yaml"
holds "a template becomes a kind of its own" is True crd k8srequiredlabels.constraints.gatekeeper.sh \
  -o 'jsonpath={.status.conditions[?(@.type=="Established")].status}'
constrained() { kubectl apply -f "$module/demo/basic/constraints/all_ns_must_have_gatekeeper.yaml"; }
holds "of which a constraint is made" constrained
refused() { says 'you must provide labels: {"gatekeeper"}' kubectl apply -f "$module/demo/basic/bad/bad_ns.yaml"; }
holds "what breaks it is refused, in its words" refused
holds "also when it is only tried" says 'denied the request: [ns-must-have-gk]' kubectl create namespace untried --dry-run=server
holds "what keeps it is let through" kubectl apply -f "$module/demo/basic/good/good_ns.yaml"
holds "a template that does not compile is refused" says 'denied the request' kubectl apply -f "$module/demo/basic/bad/bad_template.yaml"
audited() { kubectl get k8srequiredlabels ns-must-have-gk -o 'jsonpath={.status.violations[*].name}' | grep -q kube-system; }
holds "what was there before is found by its audit" audited

kubectl apply -f - <<'END'
apiVersion: mutations.gatekeeper.sh/v1
kind: Assign
metadata: {name: always-pull}
spec:
  applyTo: [{groups: [""], kinds: [Pod], versions: [v1]}]
  match: {scope: Namespaced, kinds: [{apiGroups: ["*"], kinds: [Pod]}], namespaces: [good-ns]}
  location: "spec.containers[name:*].imagePullPolicy"
  parameters: {assign: {value: Always}}
END
pulls() {
  kubectl -n good-ns delete pod pulled --ignore-not-found --now >/dev/null 2>&1
  kubectl -n good-ns run pulled --image=app:1 --image-pull-policy=Never >/dev/null && is Always -n good-ns pod pulled \
    -o 'jsonpath={.spec.containers[0].imagePullPolicy}'
}
holds "a pod is changed as an Assign says" pulls

kubectl delete k8srequiredlabels ns-must-have-gk
holds "a constraint that is gone binds nobody" kubectl apply -f "$module/demo/basic/bad/bad_ns.yaml"
kubectl delete constrainttemplate k8srequiredlabels
holds "with its template its kind goes" gone crd k8srequiredlabels.constraints.gatekeeper.sh
kill "$operator"; wait "$operator" 2>/dev/null || true
sleep 600 & operator=$!
holds "without it, what must be asked is refused" says 'failed calling webhook "check-ignore-label.gatekeeper.sh"' \
  kubectl create namespace unasked
holds "and what may go unasked is not" kubectl -n good-ns create configmap unasked
holds "its own roles were enough" permitted
