// Package coracletest gives a Go test a Kubernetes cluster of its own: the API server, the controllers, the scheduler and
// simulated nodes, in one process that starts in less than a second.
//
// [Start] starts a cluster and stops it when the test ends. [Env.Config] is what client-go and controller-runtime need:
//
//	func TestDeployment(t *testing.T) {
//		env := coracletest.Start(t, coracletest.Options{Nodes: 2, Controllers: true, Time: coracletest.Stepped})
//		client := kubernetes.NewForConfigOrDie(env.Config)
//		// ... create a Deployment
//		env.Settle()
//		// ... its pods are ready
//		env.Clock.Advance(24 * time.Hour)
//	}
//
// The zero [Options] are what a user of envtest expects: an API server in real time, without controllers, scheduler and
// nodes.
//
// # Time
//
// With [Stepped], the clock of the cluster stands still. [Clock.Advance], [Clock.AdvanceUntil] and [Env.Settle] advance it,
// and all timers of the cluster fire in their order. A day takes about as long as the work in it. The clock of the test and
// of its controllers is still the one of the machine.
//
// # One server for many tests
//
// [Main] and [Shared] start one server for a package. [Shared] returns a cluster in the state after the start: the cluster
// of the server, which is reset, or a fork of it if another test uses the cluster at this time. So tests with t.Parallel
// run at the same time and do not see each other:
//
//	func TestMain(m *testing.M) {
//		os.Exit(coracletest.Main(m, coracletest.Options{Nodes: 1, Controllers: true, Time: coracletest.Stepped}))
//	}
//
//	func TestA(t *testing.T) {
//		t.Parallel()
//		env := coracletest.Shared(t)
//		// ...
//	}
//
// # Failures
//
// The methods of [Env] and [Clock] fail the test if the cluster answers with an error, so call them on the goroutine of the
// test. [Control] has the same calls with a context and with errors, for other goroutines.
//
// When a test fails, Coracle writes the page of its run: which component did what, and why. The log of the test shows the
// path. See [Options.Reports] for the folder.
//
// # The program
//
// The server is the program coracle of version [Version]: the path in the environment variable CORACLE_BIN, or the program
// coracle on the PATH, or coracle/VERSION/coracle in the user's cache folder ($XDG_CACHE_HOME, or the cache folder of the
// operating system). The file coracle.sha256 beside the cached program has its checksum, as sha256sum writes it.
package coracletest
