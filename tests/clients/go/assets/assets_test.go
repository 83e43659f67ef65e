//go:build !twoyears

// Package assets starts a control plane of programs that envtest downloads from an index.
package assets

import (
	"os"
	"strings"
	"testing"

	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

func TestAnEnvironmentDownloadsItsProgramsFromTheIndex(t *testing.T) {
	index, release := os.Getenv("CORACLE_ENVTEST_INDEX"), os.Getenv("CORACLE_ENVTEST_RELEASE")
	if index == "" {
		t.Skip("CORACLE_ENVTEST_INDEX is not set; tests/clients/setup-envtest/session.sh sets it")
	}
	env := &envtest.Environment{
		DownloadBinaryAssets:         true,
		DownloadBinaryAssetsVersion:  release,
		DownloadBinaryAssetsIndexURL: index,
		BinaryAssetsDirectory:        t.TempDir(),
	}
	config, err := env.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := env.Stop(); err != nil {
			t.Error(err)
		}
	}()
	version, err := discovery.NewDiscoveryClientForConfigOrDie(config).ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(version.GitVersion, "v"+release+".") {
		t.Errorf("the server is %s, and the environment asked for %s", version.GitVersion, release)
	}
}
