package coracletest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	// startsWithin is how long a server may take to start on a busy machine.
	startsWithin = 2 * time.Minute
	// pollInterval is how often a start looks whether the server is ready.
	pollInterval = 5 * time.Millisecond
	// startSnapshot is the snapshot that a reset goes back to.
	startSnapshot = "start"
)

// server is a running program, with the state that the options ask for.
type server struct {
	options    Options
	dir        string
	process    *process
	kubeconfig string
	config     *rest.Config
	control    *Control
	resets     sync.RWMutex
}

// start starts a server. Its cluster is in the state `start`: nodes are ready, and CRDs are established.
func start(options Options) (_ *server, err error) {
	path, err := binary()
	if err != nil {
		return nil, err
	}
	dir, err := newFolder()
	if err != nil {
		return nil, err
	}
	s := &server{options: options, dir: dir, kubeconfig: filepath.Join(dir, "kubeconfig")}
	defer func() {
		if err != nil {
			s.stop()
		}
	}()
	arguments, err := options.arguments(dir)
	if err != nil {
		return nil, err
	}
	if s.process, err = run(path, arguments); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), startsWithin)
	defer cancel()
	if err = s.connect(ctx, path); err != nil {
		return nil, err
	}
	if err = s.prepare(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// connect waits until the program has written the kubeconfig, which it does when its API is ready.
func (s *server) connect(ctx context.Context, path string) error {
	for {
		text, err := os.ReadFile(s.kubeconfig)
		if err == nil {
			if s.config, err = configFrom(text); err == nil {
				break
			}
		}
		select {
		case <-s.process.ended:
			return s.failed(path)
		case <-ctx.Done():
			return fmt.Errorf("coracletest: coracle was not ready within %v: %s", startsWithin, s.process.output.line())
		case <-time.After(pollInterval):
		}
	}
	var err error
	if s.control, err = NewControl(s.config); err != nil {
		return err
	}
	about, err := s.control.About(ctx)
	if err != nil && apierrors.IsNotFound(err) {
		return wrongVersion(path, versionOf(path))
	}
	if err != nil {
		return fmt.Errorf("coracletest: the server does not answer: %w", err)
	}
	if about.Version != Version {
		return wrongVersion(path, about.Version)
	}
	return nil
}

// failed is the error for a program that has ended before it was ready.
func (s *server) failed(path string) error {
	if version := versionOf(path); version != Version {
		return wrongVersion(path, version)
	}
	return fmt.Errorf("coracletest: coracle did not start (%v): %s", s.process.err, s.process.output.line())
}

// versionOf is the version that a program prints.
func versionOf(path string) string {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	output, err := exec.CommandContext(ctx, path, "--version").Output()
	name, version, found := strings.Cut(strings.TrimSpace(string(output)), " ")
	if err != nil || !found || !strings.Contains(name, program) {
		return "of an unknown version"
	}
	return version
}

// prepare brings the cluster into the state `start`.
func (s *server) prepare(ctx context.Context) error {
	definitions, err := readCRDs(s.options.CRDPaths, s.options.CRDs)
	if err != nil {
		return err
	}
	if err := installCRDs(ctx, s.config, definitions); err != nil {
		return err
	}
	waits := s.options.time() != Stepped && (s.options.Nodes > 0 || s.options.Controllers)
	if waits {
		if err := s.untilReady(ctx); err != nil {
			return err
		}
	}
	if waits || len(definitions) > 0 {
		if _, err := s.control.Snapshot(ctx, startSnapshot); err != nil {
			return fmt.Errorf("coracletest: cannot keep the state after the start: %w", err)
		}
	}
	return nil
}

// untilReady waits until the nodes are ready and pods can be created.
func (s *server) untilReady(ctx context.Context) error {
	client, err := kubernetes.NewForConfig(s.config)
	if err != nil {
		return fmt.Errorf("coracletest: %w", err)
	}
	for {
		missing := s.missing(ctx, client)
		if missing == "" {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("coracletest: the cluster was not ready within %v: %s", startsWithin, missing)
		case <-time.After(pollInterval):
		}
	}
}

// missing says what a ready cluster has and this one does not have yet.
func (s *server) missing(ctx context.Context, client kubernetes.Interface) string {
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err.Error()
	}
	if len(nodes.Items) < s.options.Nodes {
		return fmt.Sprintf("%d of %d nodes have registered", len(nodes.Items), s.options.Nodes)
	}
	for _, node := range nodes.Items {
		if !isReady(&node) || (s.options.Controllers && len(node.Spec.Taints) > 0) {
			return fmt.Sprintf("node %s is not ready", node.Name)
		}
	}
	if !s.options.Controllers {
		return ""
	}
	if _, err := client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{}); err != nil {
		return err.Error()
	}
	return ""
}

func isReady(node *corev1.Node) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// stop stops the program, and removes its folder.
func (s *server) stop() {
	if s.process != nil {
		s.process.stop()
	}
	_ = os.RemoveAll(s.dir)
}

// configFrom reads a kubeconfig. As in envtest, the client does not limit its own requests.
func configFrom(kubeconfig []byte) (*rest.Config, error) {
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = 1000, 2000
	return config, nil
}

// toJSON is the JSON of a value that is known to have one.
func toJSON(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return text
}
