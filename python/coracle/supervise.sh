#!/bin/sh
# supervise.sh FOLDER PROGRAM [ARGUMENT...]: runs a server until the standard input ends. That is when the process that
# started this one ends, in whatever way, or closes the pipe. Then the server is stopped, and FOLDER is removed.
trap '' INT HUP
folder=$1
shift
exec 3<&0
"$@" 3<&- </dev/null &
server=$!
trap 'kill -TERM "$server" 2>/dev/null' TERM
(
  trap - TERM
  read -r _ <&3
  kill -TERM "$server"
  rounds=0
  while kill -0 "$server" && [ "$rounds" -lt 100 ]; do
    sleep 0.1
    rounds=$((rounds + 1))
  done
  kill -KILL "$server"
) >/dev/null 2>&1 &
watcher=$!
while :; do
  wait "$server"
  code=$?
  kill -0 "$server" 2>/dev/null || break
done
kill "$watcher" 2>/dev/null
rm -rf "$folder"
exit "$code"
