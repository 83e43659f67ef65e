package coracletest

import (
	"context"
	"sync"
)

// shared is the server of the package under test.
var shared sharedServer

type sharedServer struct {
	mutex   sync.Mutex
	options *Options
	server  *server
	err     error
	// used says whether a test has had the cluster of the server.
	used bool
	// busy says whether a test has it at this time; other tests then get forks.
	busy bool
}

// Main runs the tests of a package, for which [Shared] starts one server with these options. Call it from TestMain, with the
// *testing.M. The server starts with the first call of Shared, and stops when all tests have ended.
func Main(m interface{ Run() int }, options Options) int {
	shared.mutex.Lock()
	shared.options = &options
	shared.mutex.Unlock()
	defer shared.stop()
	return m.Run()
}

// Shared returns a cluster in the state after the start, which no other test uses at this time: the cluster of the server of
// [Main] after a reset, or a fork of it if another test has the cluster.
func Shared(t TB) *Env {
	t.Helper()
	env, err := shared.get(t)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return env
}

func (s *sharedServer) get(t TB) (*Env, error) {
	t.Helper()
	server, isMain, used := s.claim(t)
	if server == nil {
		return nil, s.err
	}
	if !isMain {
		parent := &Env{Control: server.control, t: t, options: server.options, dir: server.dir, resets: &server.resets}
		return parent.fork(t, startSnapshot)
	}
	// This runs after the page of a failed test is written.
	var env *Env
	t.Cleanup(func() { s.release(env) })
	env = server.env(t)
	if used {
		env.Reset()
	}
	return env, nil
}

// claim starts the server if it does not run, and takes its cluster if no test has it.
func (s *sharedServer) claim(t TB) (server *server, isMain, used bool) {
	t.Helper()
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.options == nil {
		// Fatalf may end the goroutine; the lock is released nevertheless.
		t.Fatalf("coracletest: Shared needs a server: call coracletest.Main from TestMain")
	}
	if s.server == nil && s.err == nil {
		s.server, s.err = start(*s.options)
	}
	if s.server == nil {
		return nil, false, false
	}
	isMain, used = !s.busy, s.used
	s.busy, s.used = true, true
	return s.server, isMain, used
}

// release gives the cluster of the server back.
func (s *sharedServer) release(env *Env) {
	ctx, cancel := context.WithTimeout(context.Background(), stopsWithin)
	defer cancel()
	if env != nil {
		for name := range env.snapshots {
			_ = env.Control.DeleteSnapshot(ctx, name)
		}
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.busy = false
}

func (s *sharedServer) stop() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.server != nil {
		s.server.stop()
		s.server = nil
	}
}
