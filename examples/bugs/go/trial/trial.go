// Package trial runs a controller against a cluster of its own, over HTTPS, with faults or without.
//
// CORACLE is the path of the program `coracle`; without it, the one on the PATH runs.
package trial

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Namespace is where the objects of the trials are.
const Namespace = "default"

// patience is more than a busy machine takes for anything that a trial waits for.
const patience = 2 * time.Minute

// Bug is a controller that has a bug, its fixed twin, and the faults that show the bug.
type Bug struct {
	// Faults is the file with which the cluster starts; empty if Run adds all faults.
	Faults string
	// Wrong is what is wrong in the end if the bug shows.
	Wrong string
	// Run lets a user act while one of the twins runs, and returns what is wrong in the end.
	Run func(cluster *Cluster, fixed bool) string
}

// Prove shows that the bug needs its faults to be seen, and that the fixed twin survives them.
func Prove(t *testing.T, bug Bug) {
	for _, one := range []struct {
		name          string
		fixed, faulty bool
		wrong         string
	}{
		{"the buggy one with the faults", false, true, bug.Wrong},
		{"the fixed one with the faults", true, true, ""},
		{"the buggy one without a fault", false, false, ""},
		{"the fixed one without a fault", true, false, ""},
	} {
		t.Run(one.name, func(t *testing.T) {
			cluster := start(t, bug.Faults, one.faulty)
			wrong := bug.Run(cluster, one.fixed)
			cluster.Heal()
			if wrong != one.wrong {
				t.Fatalf("the result is %q, not %q", wrong, one.wrong)
			}
		})
	}
}

// Cluster is a running cluster. Its faults act only if the trial is one with faults.
type Cluster struct {
	*testing.T
	// User is a client with the kubeconfig of the administrator.
	User kubernetes.Interface

	state  string
	faulty bool
}

func start(t *testing.T, faults string, faulty bool) *Cluster {
	cluster := &Cluster{T: t, state: t.TempDir(), faulty: faulty}
	arguments := []string{"up", "--ephemeral", "--empty", "--nodes", "0"}
	if faulty && faults != "" {
		file := filepath.Join(cluster.state, "faults.yaml")
		cluster.Must(os.WriteFile(file, []byte(faults), 0o600))
		arguments = append(arguments, "--faults", file)
	}
	up := cluster.coracle(arguments...)
	output, err := up.StdoutPipe()
	cluster.Must(err)
	cluster.Must(up.Start())
	t.Cleanup(func() {
		_ = up.Process.Signal(os.Interrupt)
		_ = up.Wait()
	})
	lines := bufio.NewScanner(output)
	for lines.Scan() && !strings.Contains(lines.Text(), "ready") {
	}
	cluster.Must(lines.Err())
	cluster.User = cluster.client(filepath.Join(cluster.state, "kubeconfig"))
	return cluster
}

// coracle is a call of `coracle` for this cluster.
func (c *Cluster) coracle(arguments ...string) *exec.Cmd {
	program := os.Getenv("CORACLE")
	if program == "" {
		program = "coracle"
	}
	command := exec.Command(program, arguments...)
	command.Env = append(os.Environ(), "CORACLE_STATE_DIR="+c.state)
	command.Stderr = os.Stderr
	return command
}

// Config is the configuration of a program that faults select as `name`: of `coracle kubeconfig --for name`.
func (c *Cluster) Config(name string) *rest.Config {
	c.Helper()
	file, err := c.coracle("kubeconfig", "--for", name).Output()
	c.Must(err)
	config, err := clientcmd.BuildConfigFromFlags("", strings.TrimSpace(string(file)))
	c.Must(err)
	return config
}

func (c *Cluster) client(kubeconfig string) kubernetes.Interface {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	c.Must(err)
	client, err := kubernetes.NewForConfig(config)
	c.Must(err)
	return client
}

// Go runs a controller until the trial ends. A controller that ends before fails the trial.
func (c *Cluster) Go(controller func(ctx context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := controller(ctx); ctx.Err() == nil {
			c.Errorf("the controller has ended: %v", err)
		}
	}()
	c.Cleanup(func() {
		cancel()
		<-ended
	})
}

// Fault adds a fault to the running cluster, as `coracle fault add` does.
func (c *Cluster) Fault(fault string) {
	c.Helper()
	if c.faulty {
		c.faults("POST", fault)
	}
}

// Struck waits until all faults have struck.
func (c *Cluster) Struck() {
	c.Helper()
	c.Eventually("each fault has struck", func() bool {
		for _, fault := range c.faults("GET", "") {
			if fault.Struck == 0 {
				return false
			}
		}
		return true
	})
}

// Heal removes all faults. One that has not struck fails the trial.
func (c *Cluster) Heal() {
	c.Helper()
	for _, fault := range c.faults("DELETE", "") {
		if fault.Struck == 0 {
			c.Errorf("the fault %s has not struck: %s", fault.Name, fault.NearMiss)
		}
	}
}

// A fault as the cluster lists it.
type fault struct {
	Name, NearMiss string
	Struck         int
}

func (c *Cluster) faults(method, body string) []fault {
	c.Helper()
	request := c.User.CoreV1().RESTClient().Verb(method).AbsPath("/coracle/v1/faults").Body([]byte(body))
	answer, err := request.Do(c.Context()).Raw()
	c.Must(err)
	var listed struct{ Faults []fault }
	c.Must(json.Unmarshal(answer, &listed))
	return listed.Faults
}

// Must fails the trial if there is an error.
func (c *Cluster) Must(err error) {
	c.Helper()
	if err != nil {
		c.Fatalf("%T: %v", err, err)
	}
}

// Eventually waits until a condition holds.
func (c *Cluster) Eventually(what string, holds func() bool) {
	c.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if holds() {
			return
		}
	}
	c.Fatalf("%s: not within %v", what, patience)
}
