# What the sessions of operators share: an operator on this machine with the rights of its own manifests, and claims about
# what it does. `work` is a folder of the session's own.

# as NAMESPACE ACCOUNT: a kubeconfig of this service account and nobody else.
as() {
  local file=$work/$2.kubeconfig
  kubectl config view --raw --minify >"$file"
  kubectl --kubeconfig "$file" config set-credentials account --token "$(kubectl create token -n "$1" "$2")" >/dev/null
  kubectl --kubeconfig "$file" config set-context --current --user account >/dev/null
  kubectl --kubeconfig "$file" auth whoami -o 'jsonpath={.status.userInfo.username}' | grep -qx "system:serviceaccount:$1:$2" ||
    { echo "the kubeconfig of $1/$2 speaks for somebody else" >&2; return 1; }
  echo "$file"
}

# operate KUBECONFIG PROGRAM...: starts an operator; it ends with the session.
operate() {
  KUBECONFIG=$1 "${@:2}" >"$work/operator.log" 2>&1 &
  operator=$!
  trap 'kill $operator 2>/dev/null; wait $operator 2>/dev/null; rm -rf "$work"' EXIT
}

# not CLAIM WHY: ends the session, with the last that the operator said.
not() { tail -25 "$work/operator.log" | cut -c1-300; echo "NOT $1: $2"; exit 1; }

# holds CLAIM COMMAND...: waits half a minute, or a bit longer on a busy machine, until a command says yes.
holds() {
  local claim=$1; shift
  for _ in $(seq 150); do
    if "$@" >"$work/said" 2>&1; then echo "ok  $claim"; return; fi
    kill -0 "$operator" 2>/dev/null || not "$claim" "the operator has ended"
    sleep 0.2
  done
  not "$claim" "$(cat "$work/said")"
}

# is VALUE KUBECTL-ARGUMENTS...: whether `kubectl get` gives this value.
is() {
  local wanted=$1 found; shift
  found=$(kubectl get "$@") || return
  [ "$found" = "$wanted" ] || { echo "found '$found', wanted '$wanted'"; return 1; }
}

# gone KUBECTL-ARGUMENTS...: whether there is nothing of the kind.
gone() { is "" --ignore-not-found -o name "$@"; }

# permitted: whether the operator was never refused what it asked for.
permitted() { ! grep -i forbidden "$work/operator.log"; }
