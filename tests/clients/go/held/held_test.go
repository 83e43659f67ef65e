// Package held holds thousands of connections and watches against one server process, and measures what they cost it.
//
// CORACLE is the program; its limit of open files must allow for the connections.
package held

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	connections = 10_000
	watches     = 1_000
	stalled     = 100
	patience    = 60 * time.Second
)

func TestTenThousandIdleConnectionsAndAThousandWatchesAreHeld(t *testing.T) {
	server := start(t)
	empty := server.memory()

	held := make([]net.Conn, connections)
	inParallel(connections, 8, func(number int) {
		connection := server.dial(t)
		fmt.Fprintf(connection, "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
		answer, err := http.ReadResponse(bufio.NewReader(connection), nil)
		must(t, err)
		_, _ = io.Copy(io.Discard, answer.Body)
		held[number] = connection
	})
	idle := server.memory()
	t.Logf("%d idle connections: %d KiB each", connections, (idle-empty)/connections)

	ctx, cancel := context.WithTimeout(context.Background(), 5*patience)
	defer cancel()
	client, err := kubernetes.NewForConfig(server.config)
	must(t, err)
	maps := client.CoreV1().ConfigMaps("default")
	var heard sync.WaitGroup
	for range watches {
		events, err := maps.Watch(ctx, metav1.ListOptions{LabelSelector: "held=yes"})
		must(t, err)
		heard.Add(1)
		go func() {
			defer heard.Done()
			if event := <-events.ResultChan(); event.Type != watch.Added {
				t.Errorf("a watch got %v", event)
			}
		}()
	}
	watching := server.memory()
	t.Logf("%d watches: %d KiB each", watches, (watching-idle)/watches)

	begun := time.Now()
	_, err = maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "held", Labels: map[string]string{"held": "yes"}}}, metav1.CreateOptions{})
	must(t, err)
	t.Logf("a write took %v", time.Since(begun))
	heard.Wait()
	t.Logf("all %d watches had heard of it after %v", watches, time.Since(begun))
	if most := empty + connections*200 + watches*400; watching > most {
		t.Errorf("the server uses %d KiB, more than %d", watching, most)
	}
	for _, connection := range held {
		_ = connection.Close()
	}
}

func TestStalledWatchersAndListsCostABoundedAmount(t *testing.T) {
	server := start(t)
	client, err := kubernetes.NewForConfig(server.config)
	must(t, err)
	maps := client.CoreV1().ConfigMaps("default")
	ctx, cancel := context.WithTimeout(context.Background(), 5*patience)
	defer cancel()
	large := strings.Repeat("x", 64*1024)
	inParallel(200, 8, func(number int) {
		_, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("m-", number)}, Data: map[string]string{"k": large}}, metav1.CreateOptions{})
		must(t, err)
	})
	before := server.memory()
	ask := func(path string) {
		connection := server.dial(t)
		t.Cleanup(func() { _ = connection.Close() })
		// The answer is never read.
		fmt.Fprintf(connection, "GET %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", path, server.config.BearerToken)
	}
	for range stalled {
		ask("/api/v1/namespaces/default/configmaps")
		ask("/api/v1/namespaces/default/configmaps?watch=1&resourceVersion=0")
	}
	time.Sleep(2 * time.Second)
	begun := server.memory()
	inParallel(500, 8, func(number int) {
		read, err := maps.Get(ctx, fmt.Sprint("m-", number%200), metav1.GetOptions{})
		must(t, err)
		read.Annotations = map[string]string{"round": fmt.Sprint(number)}
		_, _ = maps.Update(ctx, read, metav1.UpdateOptions{})
	})
	after := server.memory()
	t.Logf("%d stalled lists and watches of 13 MB: %d KiB each at once, %d KiB each after 500 writes of 64 KiB",
		2*stalled, (begun-before)/(2*stalled), (after-before)/(2*stalled))
	// What they do not read is not kept for each of them: 200 copies of 13 MB would be 2.6 GB.
	if grown := after - before; grown > 400*1024 {
		t.Errorf("the server grew by %d KiB", grown)
	}
}

func TestClientsThatSpeakTooSlowlyAreCut(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for the time-outs, half a minute")
	}
	server := start(t)
	said := map[string]string{
		"nothing":     "",
		"half a line": "GET /liv",
		"no end":      "GET /livez HTTP/1.1\r\nHost: x\r\nX-Slow: ",
	}
	var cut sync.WaitGroup
	for name, text := range said {
		cut.Add(1)
		go func() {
			defer cut.Done()
			connection := server.dial(t)
			defer connection.Close()
			fmt.Fprint(connection, text)
			_ = connection.SetReadDeadline(time.Now().Add(50 * time.Second))
			_, err := io.ReadAll(connection)
			if timeout, isNet := err.(net.Error); isNet && timeout.Timeout() {
				t.Errorf("who says %s is still connected after 50 s", name)
			}
		}()
	}
	cut.Add(1)
	go func() {
		defer cut.Done()
		connection := server.dial(t)
		defer connection.Close()
		fmt.Fprintf(connection, "POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"+
			"Authorization: Bearer %s\r\nContent-Length: 1000\r\n\r\n{", server.config.BearerToken)
		_ = connection.SetReadDeadline(time.Now().Add(50 * time.Second))
		answer, err := http.ReadResponse(bufio.NewReader(connection), nil)
		if err != nil || answer.StatusCode != http.StatusGatewayTimeout {
			t.Errorf("a body that does not come is answered by %v %v", answer, err)
		}
	}()
	cut.Wait()
}

type server struct {
	config  *rest.Config
	address string
	process int
}

func start(t *testing.T) *server {
	t.Helper()
	program := os.Getenv("CORACLE")
	if program == "" {
		t.Skip("CORACLE names no program")
	}
	folder := t.TempDir()
	running := exec.Command(program, "up", "--ephemeral", "--nodes", "0", "--state-dir", folder)
	must(t, running.Start())
	t.Cleanup(func() { _ = running.Process.Kill(); _ = running.Wait() })
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(folder, "kubeconfig"))
		if err != nil {
			continue
		}
		config.QPS, config.Burst = 10_000, 10_000
		address, err := url.Parse(config.Host)
		must(t, err)
		started := &server{config: config, address: address.Host, process: running.Process.Pid}
		connection, err := started.connect()
		if err != nil {
			continue
		}
		_ = connection.Close()
		return started
	}
	t.Fatal("the server is not ready")
	return nil
}

func (s *server) connect() (net.Conn, error) {
	return tls.Dial("tcp", s.address, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}})
}

func (s *server) dial(t *testing.T) net.Conn {
	connection, err := s.connect()
	must(t, err)
	return connection
}

// memory is what the server's process holds, in KiB.
func (s *server) memory() (kibibytes int) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.process))
	for line := range strings.Lines(string(text)) {
		_, _ = fmt.Sscanf(line, "VmRSS: %d kB", &kibibytes)
	}
	return kibibytes
}

func inParallel(count, workers int, work func(int)) {
	numbers := make(chan int)
	var all sync.WaitGroup
	for range workers {
		all.Add(1)
		go func() {
			defer all.Done()
			for number := range numbers {
				work(number)
			}
		}()
	}
	for number := range count {
		numbers <- number
	}
	close(numbers)
	all.Wait()
}

func must(t *testing.T, err error) {
	if err != nil {
		t.Helper()
		panic(err)
	}
}
