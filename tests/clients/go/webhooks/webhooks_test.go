// Package webhooks has a project of kubebuilder's shape with all three sorts of webhook, two versions, and a change of
// the version that is stored, in envtest.
package webhooks

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	v1 "coracle.test/clients/webhooks/api/v1"
	"coracle.test/clients/webhooks/api/v2"
)

type defaulter struct{}

func (defaulter) Default(_ context.Context, object runtime.Object) error {
	if peer := object.(*v2.Peer); peer.Spec.Weight == 0 {
		peer.Spec.Weight = 7
	}
	return nil
}

type validator struct{}

func (validator) ValidateCreate(_ context.Context, object runtime.Object) (admission.Warnings, error) {
	peer := object.(*v2.Peer)
	if strings.HasPrefix(peer.Spec.Address, "forbidden:") {
		return nil, errors.New("that host is not to be used")
	}
	return admission.Warnings{"peers are watched"}, nil
}

func (v validator) ValidateUpdate(ctx context.Context, _, object runtime.Object) (admission.Warnings, error) {
	return v.ValidateCreate(ctx, object)
}

func (validator) ValidateDelete(_ context.Context, object runtime.Object) (admission.Warnings, error) {
	if object.(*v2.Peer).Labels["keep"] == "true" {
		return nil, errors.New("it is kept")
	}
	return nil, nil
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func start(t *testing.T) client.Client {
	must(t, v1.AddToScheme(scheme.Scheme))
	must(t, v2.AddToScheme(scheme.Scheme))
	must(t, apiextensionsv1.AddToScheme(scheme.Scheme))
	environment := &envtest.Environment{
		Scheme:                scheme.Scheme,
		CRDDirectoryPaths:     []string{filepath.Join("config", "crd")},
		ErrorIfCRDPathMissing: true,
		WebhookInstallOptions: envtest.WebhookInstallOptions{Paths: []string{filepath.Join("config", "webhook")}},
	}
	began := time.Now()
	config, err := environment.Start()
	must(t, err)
	t.Logf("environment started in %s", time.Since(began).Round(time.Millisecond))
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(func() {
		cancel()
		must(t, environment.Stop())
	})
	options := environment.WebhookInstallOptions
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:  scheme.Scheme,
		Metrics: metricsserver.Options{BindAddress: "0"},
		WebhookServer: webhook.NewServer(webhook.Options{
			Host: options.LocalServingHost, Port: options.LocalServingPort, CertDir: options.LocalServingCertDir,
		}),
	})
	must(t, err)
	must(t, register(manager))
	go func() {
		if err := manager.Start(ctx); err != nil {
			t.Error(err)
		}
	}()
	address := net.JoinHostPort(options.LocalServingHost, strconv.Itoa(options.LocalServingPort))
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		connection, err := net.Dial("tcp", address)
		if err == nil {
			connection.Close()
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the webhooks are not served: ", err)
		}
	}
	direct, err := client.New(config, client.Options{Scheme: scheme.Scheme})
	must(t, err)
	return direct
}

func TestWebhooksOfAllSorts(t *testing.T) {
	ctx, c := context.Background(), start(t)
	key := client.ObjectKey{Namespace: "default", Name: "a"}

	older := &v1.Peer{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}, Spec: v1.PeerSpec{Host: "h", Port: 80}}
	must(t, c.Create(ctx, older))
	var newer v2.Peer
	must(t, c.Get(ctx, key, &newer))
	if newer.Spec.Address != "h:80" || newer.Spec.Weight != 7 {
		t.Errorf("converted and defaulted: %+v", newer.Spec)
	}

	forbidden := &v1.Peer{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "b"}, Spec: v1.PeerSpec{Host: "forbidden", Port: 1}}
	err := c.Create(ctx, forbidden)
	want := `admission webhook "vpeer.net.example.com" denied the request: that host is not to be used`
	if err == nil || err.Error() != want {
		t.Errorf("a refusal in the validator's words: %v", err)
	}

	newer.Spec.Weight = 9
	newer.Labels = map[string]string{"keep": "true"}
	must(t, c.Update(ctx, &newer))
	if err := c.Delete(ctx, &newer); err == nil || !strings.Contains(err.Error(), "it is kept") {
		t.Errorf("a deletion is refused: %v", err)
	}

	// From now on objects are stored in the newer version; what was stored before is served all the same.
	var definition apiextensionsv1.CustomResourceDefinition
	must(t, c.Get(ctx, client.ObjectKey{Name: "peers.net.example.com"}, &definition))
	for i := range definition.Spec.Versions {
		definition.Spec.Versions[i].Storage = definition.Spec.Versions[i].Name == "v2"
	}
	must(t, c.Update(ctx, &definition))
	must(t, c.Get(ctx, key, &newer))
	if newer.Spec.Address != "h:80" || newer.Spec.Weight != 9 {
		t.Errorf("stored in the older version, read in the newer: %+v", newer.Spec)
	}
	newer.Labels = nil
	must(t, c.Update(ctx, &newer))
	var list v1.PeerList
	must(t, c.List(ctx, &list))
	if len(list.Items) != 1 || list.Items[0].Spec != (v1.PeerSpec{Host: "h", Port: 80}) {
		t.Errorf("stored in the newer version, listed in the older: %+v", list.Items)
	}
	must(t, c.Delete(ctx, &newer))
}
