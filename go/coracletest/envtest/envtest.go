// Package envtest lets suites of controller-runtime's envtest run on Coracle, with the same Environment type.
package envtest

import (
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/coracle-dev/coracle/go/coracletest"
)

// Environment starts a cluster for a test, and returns an Environment that uses it. Call its Start, which installs the CRDs
// and webhooks of its fields. Its Stop leaves the cluster running; the cluster stops when the test ends.
func Environment(t coracletest.TB, options coracletest.Options) *envtest.Environment {
	t.Helper()
	environment := &envtest.Environment{}
	use(environment, coracletest.Start(t, options))
	return environment
}

// From starts an Environment on a cluster of Coracle: the CRDs and webhooks of its fields are installed as by envtest. Both
// stop when the test ends. The fields about the control plane's programs have no effect. The CRDs are there after a
// ResetTo(Installed); a Reset removes them, because the Environment installs them after the start.
func From(t coracletest.TB, environment *envtest.Environment, options coracletest.Options) *coracletest.Env {
	t.Helper()
	env := coracletest.Start(t, options)
	use(environment, env)
	if _, err := environment.Start(); err != nil {
		t.Fatalf("envtest: %v", err)
	}
	t.Cleanup(func() {
		if err := environment.Stop(); err != nil {
			t.Errorf("envtest: %v", err)
		}
	})
	env.Snapshot(Installed)
	return env
}

// Installed is the snapshot that From keeps when the CRDs and webhooks are installed.
const Installed = "installed"

func use(environment *envtest.Environment, env *coracletest.Env) {
	existing := true
	environment.UseExistingCluster = &existing
	environment.Config = env.Config
}
