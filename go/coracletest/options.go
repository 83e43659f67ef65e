package coracletest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
)

// Version is the version of the program coracle that this module works with.
const Version = "0.1.0"

// Time is how the time of a cluster passes.
type Time string

const (
	// Real is the time of the machine, and the default.
	Real Time = "real"
	// Stepped is a clock that stands still until the test advances it. See [Clock].
	Stepped Time = "stepped"
)

// Scaled is a clock that is this many times as fast as the clock of the machine.
func Scaled(factor float64) Time {
	return Time("scaled=" + strconv.FormatFloat(factor, 'f', -1, 64))
}

// Options are the options of a cluster. The zero value is an API server in real time without controllers, as in envtest.
type Options struct {
	// Nodes is the number of simulated nodes: node-1, node-2 and so on.
	Nodes int
	// Controllers starts the controllers and the scheduler. Without them, only the API server acts, as in envtest: objects
	// have no status, a namespace is never removed, and pods need no service account.
	Controllers bool
	// Kubernetes is the release, such as "1.36". The default is the newest.
	Kubernetes string
	// Time is how the time of the cluster passes. The default is Real.
	Time Time
	// Seed is the seed of all randomness, such as the suffixes of pod names. In real time, 0 stands for the randomness of the
	// operating system.
	Seed uint64
	// CRDPaths are YAML or JSON files, and folders of such files, whose CustomResourceDefinitions exist after the start.
	CRDPaths []string
	// CRDs are CustomResourceDefinitions that exist after the start: typed, or unstructured.
	CRDs []runtime.Object
	// Port is the port of the API server on 127.0.0.1. The default is a free one.
	Port int
	// Args are further arguments of `coracle up`, such as "--feature-gates=MutablePodResources=true".
	Args []string
	// Reports is the folder for the pages of failed tests. The default is the artifact folder of the test if `go test` runs
	// with -artifacts, and the folder of temporary files otherwise.
	Reports string
}

// noController is a list of controllers without any: it has no "*", and only excludes one.
const noController = "controllers=-cronjob-controller"

// idleScheduler is a configuration in which the scheduler acts on no pod.
const idleScheduler = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: coracletest.coracle.dev
`

func (o Options) time() Time {
	if o.Time == "" {
		return Real
	}
	return o.Time
}

// arguments are the arguments of the program, which uses this folder for its state.
func (o Options) arguments(dir string) ([]string, error) {
	if o.Nodes < 0 || o.Port < 0 {
		return nil, fmt.Errorf("coracletest: Options.Nodes and Options.Port must not be negative")
	}
	arguments := []string{
		"up", "--ephemeral", "--state-dir", dir, "--nodes", strconv.Itoa(o.Nodes), "--time", string(o.time()),
		"--secure-port", strconv.Itoa(o.Port),
	}
	if o.Kubernetes != "" {
		arguments = append(arguments, "--kubernetes", o.Kubernetes)
	}
	if o.Seed != 0 || o.time() != Real {
		arguments = append(arguments, "--seed", strconv.FormatUint(o.Seed, 10))
	}
	hasLog := slices.ContainsFunc(o.Args, func(argument string) bool {
		return strings.HasPrefix(argument, "--events") || strings.HasPrefix(argument, "--view")
	})
	if !hasLog {
		// The event log in memory, which Why, Events and the page of a failed test need.
		arguments = append(arguments, "--view")
	}
	if !o.Controllers {
		file := filepath.Join(dir, "scheduler.yaml")
		if err := os.WriteFile(file, []byte(idleScheduler), 0o600); err != nil {
			return nil, fmt.Errorf("coracletest: %w", err)
		}
		arguments = append(arguments, "--empty", "--kube-controller-manager-arg", noController,
			"--scheduler-config", file, "--disable-admission-plugins", "ServiceAccount")
	}
	return append(arguments, o.Args...), nil
}
