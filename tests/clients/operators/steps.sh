# What the sessions of operators share: a cluster and an operator on this machine with the rights of its own manifests, and
# claims about what it does. `work` is a folder of the session's own; what is in `others` ends with the session, too.
work=$(mktemp -d) operator= others=
trap 'kill $operator $others 2>/dev/null; wait $operator $others 2>/dev/null; rm -rf "$work"' EXIT

# free: a port that nobody listens on.
free() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# alongside COMMAND...: runs a command beside the session.
alongside() { "$@" & others="$others $!"; }

# cluster FLAGS...: a cluster of the session's own, which kubectl then speaks to; CORACLE is its program.
cluster() {
  export CORACLE_STATE_DIR=$work/state
  alongside "$CORACLE" up --ephemeral "$@" >"$work/up.log" 2>&1
  for _ in $(seq 200); do grep -q ready "$work/up.log" && break; sleep 0.05; done
  eval "$("$CORACLE" env)" || { cat "$work/up.log"; exit 70; }
}

# certified SERVICE NAMESPACE FOLDER: an authority, in ca.crt, and a certificate of it that a Service's webhook shows.
certified() {
  local name=$1.$2.svc folder=$3
  mkdir -p "$folder"
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj "/CN=$name authority" \
    -keyout "$folder/ca.key" -out "$folder/ca.crt" 2>/dev/null
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "/CN=$name" -keyout "$folder/tls.key" \
    -out "$folder/request" 2>/dev/null
  openssl x509 -req -in "$folder/request" -CA "$folder/ca.crt" -CAkey "$folder/ca.key" -CAcreateserial -days 2 \
    -extfile <(echo "subjectAltName=DNS:$name,DNS:$name.cluster.local") -out "$folder/tls.crt" 2>/dev/null
}

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

# says TEXT COMMAND...: whether a command is refused with this text.
says() {
  local wanted=$1; shift
  ! "$@" >"$work/refusal" 2>&1 && grep -qF "$wanted" "$work/refusal" || { cat "$work/refusal"; return 1; }
}

# permitted: whether the operator was never refused what it asked for.
permitted() { ! grep -i forbidden "$work/operator.log"; }
