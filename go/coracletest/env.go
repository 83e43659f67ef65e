package coracletest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// TB is the part of testing.TB that this package needs. GinkgoT() has it, too.
type TB interface {
	Cleanup(func())
	Errorf(format string, args ...any)
	Failed() bool
	Fatalf(format string, args ...any)
	Helper()
	Logf(format string, args ...any)
	Name() string
}

// Env is a running cluster of a test. Its methods fail the test if the cluster answers with an error.
type Env struct {
	// Config is a client configuration of an administrator. It is valid until the test ends, across resets.
	Config *rest.Config
	// KubeconfigPath is the path of a kubeconfig with the same content.
	KubeconfigPath string
	// Clock is the clock of the cluster.
	Clock *Clock
	// Control is a client of the control endpoint, whose calls return errors.
	Control *Control

	t       TB
	options Options
	// dir is a folder for the kubeconfigs of forks.
	dir string
	// snapshots are the names of the snapshots of the test.
	snapshots map[string]bool
	// resets is held for reading by calls that a reset of the cluster would refuse: the server answers them with 503.
	resets *sync.RWMutex
	// forkName is the name of the cluster, if it is a fork.
	forkName string
}

// Start starts a cluster, and stops it when the test ends. In its first state the nodes are ready and the CRDs of the options
// are established.
func Start(t TB, options Options) *Env {
	t.Helper()
	s, err := start(options)
	if err != nil {
		t.Fatalf("%v", err)
	}
	t.Cleanup(s.stop)
	return s.env(t)
}

// env is the cluster of the server, for a test.
func (s *server) env(t TB) *Env {
	env := newEnv(t, s.options, s.dir, rest.CopyConfig(s.config), s.kubeconfig, s.control)
	env.resets = &s.resets
	return env
}

func newEnv(t TB, options Options, dir string, config *rest.Config, kubeconfig string, control *Control) *Env {
	env := &Env{
		Config: config, KubeconfigPath: kubeconfig, Control: control, t: t, options: options, dir: dir,
		snapshots: map[string]bool{}, resets: &sync.RWMutex{},
	}
	env.Clock = &Clock{env: env}
	t.Cleanup(env.reportIfFailed)
	return env
}

// waitsWithin is the limit of a call, if the test has none.
const waitsWithin = 10 * time.Minute

// context ends shortly before the deadline of the test.
func (e *Env) context() (context.Context, context.CancelFunc) {
	if limited, ok := e.t.(interface{ Deadline() (time.Time, bool) }); ok {
		if deadline, ok := limited.Deadline(); ok {
			return context.WithDeadline(context.Background(), deadline.Add(-time.Second))
		}
	}
	return context.WithTimeout(context.Background(), waitsWithin)
}

// call calls the control endpoint, and fails the test if that returns an error.
func call[T any](e *Env, what string, do func(context.Context) (T, error)) T {
	e.t.Helper()
	ctx, cancel := e.context()
	defer cancel()
	answer, err := do(ctx)
	if err != nil {
		e.t.Fatalf("coracletest: %s: %v", what, err)
	}
	return answer
}

// Settle waits until nothing moves in the cluster: no object changes, and no controller has work. A stepped clock advances as
// far as needed. A cluster that does not come to rest fails the test. Settle does not know the work queues of controllers
// outside of the cluster: they have a moment to react to each change that they watch.
func (e *Env) Settle() {
	e.t.Helper()
	settled := call(e, "settle", e.Control.Settle)
	if !settled.Settled {
		e.t.Fatalf("coracletest: the cluster does not settle: the last change is %s; pending: %q", settled.LastChange, settled.Pending)
	}
}

// Snapshot keeps the state of the cluster under a name, for ResetTo and ForkFrom.
func (e *Env) Snapshot(name string) {
	e.t.Helper()
	if name == startSnapshot {
		e.t.Fatalf("coracletest: the snapshot %q is the state after the start: use another name", name)
	}
	call(e, "snapshot", func(ctx context.Context) (State, error) { return e.Control.Snapshot(ctx, name) })
	e.snapshots[name] = true
}

