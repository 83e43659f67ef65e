#!/usr/bin/env bash
# The published setup-envtest installs Coracle from an index on the loopback interface: `session.sh CORACLE SETUP_ENVTEST FOLDER`.
# Suites of controller-runtime run with what it installs. FOLDER is empty, and keeps the archives and what is installed.
set -euo pipefail
coracle=$1 setup_envtest=$2 folder=$3
go=$(cd "$(dirname "$0")/../go" && pwd)
release=1.36
unset USE_EXISTING_CLUSTER KUBECONFIG CORACLE_KUBERNETES

fail() { echo "FAILED: $1" >&2; exit 1; }
# refused CODE TEXT COMMAND...: whether the command exits with the code, and prints the text.
refused() {
  local code=$1 text=$2 printed got=0; shift 2
  printed=$("$@" 2>&1) || got=$?
  [ "$got" = "$code" ] || fail "exit code $got, not $code, of $*: $printed"
  grep -qF -- "$text" <<<"$printed" || fail "no \"$text\" from $*: $printed"
  echo "refused as expected: $printed"
}

mkdir -p "$folder/index"
python3 -u -m http.server --bind 127.0.0.1 --directory "$folder/index" 0 >"$folder/server.log" 2>&1 &
server=$!
trap 'kill $server; wait $server 2>/dev/null || true' EXIT
for _ in $(seq 200); do grep -q Serving "$folder/server.log" && break; sleep 0.05; done
url=http://127.0.0.1:$(sed -n 's/^Serving HTTP on .* port \([0-9]*\) .*/\1/p' "$folder/server.log")
index=$url/envtest-releases.yaml

# Symbols would only make the archive larger.
strip -o "$folder/coracle" "$coracle" 2>/dev/null || cp "$coracle" "$folder/coracle"
"$coracle" dist envtest --out "$folder/index" --url "$url" --kubernetes $release --program "$folder/coracle"
ls -l "$folder/index"
"$setup_envtest" list --index "$index" --bin-dir "$folder/installed" | tee "$folder/listed"
grep -q "v$release.*linux/\|v$release.*darwin/" "$folder/listed" || fail "setup-envtest lists no $release"

assets=$("$setup_envtest" use --index "$index" --bin-dir "$folder/installed" $release -p path)
ls -l "$assets"
"$assets/kube-apiserver" --version | grep -F "Kubernetes v$release." || fail "the API server is not $release"
"$assets/etcd" --version | grep -F "etcd Version" || fail "there is no etcd"
KUBEBUILDER_ASSETS=$assets go test -C "$go" -count=1 ./operator/...
CORACLE_ENVTEST_INDEX=$index CORACLE_ENVTEST_RELEASE=$release go test -C "$go" -count=1 -v ./assets

# A link to a program, from another folder, starts it.
ln -s "$assets/kube-apiserver" "$folder/linked"
"$folder/linked" --version | grep -qF "v$release." || fail "a link to kube-apiserver does not start it"
refused 2 "unset it, or run" env CORACLE_KUBERNETES=1.35 "$assets/kube-apiserver" --version
mkdir "$folder/alone"
cp "$assets/etcd" "$assets/kubectl" "$folder/alone"
refused 70 "etcd needs the other files of its archive" "$folder/alone/etcd" --version
refused 127 "Coracle contains no kubectl" env PATH="$folder/alone" /bin/sh "$folder/alone/kubectl" version

# A wrong checksum in the index, and an archive that was changed.
sed -i.old 's/hash: [0-9a-f]\{8\}/hash: 00000000/' "$folder/index/envtest-releases.yaml"
refused 2 "checksum mismatch" "$setup_envtest" use --index "$index" --bin-dir "$folder/none" $release -p path
mv "$folder/index/envtest-releases.yaml.old" "$folder/index/envtest-releases.yaml"
for archive in "$folder"/index/*.tar.gz; do printf x >>"$archive"; done
refused 2 "checksum mismatch" "$setup_envtest" use --index "$index" --bin-dir "$folder/none" $release -p path
