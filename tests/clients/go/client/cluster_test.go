// Package client holds client-go to what it does against a real cluster: every claim is a test's name.
//
// The cluster is the one of KUBECONFIG.
package client

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const patience = 30 * time.Second

func configuration(t *testing.T) *rest.Config {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", clientcmd.NewDefaultClientConfigLoadingRules().GetDefaultFilename())
	must(t, err)
	config.QPS, config.Burst = 1000, 2000
	return config
}

// eachFormat runs a claim with JSON on the wire, and with protobuf.
func eachFormat(t *testing.T, claim func(t *testing.T, client kubernetes.Interface)) {
	for _, format := range []string{"json", "vnd.kubernetes.protobuf"} {
		t.Run(strings.TrimPrefix(format, "vnd.kubernetes."), func(t *testing.T) {
			config := configuration(t)
			config.ContentType = "application/" + format
			config.AcceptContentTypes = "application/" + format
			claim(t, clientset(t, config))
		})
	}
}

func clientset(t *testing.T, config *rest.Config) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	must(t, err)
	return client
}

// namespace makes a namespace that goes when the test ends.
func namespace(t *testing.T, client kubernetes.Interface) string {
	t.Helper()
	made, err := client.CoreV1().Namespaces().Create(ctx(t), &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "go-"},
	}, metav1.CreateOptions{})
	must(t, err)
	t.Cleanup(func() {
		_ = client.CoreV1().Namespaces().Delete(context.Background(), made.Name, metav1.DeleteOptions{})
	})
	return made.Name
}

func ctx(t *testing.T) context.Context {
	t.Helper()
	limited, cancel := context.WithTimeout(context.Background(), 2*patience)
	t.Cleanup(cancel)
	return limited
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%T: %v", err, err)
	}
}

func equal[T comparable](t *testing.T, what string, is, wanted T) {
	t.Helper()
	if is != wanted {
		t.Fatalf("%s is %v, not %v", what, is, wanted)
	}
}

func holds(t *testing.T, what string, is bool) {
	t.Helper()
	if !is {
		t.Fatal("not so: " + what)
	}
}

// eventually asks again until it is so.
func eventually(t *testing.T, what string, ask func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if ask() {
			return
		}
	}
	t.Fatalf("%s: not within %v", what, patience)
}

// next is the next event of a watch.
func next(t *testing.T, events watch.Interface) (watch.EventType, runtime.Object) {
	t.Helper()
	select {
	case event, open := <-events.ResultChan():
		holds(t, "the watch is open", open)
		return event.Type, event.Object
	case <-time.After(patience):
		t.Fatal("no event came")
		return "", nil
	}
}

// requests notes what a client sends.
type requests struct {
	lock sync.Mutex
	seen []string
}

func (r *requests) over(config *rest.Config) *rest.Config {
	copied := rest.CopyConfig(config)
	copied.Wrap(func(inner http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			r.lock.Lock()
			r.seen = append(r.seen, fmt.Sprintf("%s %s", request.Method, request.URL.RequestURI()))
			r.lock.Unlock()
			return inner.RoundTrip(request)
		})
	})
	return copied
}

func (r *requests) with(part string) (found int) {
	r.lock.Lock()
	defer r.lock.Unlock()
	for _, request := range r.seen {
		if strings.Contains(request, part) {
			found++
		}
	}
	return found
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

func pointer[T any](value T) *T { return &value }
