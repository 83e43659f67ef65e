#!/usr/bin/env bash
# The Prometheus operator and its published manifests: `prometheus.sh OPERATOR MANIFESTS`.
set -euo pipefail
operator_program=$1 manifests=$2
. "$(dirname "$0")/steps.sh"

kubectl apply --server-side -f "$manifests/prometheus-operator-crd"
kubectl wait --for condition=Established --timeout 30s -f "$manifests/prometheus-operator-crd" >/dev/null
kubectl apply -f "$manifests/rbac/prometheus-operator"
operate "$(as default prometheus-operator)" "$operator_program" --web.listen-address 127.0.0.1:0 \
  --kubelet-service kube-system/kubelet --kubelet-endpoints=true --kubelet-endpointslice=false

available='jsonpath={.status.conditions[?(@.type=="Available")].status} {.status.availableReplicas}'
running='jsonpath={.items[*].status.phase}'
of_prometheus=(pods -l prometheus=prometheus -o "$running")

kubectl apply -f "$manifests/rbac/prometheus"
holds "a Prometheus becomes a StatefulSet whose pods run" is "Running Running" "${of_prometheus[@]}"
holds "it says that it is available" is "True 2" prometheus prometheus -o "$available"
holds "and that it is reconciled" \
  is True prometheus prometheus -o 'jsonpath={.status.conditions[?(@.type=="Reconciled")].status}'
holds "there is a service for it" is None service prometheus-operated -o 'jsonpath={.spec.clusterIP}'
holds "and what it is configured with" is Opaque secret prometheus-prometheus -o 'jsonpath={.type}'
holds "the nodes are found" is "$(kubectl get nodes -o name | wc -l)" -n kube-system endpoints kubelet \
  -o 'go-template={{len (index .subsets 0).addresses}}'

kubectl apply -f "$manifests/user-guides/getting-started/example-app-service-monitor.yaml"
before=$(kubectl get secret prometheus-prometheus -o 'jsonpath={.metadata.resourceVersion}')
kubectl patch prometheus prometheus --type merge -p '{"spec": {"scrapeInterval": "7s"}}'
configured() { [ "$(kubectl get secret prometheus-prometheus -o 'jsonpath={.metadata.resourceVersion}')" != "$before" ]; }
holds "a change goes into the configuration" configured

pod=$(kubectl get pod prometheus-prometheus-0 -o 'jsonpath={.metadata.uid}')
kubectl delete pod prometheus-prometheus-0
replaced() { is "Running Running" "${of_prometheus[@]}" && ! is "$pod" pod prometheus-prometheus-0 -o 'jsonpath={.metadata.uid}'; }
holds "a deleted pod comes back" replaced
set_=$(kubectl get statefulset prometheus-prometheus -o 'jsonpath={.metadata.uid}')
kubectl delete statefulset prometheus-prometheus
remade() { is "Running Running" "${of_prometheus[@]}" && ! is "$set_" statefulset prometheus-prometheus -o 'jsonpath={.metadata.uid}'; }
holds "a deleted StatefulSet comes back" remade
holds "and is available again" is "True 2" prometheus prometheus -o "$available"

kubectl patch prometheus prometheus --type merge -p '{"spec": {"replicas": 3}}'
holds "it grows" is "Running Running Running" "${of_prometheus[@]}"
kubectl patch prometheus prometheus --type merge -p '{"spec": {"replicas": 1}}'
holds "and gets smaller" is "Running" "${of_prometheus[@]}"
holds "which it says" is "True 1" prometheus prometheus -o "$available"
kubectl scale prometheus prometheus --replicas 2
holds "it is scaled by shards, each a StatefulSet" is "1 1" statefulsets -l prometheus=prometheus \
  -o 'jsonpath={.items[*].status.availableReplicas}'

kubectl apply -f "$manifests/user-guides/alerting/alertmanager-example.yaml"
holds "an Alertmanager runs, too" is "Running Running Running" pods -l alertmanager=example -o "$running"
holds "and is available" is "True 3" alertmanager example -o "$available"

kubectl delete prometheus prometheus
kubectl delete alertmanager example
holds "their StatefulSets go with them" gone statefulsets
holds "and their pods" gone pods -l 'app.kubernetes.io/managed-by=prometheus-operator'
holds "its own roles were enough" permitted
