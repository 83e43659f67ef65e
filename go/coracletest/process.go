package coracletest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"
)

// stopsWithin is how long the program may take to stop before it is killed.
const stopsWithin = 20 * time.Second

// process is a running program.
type process struct {
	command *exec.Cmd
	output  tail
	// ended is closed when the program has ended and is reaped.
	ended   chan struct{}
	err     error
	unwatch func()
}

// run starts the program.
func run(path string, arguments []string) (*process, error) {
	p := &process{command: exec.Command(path, arguments...), ended: make(chan struct{})}
	p.command.Stdout, p.command.Stderr = &p.output, &p.output
	p.command.WaitDelay = time.Second
	bind(p.command)
	started := make(chan error, 1)
	go func() {
		// The thread must live as long as the program: see bind.
		runtime.LockOSThread()
		err := p.command.Start()
		started <- err
		if err == nil {
			p.err = p.command.Wait()
			close(p.ended)
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("coracletest: cannot start coracle: %w", err)
	}
	unwatch, err := watch(p.command.Process.Pid)
	if err != nil {
		p.unwatch = func() {}
		p.stop()
		return nil, fmt.Errorf("coracletest: cannot watch the test process: %w", err)
	}
	p.unwatch = unwatch
	return p, nil
}

// stop stops the program in order, or kills it if that takes too long.
func (p *process) stop() {
	p.unwatch()
	if err := p.command.Process.Signal(os.Interrupt); err != nil && !errors.Is(err, os.ErrProcessDone) {
		_ = p.command.Process.Kill()
	}
	select {
	case <-p.ended:
	case <-time.After(stopsWithin):
		_ = p.command.Process.Kill()
		<-p.ended
	}
}

// tail keeps the end of an output.
type tail struct {
	mutex sync.Mutex
	text  []byte
}

const tailBytes = 8 << 10

func (t *tail) Write(text []byte) (int, error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.text = append(t.text, text...)
	if over := len(t.text) - tailBytes; over > 0 {
		t.text = t.text[over:]
	}
	return len(text), nil
}

// line is the output as one line.
func (t *tail) line() string {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	text, _, _ := strings.Cut(string(t.text), "\n\nFor more information")
	return strings.Join(strings.Fields(text), " ")
}
