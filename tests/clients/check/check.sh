#!/usr/bin/env bash
# `coracle check` finds the fault that breaks a forgetful controller, and no fault that breaks its fixed twin.
set -uo pipefail
cd "$(dirname "$0")"
plans=$(mktemp -d)
trap 'rm -rf "$plans"' EXIT

"$CORACLE" check --sample sample.yaml --plans 16 --keep-plans "$plans" -- python3 operator.py --forgetful
code=$?
[ $code = 1 ] || { echo "the forgetful controller: exit code $code instead of 1"; exit 1; }
[ -f "$plans/leaves-behind-1.yaml" ] || { echo "no plan was kept for what it leaves behind"; ls "$plans"; exit 1; }

# The plans of the forgetful one are tried first.
"$CORACLE" check --sample sample.yaml --plans 16 --keep-plans "$plans" -- python3 operator.py
code=$?
[ $code = 0 ] || { echo "the fixed controller: exit code $code instead of 0"; exit 1; }
