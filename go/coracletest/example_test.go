package coracletest_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/coracle-dev/coracle/go/coracletest"
)

// exampleT stands for the *testing.T of a test, because an example has none. Its clean-ups run with `end`.
type exampleT struct {
	coracletest.TB
	cleanups []func()
}

func (t *exampleT) Helper()                        {}
func (t *exampleT) Failed() bool                   { return false }
func (t *exampleT) Name() string                   { return "Example" }
func (t *exampleT) Cleanup(cleanup func())         { t.cleanups = append(t.cleanups, cleanup) }
func (t *exampleT) Fatalf(format string, a ...any) { panic(fmt.Sprintf(format, a...)) }
func (t *exampleT) Errorf(format string, a ...any) { fmt.Printf(format+"\n", a...) }
func (t *exampleT) end() {
	for i := len(t.cleanups) - 1; i >= 0; i-- {
		t.cleanups[i]()
	}
}

// A Deployment's pods are running as soon as nothing moves any more.
func ExampleStart() {
	t := &exampleT{} // In a test, this is the *testing.T.
	defer t.end()
	env := coracletest.Start(t, coracletest.Options{Nodes: 2, Controllers: true, Time: coracletest.Stepped})
	ctx, client := context.Background(), kubernetes.NewForConfigOrDie(env.Config)
	if _, err := client.AppsV1().Deployments("default").Create(ctx, deployment("web", 2), metav1.CreateOptions{}); err != nil {
		t.Fatalf("%v", err)
	}
	env.Settle()
	pods, err := client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{LabelSelector: "app=web"})
	if err != nil {
		t.Fatalf("%v", err)
	}
	for _, pod := range pods.Items {
		fmt.Println(pod.Status.Phase)
	}
	// Output:
	// Running
	// Running
}

// The clock stands still until the test advances it.
func ExampleClock_Advance() {
	t := &exampleT{} // In a test, this is the *testing.T.
	defer t.end()
	env := coracletest.Start(t, coracletest.Options{Time: coracletest.Stepped})
	before := env.Clock.Now()
	after := env.Clock.Advance(24 * time.Hour)
	fmt.Println(after.Sub(before).Round(time.Minute))
	// Output: 24h0m0s
}

// A fork continues from the state of the cluster.
func ExampleEnv_Fork() {
	t := &exampleT{} // In a test, this is the *testing.T.
	defer t.end()
	env := coracletest.Start(t, coracletest.Options{})
	maps := func(env *coracletest.Env) int {
		list, err := kubernetes.NewForConfigOrDie(env.Config).CoreV1().ConfigMaps("default").List(context.Background(), metav1.ListOptions{})
		if err != nil {
			t.Fatalf("%v", err)
		}
		return len(list.Items)
	}
	fork := env.Fork()
	client := kubernetes.NewForConfigOrDie(fork.Config)
	if _, err := client.CoreV1().ConfigMaps("default").Create(context.Background(), configMap("one"), metav1.CreateOptions{}); err != nil {
		t.Fatalf("%v", err)
	}
	fmt.Println(maps(env), maps(fork))
	// Output: 0 1
}

// A package starts one server, and each test gets a cluster in the state after the start. TestMain is:
//
//	func TestMain(m *testing.M) {
//		os.Exit(coracletest.Main(m, coracletest.Options{Nodes: 1, Controllers: true, Time: coracletest.Stepped}))
//	}
func ExampleShared() {
	test := func(t *testing.T) {
		t.Parallel()
		env := coracletest.Shared(t)
		create(t, env, "of-this-test")
	}
	_ = test
}
