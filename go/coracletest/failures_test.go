package coracletest_test

import (
	"crypto/sha256"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coracle-dev/coracle/go/coracletest"
)

// again runs a test of this program in another process, with more variables.
func again(t *testing.T, test string, variables ...string) *exec.Cmd {
	t.Helper()
	command := exec.Command(must(os.Executable())(t), "-test.run=^"+test+"$", "-test.v")
	command.Env = append(append(os.Environ(), failing+"="+test), variables...)
	return command
}

func onlyIn(t *testing.T) {
	t.Helper()
	if os.Getenv(failing) != t.Name() {
		t.Skip("another test runs this one in a process of its own")
	}
}

func TestFails(t *testing.T) {
	onlyIn(t)
	env := coracletest.Start(t, coracletest.Options{})
	create(t, env, "the-culprit")
	t.Error("on purpose")
}

func TestAFailedTestWritesThePageOfItsRun(t *testing.T) {
	folder := t.TempDir()
	output, err := again(t, "TestFails", "TMPDIR="+folder).CombinedOutput()
	if err == nil {
		t.Fatalf("the test has not failed: %s", output)
	}
	pages := must(filepath.Glob(filepath.Join(folder, "coracle-TestFails-*.html")))(t)
	if len(pages) != 1 || !strings.Contains(string(output), "the page of the run: "+pages[0]) {
		t.Fatalf("the pages %v, and the output %s", pages, output)
	}
	// The entries of the event log are compressed in the page.
	if page := must(os.ReadFile(pages[0]))(t); !strings.HasPrefix(string(page), "<!doctype html>") {
		t.Errorf("the page begins with %.40q", page)
	}
	if left := must(os.ReadDir(folder))(t); len(left) != 1 {
		t.Errorf("the test has left %v", left)
	}
}

func TestWithArtifactsThePageIsInTheArtifactFolder(t *testing.T) {
	folder := t.TempDir()
	command := again(t, "TestFails")
	command.Args = append(command.Args, "-test.artifacts", "-test.outputdir="+folder)
	output, err := command.CombinedOutput()
	if strings.Contains(string(output), "flag provided but not defined") {
		t.Skip("this release of Go has no artifact folders")
	}
	if err == nil || !strings.Contains(string(output), "the page of the run: "+folder) {
		t.Fatalf("%v: %s", err, output)
	}
}

func TestIsKilled(t *testing.T) {
	onlyIn(t)
	env := coracletest.Start(t, coracletest.Options{})
	fmt.Printf("HOST %s\n", env.Config.Host)
	time.Sleep(patience)
}

func TestTheServerEndsWithAKilledTestProcess(t *testing.T) {
	folder := t.TempDir()
	command := again(t, "TestIsKilled", "TMPDIR="+folder)
	pipe := must(command.StdoutPipe())(t)
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	var host string
	if _, err := fmt.Fscanf(pipe, "=== RUN   TestIsKilled\nHOST https://%s\n", &host); err != nil {
		t.Fatal(err)
	}
	if err := command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = command.Wait()
	eventually(t, "the server ends", func() bool {
		connection, err := net.Dial("tcp", host)
		if err == nil {
			_ = connection.Close()
		}
		return err != nil
	})
	// The next start removes the folder of the killed process when that is a minute old.
	left := must(filepath.Glob(filepath.Join(folder, "coracletest-*")))(t)
	if len(left) != 1 {
		t.Fatalf("the killed process has left %v", left)
	}
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(left[0], old, old); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", folder)
	env := coracletest.Start(t, coracletest.Options{})
	if _, err := os.Stat(left[0]); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", left[0], err)
	}
	// A running server keeps its folder, however old.
	running := filepath.Dir(env.KubeconfigPath)
	if err := os.Chtimes(running, old, old); err != nil {
		t.Fatal(err)
	}
	coracletest.Start(t, coracletest.Options{})
	if _, err := os.Stat(env.KubeconfigPath); err != nil {
		t.Error(err)
	}
}

// recorded is a test that records why it fails.
type recorded struct {
	testing.TB
	message string
}

func (r *recorded) Fatalf(format string, arguments ...any) {
	r.message = fmt.Sprintf(format, arguments...)
	panic(r)
}

// why is the message with which a start fails.
func why(t *testing.T, options coracletest.Options) string {
	t.Helper()
	r := &recorded{TB: t}
	func() {
		defer func() {
			if cause := recover(); cause != nil && cause != any(r) {
				panic(cause)
			}
		}()
		coracletest.Start(r, options)
	}()
	if r.message == "" || strings.Contains(r.message, "\n") {
		t.Errorf("the start failed with %q", r.message)
	}
	return r.message
}

func expect(t *testing.T, message string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(message, part) {
			t.Errorf("%q does not contain %q", message, part)
		}
	}
}

func TestAStartThatFailsSaysWhatToDo(t *testing.T) {
	program := os.Getenv("CORACLE_BIN")
	if program == "" {
		program = must(exec.LookPath("coracle"))(t)
	}
	folder := t.TempDir()

	listener := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer listener.Close()
	port := listener.Addr().(*net.TCPAddr).Port
	expect(t, why(t, coracletest.Options{Port: port}), fmt.Sprint(port), "in use")
	expect(t, why(t, coracletest.Options{Kubernetes: "1.11"}), "1.11", "1.37")
	expect(t, why(t, coracletest.Options{CRDPaths: []string{folder}}), folder, "CustomResourceDefinition")

	other := filepath.Join(folder, "other")
	script := "#!/bin/sh\nif [ \"$1\" = --version ]; then echo coracle 0.0.9; else echo unexpected argument >&2; exit 2; fi\n"
	if err := os.WriteFile(other, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CORACLE_BIN", other)
	expect(t, why(t, coracletest.Options{}), other, "0.0.9", coracletest.Version, "CORACLE_BIN")
	t.Setenv("CORACLE_BIN", filepath.Join(folder, "missing"))
	expect(t, why(t, coracletest.Options{}), "missing", "CORACLE_BIN")

	t.Setenv("CORACLE_BIN", "")
	t.Setenv("PATH", folder)
	t.Setenv("XDG_CACHE_HOME", folder)
	cached := filepath.Join(folder, "coracle", coracletest.Version, "coracle")
	expect(t, why(t, coracletest.Options{}), cached, "CORACLE_BIN")
	if err := os.MkdirAll(filepath.Dir(cached), 0o700); err != nil {
		t.Fatal(err)
	}
	content := must(os.ReadFile(program))(t)
	if err := os.WriteFile(cached, content, 0o700); err != nil {
		t.Fatal(err)
	}
	expect(t, why(t, coracletest.Options{}), cached+".sha256", "sha256sum")
	sums := func(content []byte) {
		sum := fmt.Sprintf("%x  coracle\n", sha256.Sum256(content))
		if err := os.WriteFile(cached+".sha256", []byte(sum), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	sums([]byte("another program"))
	expect(t, why(t, coracletest.Options{}), "SHA-256", "download")
	sums(content)
	coracletest.Start(t, coracletest.Options{})

	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("HOME", "")
	expect(t, why(t, coracletest.Options{}), "no home folder", "CORACLE_BIN")
}
