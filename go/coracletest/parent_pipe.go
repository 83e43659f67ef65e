//go:build unix

package coracletest

import (
	"os/exec"
	"strconv"
)

// watchByPipe starts a process that reads from a pipe of the test process, and kills the program when the pipe is closed
// because the test process has ended. The returned function ends the watch.
func watchByPipe(pid int) (func(), error) {
	watcher := exec.Command("/bin/sh", "-c", `trap '' INT; while read -r _; do :; done; kill -KILL "$1"`, "sh", strconv.Itoa(pid))
	pipe, err := watcher.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := watcher.Start(); err != nil {
		return nil, err
	}
	return func() {
		_ = watcher.Process.Kill()
		_ = watcher.Wait()
		_ = pipe.Close()
	}, nil
}
