package coracletest

import (
	"os/exec"
	"syscall"
)

// bind makes the kernel kill the program when the thread that starts it ends, and so when the test process ends.
func bind(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

// watch has nothing to do: see bind.
func watch(int) (func(), error) { return func() {}, nil }
