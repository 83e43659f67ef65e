//go:build !unix

package coracletest

import "os/exec"

func bind(*exec.Cmd) {}

// watch does nothing: on this operating system the program outlives a test process that is killed.
func watch(int) (func(), error) { return func() {}, nil }
