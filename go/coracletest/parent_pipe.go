//go:build unix

package coracletest

import (
	"os/exec"
	"strconv"
)

// watchByPipe starts a process that reads from a pipe of the test process, and kills the program when the pipe is closed
// because the test process has ended. The first returned function ends the watch, the second one closes the pipe.
func watchByPipe(pid int) (unwatch, closePipe func(), err error) {
	watcher := exec.Command("/bin/sh", "-c", `trap '' INT; while read -r _; do :; done; kill -KILL "$1"`, "sh", strconv.Itoa(pid))
	pipe, err := watcher.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := watcher.Start(); err != nil {
		return nil, nil, err
	}
	unwatch = func() {
		_ = watcher.Process.Kill()
		_ = watcher.Wait()
		_ = pipe.Close()
	}
	return unwatch, func() { _ = pipe.Close() }, nil
}
