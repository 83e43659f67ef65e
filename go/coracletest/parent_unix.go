//go:build unix && !linux

package coracletest

import "os/exec"

// bind has nothing to do: see watch.
func bind(*exec.Cmd) {}

func watch(pid int) (func(), error) {
	unwatch, _, err := watchByPipe(pid)
	return unwatch, err
}
