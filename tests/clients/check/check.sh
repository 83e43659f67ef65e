#!/usr/bin/env bash
# `coracle check` finds the fault that breaks a forgetful controller, and no fault that breaks its fixed twin. A finding is
# a file, which is replayed.
set -uo pipefail
cd "$(dirname "$0")"
found=$(mktemp -d)
trap 'rm -rf "$found"' EXIT
plan="$found/leaves-behind-1.yaml"
sample=(--sample sample.yaml)

# check CODE WHAT ARGUMENT...: the exit code of a check. Its report is in $found/report.
check() {
  local wanted=$1 what=$2 code; shift 2
  "$CORACLE" check "${sample[@]}" "$@" >"$found/report" 2>"$found/notes"
  code=$?
  cat "$found/report" "$found/notes"
  [ $code = "$wanted" ] || { echo "$what: exit code $code instead of $wanted"; exit 1; }
}
# shows TEXT: whether the report or a note has it.
shows() { grep -q -- "$1" "$found/report" "$found/notes" || { echo "it does not show: $1"; exit 1; }; }

check 1 "the forgetful controller" --budget 4 --out "$found" -- python3 operator.py --forgetful
shows 'continue it with --from 5'
[ -f "$plan" ] || { echo "no plan was kept for what it leaves behind"; ls "$found"; exit 1; }
"$CORACLE" view "$plan" --report "$found/both.html" || { echo "the page of the plan is not shown"; exit 1; }

check 1 "the plan, with the forgetful controller" --plan "$plan" -- python3 operator.py --forgetful
shows 'leaves-behind still fails'
check 0 "the plan, with the fixed controller" --plan "$plan" -- python3 operator.py
shows 'leaves-behind does not fail any more'
shows 'write [0-9]* is'
check 2 "the plan, with a controller of another name" --name other --plan "$plan" -- python3 operator.py
shows 'it is a plan of the controller `controller`'

# The plans of the forgetful one are tried first.
check 0 "the fixed controller" --budget 17 --out "$found" -- python3 operator.py
check 0 "the fixed controller without faults" --faults none --format json -- python3 operator.py
python3 - "$found/report" <<'END' || exit 1
import json, sys
report = json.load(open(sys.argv[1]))
assert not report["fails"] and report["tried"]["plans"] == 0, report
assert report["tried"]["sites"], report
END

check 3 "a budget that is too short for the runs without a fault" --budget 1s -- python3 operator.py
shows 'give it more time with --budget'

# A project with definitions, samples and roles in the folders of kubebuilder needs no flag. The program is a leader: its
# Lease is given up for it when it is killed, and its process is stopped when it is paused.
cd project
sample=()
check 0 "the leader is killed" --faults kill --budget 12 -- python3 ../operator.py --leader "$found/killed"
shows '12 plans, 12 struck'
[ ! -e "$found/killed" ] || { echo "a killed leader's Lease was not given up"; cat "$found/killed"; exit 1; }
check 0 "the leader is paused" --faults pause --budget 2 -- python3 ../operator.py --leader "$found/paused"
grep -q 'was stopped' "$found/paused" || { echo "no process was stopped"; exit 1; }

# Ctrl-C prints what was found so far, and where to continue.
"$CORACLE" check --faults pause --budget 500 -- python3 ../operator.py --leader "$found/interrupted" >"$found/report" 2>"$found/notes" &
search=$!
until grep -qs continues "$found/interrupted"; do kill -0 $search || exit 1; sleep 0.1; done
kill -INT $search
wait $search
code=$?
[ $code = 130 ] || { echo "an interrupted search: exit code $code instead of 130"; exit 1; }
shows 'the search was interrupted; continue it with --from [0-9]'
shows 'faults that struck\|0 plans'

check 0 "the roles" --faults none --rbac -- python3 ../operator.py --leader "$found/roles"
shows 'kind: Role$'
shows 'manifests also grant: get on secrets'
shows 'manifests also grant: \* on foos.example.com'
# Without the roles for its Lease, the program can do nothing.
rm -rf "$found/less" && mkdir "$found/less" && cp config/rbac/role.yaml "$found/less"
check 2 "a program that may not read its Lease" --faults none --role "$found/less" -- \
  python3 ../operator.py --leader "$found/less/notes"
shows 'do not permit what the controller needs, without a fault: get leases.coordination.k8s.io'
