// Package restart holds clients to what they do while the server goes and comes back on its port, with its data.
//
// CORACLE is the program.
package restart

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

const patience = 30 * time.Second

type server struct {
	t       *testing.T
	folder  string
	port    int
	process *exec.Cmd
}

func (s *server) start() {
	s.t.Helper()
	program := os.Getenv("CORACLE")
	if program == "" {
		s.t.Skip("CORACLE names no program")
	}
	s.process = exec.Command(program, "up", "--nodes", "0", "--state-dir", s.folder, "--secure-port", fmt.Sprint(s.port))
	if err := s.process.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = s.process.Process.Kill() })
	eventually(s.t, "the server is ready", func() bool {
		client, err := s.client()
		if err != nil {
			return false
		}
		_, err = client.CoreV1().Namespaces().Get(context.Background(), "default", metav1.GetOptions{})
		return err == nil
	})
}

func (s *server) client() (kubernetes.Interface, error) {
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(s.folder, "kubeconfig"))
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfig(config)
}

// stop asks the server to stop, and says how long that took.
func (s *server) stop() time.Duration {
	s.t.Helper()
	start := time.Now()
	if err := s.process.Process.Signal(syscall.SIGTERM); err != nil {
		s.t.Fatal(err)
	}
	if err := s.process.Wait(); err != nil {
		s.t.Fatalf("it did not end well: %v", err)
	}
	return time.Since(start)
}

func eventually(t *testing.T, what string, ask func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if ask() {
			return
		}
	}
	t.Fatalf("%s: not within %v", what, patience)
}

func freePort(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}

// told is what an informer has told of, in order.
type told struct {
	lock   sync.Mutex
	events []string
	errors []error
}

func (t *told) note(what string) {
	t.lock.Lock()
	defer t.lock.Unlock()
	t.events = append(t.events, what)
}

func (t *told) handler() cache.ResourceEventHandler {
	name := func(object any) string { return object.(*corev1.ConfigMap).Name }
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) { t.note("added " + name(object)) },
		UpdateFunc: func(before, after any) {
			if before.(*corev1.ConfigMap).ResourceVersion != after.(*corev1.ConfigMap).ResourceVersion {
				t.note("updated " + name(after))
			}
		},
		DeleteFunc: func(object any) { t.note("deleted " + name(object)) },
	}
}

func (t *told) is(wanted ...string) bool {
	t.lock.Lock()
	defer t.lock.Unlock()
	return fmt.Sprint(t.events) == fmt.Sprint(wanted)
}

func TestWatchesEndCleanlyWhenTheServerStopsAndInformersResumeWhenItIsBack(t *testing.T) {
	running := &server{t: t, folder: t.TempDir(), port: freePort(t)}
	running.start()
	client, err := running.client()
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	maps := client.CoreV1().ConfigMaps("default")
	write := func(name string) {
		t.Helper()
		_, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "a"}}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	write("before")

	seen, stop := &told{}, make(chan struct{})
	defer close(stop)
	informer := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace("default"),
		informers.WithTweakListOptions(func(options *metav1.ListOptions) { options.LabelSelector = "app=a" })).Core().V1().ConfigMaps().Informer()
	if _, err := informer.AddEventHandler(seen.handler()); err != nil {
		t.Fatal(err)
	}
	if err := informer.SetWatchErrorHandler(func(_ *cache.Reflector, err error) {
		seen.lock.Lock()
		defer seen.lock.Unlock()
		seen.errors = append(seen.errors, err)
	}); err != nil {
		t.Fatal(err)
	}
	go informer.Run(stop)
	eventually(t, "the informer is in step", func() bool { return seen.is("added before") })
	raw, err := maps.Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}

	if took := running.stop(); took > 5*time.Second {
		t.Fatalf("it took %v to stop", took)
	}
	for event := range raw.ResultChan() {
		if event.Type == watch.Error {
			t.Fatalf("the watch ended with an error: %v", event.Object)
		}
	}
	running.start()
	write("after")
	eventually(t, "the informer has heard of what came after", func() bool { return seen.is("added before", "added after") })
	if err := maps.Delete(ctx, "before", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the informer has heard of the end", func() bool { return seen.is("added before", "added after", "deleted before") })
	for _, err := range seen.errors {
		if !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("an informer met another error than that nobody was there: %T %v", err, err)
		}
	}
	running.stop()
}
