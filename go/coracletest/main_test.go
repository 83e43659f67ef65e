package coracletest_test

import (
	"context"
	"os"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/coracle-dev/coracle/go/coracletest"
)

// failing selects a test that fails on purpose, in a process of its own.
const failing = "CORACLETEST_FAILING"

// patience is more than a busy machine takes for anything that a test waits for in the time of the machine.
const patience = time.Minute

func TestMain(m *testing.M) {
	os.Exit(coracletest.Main(m, coracletest.Options{Nodes: 1, Controllers: true, Time: coracletest.Stepped}))
}

func client(t testing.TB, env *coracletest.Env) *kubernetes.Clientset {
	t.Helper()
	return must(kubernetes.NewForConfig(env.Config))(t)
}

// must fails the test if there is an error.
func must[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func deployment(name string, replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "nginx"}}},
			},
		},
	}
}

func podOf(about metav1.ObjectMeta, spec corev1.PodSpec) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: about, Spec: spec}
}

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}}
}

func create(t testing.TB, env *coracletest.Env, name string) {
	t.Helper()
	must(client(t, env).CoreV1().ConfigMaps("default").Create(t.Context(), configMap(name), metav1.CreateOptions{}))(t)
}

// names are the names of the ConfigMaps that tests have created.
func names(t testing.TB, env *coracletest.Env) []string {
	t.Helper()
	list := must(client(t, env).CoreV1().ConfigMaps("default").List(context.Background(), metav1.ListOptions{}))(t)
	names := []string{}
	for _, found := range list.Items {
		if found.Name != "kube-root-ca.crt" {
			names = append(names, found.Name)
		}
	}
	return names
}

// eventually waits in the time of the machine.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatalf("%s: not within %v", what, patience)
}
