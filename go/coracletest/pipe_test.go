//go:build unix

package coracletest

import (
	"os/exec"
	"testing"
	"time"
)

func TestTheWatchByPipeKillsTheProgramWhenThePipeIsClosed(t *testing.T) {
	for _, ends := range []bool{true, false} {
		program := exec.Command("sleep", "600")
		if err := program.Start(); err != nil {
			t.Fatal(err)
		}
		unwatch, closePipe, err := watchByPipe(program.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() { _ = program.Wait(); close(ended) }()
		if ends {
			closePipe()
			select {
			case <-ended:
			case <-time.After(time.Minute):
				t.Fatal("the program still runs")
			}
			unwatch()
			continue
		}
		unwatch()
		select {
		case <-ended:
			t.Fatal("the end of the watch has killed the program")
		default:
			_ = program.Process.Kill()
			<-ended
		}
	}
}