// Reset brings the cluster back to the state after its start: nodes are ready, and the CRDs of the options are established.
// Faults end, and a stepped clock shows the time of that state. Watches end, and informers list again.
func (e *Env) Reset() {
	e.t.Helper()
	e.ResetTo(startSnapshot)
}

// ResetTo brings the cluster back to the state of a snapshot.
func (e *Env) ResetTo(snapshot string) {
	e.t.Helper()
	e.resets.Lock()
	defer e.resets.Unlock()
	call(e, "reset", func(ctx context.Context) (State, error) { return e.Control.Reset(ctx, snapshot) })
}

// Fork starts a second cluster from the state of this one, with its own address and clock. It stops when the test ends. The
// two do not see each other. The second cluster has no faults and no snapshots, and its Reset returns to the state of the
// fork.
func (e *Env) Fork() *Env {
	e.t.Helper()
	return e.ForkFrom("")
}

// ForkFrom starts a second cluster from the state of a snapshot.
func (e *Env) ForkFrom(snapshot string) *Env {
	e.t.Helper()
	fork, err := e.fork(e.t, snapshot)
	if err != nil {
		e.t.Fatalf("%v", err)
	}
	return fork
}

// fork starts a second cluster for a test.
func (e *Env) fork(t TB, snapshot string) (*Env, error) {
	ctx, cancel := e.context()
	defer cancel()
	e.resets.RLock()
	forked, err := e.Control.Fork(ctx, snapshot)
	e.resets.RUnlock()
	if err != nil {
		return nil, fmt.Errorf("coracletest: fork: %w", err)
	}
	parent, resets := e.Control, e.resets
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), stopsWithin)
		defer cancel()
		resets.RLock()
		defer resets.RUnlock()
		_ = parent.DeleteFork(ctx, forked.Name)
	})
	config, err := configFrom([]byte(forked.Kubeconfig))
	if err != nil {
		return nil, fmt.Errorf("coracletest: the kubeconfig of a fork: %w", err)
	}
	control, err := NewControl(config)
	if err != nil {
		return nil, err
	}
	file, err := os.CreateTemp(e.dir, forked.Name+"-*.kubeconfig")
	if err != nil {
		return nil, fmt.Errorf("coracletest: %w", err)
	}
	t.Cleanup(func() { _ = os.Remove(file.Name()) })
	_, err = file.WriteString(forked.Kubeconfig)
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return nil, fmt.Errorf("coracletest: %w", err)
	}
	fork := newEnv(t, e.options, e.dir, config, filepath.Clean(file.Name()), control)
	fork.forkName = forked.Name
	return fork, nil
}

// Events is the event log since the last reset: the newest 100,000 entries.
func (e *Env) Events() []Event {
	e.t.Helper()
	return call(e, "events", e.Control.Events)
}

// Why is the chain of causes of an object, as text. The object is one of client-go, or a name such as "pod/default/web-1".
func (e *Env) Why(object any) string {
	e.t.Helper()
	about, err := nameOf(object)
	if err != nil {
		e.t.Fatalf("%v", err)
	}
	return call(e, "why", func(ctx context.Context) (string, error) { return e.Control.Why(ctx, about) })
}

// Check decides the checks of a scenario in YAML about the cluster as it is. Each check that does not hold fails the test,
// which continues.
func (e *Env) Check(scenario string) Verdict {
	e.t.Helper()
	verdict := call(e, "check", func(ctx context.Context) (Verdict, error) { return e.Control.Check(ctx, []byte(scenario)) })
	for _, claim := range verdict.Claims {
		if !claim.Holds {
			e.t.Errorf("coracletest: %s at revision %d: expected %s; found %s", claim.Name, claim.Revision, claim.Expected, claim.Found)
		}
	}
	return verdict
}
