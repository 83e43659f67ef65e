#!/usr/bin/env bash
# `coracle check` brings the Prometheus operator to a verdict within ten minutes, with its definitions and a sample only,
# and finds the waste that docs/found.md explains: `check.sh OPERATOR MANIFESTS`.
set -uo pipefail
operator_program=$1 manifests=$2

report=$(timeout 600 "$CORACLE" check --crd "$manifests/prometheus-operator-crd" \
  --sample "$manifests/rbac/prometheus/prometheus.yaml" -- "$operator_program")
code=$?
echo "$report"
# A check fails if the status is written before the first reconciliation, which depends on the machine.
[ $code = 0 ] || [ $code = 1 ] || { echo "no verdict: exit code $code"; exit 1; }
grep -q "moves-transition-times" <<<"$report" || { echo "the moved transition time was not found"; exit 1; }
