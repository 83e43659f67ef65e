#!/usr/bin/env bash
# Cluster API's core provider with its published manifests: `clusters.sh PROGRAM MODULE`. CORACLE is the program of the
# cluster. What cert-manager and a provider of machines would do, this session does.
set -euo pipefail
program=$1 module=$2 here=$(cd "$(dirname "$0")" && pwd)
. "$here/../operators/steps.sh"

port=$(free)
certified capi-webhook-service capi-system "$work/certs"
cluster --nodes 6 --service-address "capi-system/capi-webhook-service=127.0.0.1:$port"
# `${NAME:=default}` is for clusterctl to fill in; certificates are for cert-manager, which is not here.
kubectl kustomize "$module/config/default" | sed -E 's/\$\{[A-Z_]+:=([^}]*)\}/\1/g' |
  awk 'BEGIN { RS = "---\n"; ORS = "---\n" } !/apiVersion: cert-manager.io/' >"$work/manifests.yaml"
kubectl apply --server-side -f "$work/manifests.yaml" -f "$here/provider.yaml" >/dev/null
kubectl wait --for condition=Established --timeout 30s crd --all >/dev/null
bundle=$(base64 -w0 "$work/certs/ca.crt")
for kind in mutatingwebhookconfiguration/capi-mutating-webhook-configuration validatingwebhookconfiguration/capi-validating-webhook-configuration; do
  last=$(($(kubectl get "$kind" -o 'jsonpath={.webhooks[*].name}' | wc -w) - 1))
  kubectl patch "$kind" --type json -p "[$(for at in $(seq 0 "$last"); do
    echo "{\"op\": \"add\", \"path\": \"/webhooks/$at/clientConfig/caBundle\", \"value\": \"$bundle\"},"
  done | sed '$s/,$//')]"
done
for crd in $(kubectl get crd -l cluster.x-k8s.io/provider=cluster-api -o name); do
  kubectl patch "$crd" --type json -p "[{\"op\": \"add\", \"path\": \"/spec/conversion/webhook/clientConfig/caBundle\", \"value\": \"$bundle\"}]"
done >/dev/null
operate "$(as capi-system capi-manager)" env POD_NAMESPACE=capi-system POD_NAME=manager POD_UID=manager "$program" \
  --webhook-port "$port" --webhook-cert-dir "$work/certs" --health-addr 127.0.0.1:0 --diagnostics-address 127.0.0.1:0 \
  --insecure-diagnostics

kubectl create namespace clusters
kubectl config set-context --current --namespace clusters
described() { kubectl apply -f "$here/fleet.yaml"; }
holds "a cluster and its machines are taken, by webhooks that fill them in" described
# Secrets like it are how Cluster API reaches the clusters that it makes.
kubectl config view --raw --minify >"$work/fleet"
kubectl create secret generic fleet-kubeconfig --type cluster.x-k8s.io/secret --from-file=value="$work/fleet"
kubectl label secret fleet-kubeconfig cluster.x-k8s.io/cluster-name=fleet
kubectl patch papercluster fleet --subresource status --type merge -p '{"status": {"initialization": {"provisioned": true}}}'
kubectl patch papercontrolplane fleet --subresource status --type merge \
  -p '{"status": {"initialization": {"controlPlaneInitialized": true}, "version": "v1.35.3"}}'

holds "what its webhooks refuse is refused" says 'spec.selector' kubectl patch machinedeployment workers --type merge \
  -p '{"spec": {"template": {"metadata": {"labels": {"role": "other"}}}}}'
holds "one version is read as another" is "v1beta1 PaperCluster" clusters.v1beta1.cluster.x-k8s.io fleet \
  -o 'jsonpath=v1beta1 {.spec.infrastructureRef.kind}'
holds "with what only the other has" is "infrastructure.cluster.x-k8s.io/v1" clusters.v1beta1.cluster.x-k8s.io fleet \
  -o 'jsonpath={.spec.infrastructureRef.apiVersion}'
holds "its infrastructure is found" is Provisioned cluster fleet -o 'jsonpath={.status.phase}'
holds "machines are made" is "2" machinedeployment workers -o 'jsonpath={.status.replicas}'
machines() { [ "$(kubectl get papermachines -o name | wc -l)" = "$1" ]; }
holds "each of an infrastructure's machine" machines 2

# A provider: each machine that has none gets one of the nodes.
provide() {
  local machine node taken
  while sleep 0.3; do
    for machine in $(kubectl get papermachines -o 'go-template={{range .items}}{{if not .spec.providerID}}{{.metadata.name}}{{"\n"}}{{end}}{{end}}'); do
      taken=$(kubectl get papermachines -o 'jsonpath={.items[*].spec.providerID}')
      for node in $(kubectl get nodes -o 'jsonpath={.items[*].metadata.name}'); do
        case " $taken " in *" paper://$node "*) continue ;; esac
        kubectl patch node "$node" --type merge -p "{\"spec\": {\"providerID\": \"paper://$node\"}}"
        kubectl patch papermachine "$machine" --type merge -p "{\"spec\": {\"providerID\": \"paper://$node\"}}"
        kubectl patch papermachine "$machine" --subresource status --type merge -p '{"status": {"initialization": {"provisioned": true}}}'
        break
      done
    done
  done
}
alongside provide >"$work/provider.log" 2>&1
running() { is "$1" machines -o 'jsonpath={.items[*].status.phase}'; }
holds "with nodes they run" running "Running Running"
holds "and are ready" is 2 machinedeployment workers -o 'jsonpath={.status.readyReplicas}'
kubectl scale machinedeployment workers --replicas 3
holds "more are made by scaling" running "Running Running Running"
kubectl patch machinedeployments.v1beta1.cluster.x-k8s.io workers --type merge \
  -p '{"spec": {"template": {"spec": {"infrastructureRef": {"name": "large"}}}}}'
large() { is "large large large" papermachines -o 'jsonpath={.items[*].spec.size}' && running "Running Running Running"; }
holds "another template, written in the old version, is rolled out" large
holds "and all are as wanted" is "3 3" machinedeployment workers -o 'jsonpath={.status.upToDateReplicas} {.status.availableReplicas}'

kubectl delete cluster fleet --wait=false
holds "a cluster goes with all that it is made of" gone clusters,machinedeployments,machinesets,machines,paperclusters,papermachines
holds "its own roles were enough" permitted
