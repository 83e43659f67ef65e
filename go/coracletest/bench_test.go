package coracletest_test

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/coracle-dev/coracle/go/coracletest"
)

const benchmarkObjects = 200

// withObjects is a cluster with 200 objects of a test.
func withObjects(b *testing.B) *coracletest.Env {
	env := coracletest.Start(b, stepped)
	for i := range benchmarkObjects {
		create(b, env, fmt.Sprintf("object-%d", i))
	}
	return env
}

func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		coracletest.Start(b, stepped)
	}
}

func BenchmarkReset(b *testing.B) {
	env := withObjects(b)
	env.Snapshot("objects")
	for b.Loop() {
		env.ResetTo("objects")
	}
}

func BenchmarkFork(b *testing.B) {
	env := withObjects(b)
	for b.Loop() {
		fork, err := env.Control.Fork(b.Context(), "")
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := env.Control.DeleteFork(b.Context(), fork.Name); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

// TestASuiteOfFiftyTests has a cluster for each of its tests, and reports how long all take.
func TestASuiteOfFiftyTests(t *testing.T) {
	const tests = 50
	for _, parallel := range []bool{false, true} {
		start := time.Now()
		t.Run(fmt.Sprintf("parallel=%v", parallel), func(t *testing.T) {
			for i := range tests {
				t.Run(fmt.Sprint(i), func(t *testing.T) {
					if parallel {
						t.Parallel()
					}
					env := coracletest.Shared(t)
					pods := client(t, env).CoreV1().Pods("default")
					pod := deployment("web", 1).Spec.Template
					pod.Name = "web"
					must(pods.Create(t.Context(), podOf(pod.ObjectMeta, pod.Spec), metav1.CreateOptions{}))(t)
					env.Clock.AdvanceUntil("{apiVersion: v1, kind: Pod, metadata: {name: web}, status: {phase: Running}}", time.Minute)
					if found := must(pods.List(t.Context(), metav1.ListOptions{}))(t).Items; len(found) != 1 {
						t.Errorf("there are %d pods", len(found))
					}
				})
			}
		})
		t.Logf("%d tests with a cluster each, parallel=%v: %v", tests, parallel, time.Since(start).Round(time.Millisecond))
	}
}
