#!/usr/bin/env bash
# The life of a release of Helm's own example chart: `releases.sh HELM`. CORACLE is the program of the cluster.
set -euo pipefail
helm=$1
. "$(dirname "$0")/../operators/steps.sh"
export HELM_CACHE_HOME=$work/cache HELM_CONFIG_HOME=$work/config HELM_DATA_HOME=$work/data

cluster
operate "$KUBECONFIG" sleep 3600
kubectl create namespace shop
kubectl config set-context --current --namespace shop
"$helm" create "$work/web" >/dev/null
release() { "$helm" "$@" --timeout 60s; }

release install web "$work/web" --dry-run=server >"$work/rendered"
holds "what is only tried is not there" gone deployments,services
holds "but shown" grep -q 'kind: Deployment' "$work/rendered"
release install web "$work/web" --wait
holds "an installed release has pods that are ready" is 1 deployment web -o 'jsonpath={.status.readyReplicas}'
holds "and is kept in a Secret" is helm.sh/release.v1 secret sh.helm.release.v1.web.v1 -o 'jsonpath={.type}'
listed() { "$helm" list -o json | grep -q '"status":"deployed"'; }
holds "it is listed as deployed" listed
holds "a name is taken once" says "a name that is still in use" release install web "$work/web"

release upgrade web "$work/web" --set replicaCount=3,autoscaling.enabled=false --wait
holds "an upgrade is rolled out" is 3 deployment web -o 'jsonpath={.status.readyReplicas}'
holds "of what is refused, the API server's words are told" says "must be between 1 and 65535" \
  release upgrade web "$work/web" --set service.port=70000
failed() { "$helm" history web -o json | grep -q '"status":"failed"'; }
holds "and the release says that it failed" failed
kubectl delete service web
release upgrade web "$work/web" --set replicaCount=2 --wait
holds "what somebody deleted comes back" is ClusterIP service web -o 'jsonpath={.spec.type}'
holds "and the rest is as wanted" is 2 deployment web -o 'jsonpath={.status.readyReplicas}'

release rollback web 1 --wait
holds "a rollback brings the first revision back" is 1 deployment web -o 'jsonpath={.status.readyReplicas}'
revisions() { [ "$("$helm" history web -o json | grep -o '"revision":' | wc -l)" = 5 ]; }
holds "and is a revision of its own" revisions
release upgrade --install other "$work/web" --set autoscaling.enabled=true,ingress.enabled=true
holds "a chart with more in it is taken, too" is other-web ingress other-web -o 'jsonpath={.metadata.name}'

release uninstall web --wait
holds "what is uninstalled goes" gone deployments,services,serviceaccounts -l app.kubernetes.io/instance=web
holds "and what is kept of it" gone secrets -l name=web,owner=helm
holds "the other release stays" is other-web deployment other-web -o 'jsonpath={.metadata.name}'
