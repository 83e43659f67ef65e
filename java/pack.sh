#!/bin/sh
# Makes a jar that carries the program: pack.sh BINARY PLATFORM OUT [LICENCES], for example with linux-x86_64. With
# OUT/coracle-PLATFORM-VERSION.jar on the class path, `dev.coracle:coracle-testing` needs no program on the machine. The jar
# has the licence of Coracle and the file LICENCES. It needs the JDK's `jar`.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
[ $# -ge 3 ] && [ -f "$1" ] || { echo "usage: pack.sh BINARY PLATFORM OUT [LICENCES], such as ../target/release/coracle linux-x86_64 dist" >&2; exit 2; }
version=$(sed -n 's/^  <version>\(.*\)<\/version>$/\1/p' "$here/pom.xml")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/dev/coracle/bin/$2" "$work/META-INF" "$3"
cp "$1" "$work/dev/coracle/bin/$2/coracle"
cp "$here/../LICENSE" "$work/META-INF/LICENSE"
[ $# -lt 4 ] || cp "$4" "$work/META-INF/THIRD-PARTY-LICENSES"
jar --create --file "$3/coracle-$2-$version.jar" -C "$work" dev -C "$work" META-INF
echo "$3/coracle-$2-$version.jar"
