package envtest_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/coracle-dev/coracle/go/coracletest"
	coracle "github.com/coracle-dev/coracle/go/coracletest/envtest"
)

func definition() *apiextensionsv1.CustomResourceDefinition {
	preserve := true
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "widgets.example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "example.com", Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: "Widget", Plural: "widgets", Singular: "widget"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: &preserve,
				}},
			}},
		},
	}
}

func createWidget(t *testing.T, c client.Client) {
	t.Helper()
	widget := &unstructured.Unstructured{}
	widget.SetGroupVersionKind(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"})
	widget.SetNamespace("default")
	widget.SetName("one")
	if err := c.Create(t.Context(), widget); err != nil {
		t.Fatal(err)
	}
}

func TestAnEnvironmentInstallsItsDefinitionsOnCoracle(t *testing.T) {
	environment := coracle.Environment(t, coracletest.Options{})
	environment.CRDs = []*apiextensionsv1.CustomResourceDefinition{definition()}
	config, err := environment.Start()
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	createWidget(t, c)
	if len(environment.KubeConfig) == 0 {
		t.Error("there is no kubeconfig")
	}
	if err := environment.Stop(); err != nil {
		t.Error(err)
	}
}

func TestAnEnvironmentOfASuiteStartsOnCoracle(t *testing.T) {
	environment := &envtest.Environment{CRDs: []*apiextensionsv1.CustomResourceDefinition{definition()}}
	env := coracle.From(t, environment, coracletest.Options{})
	c, err := client.New(environment.Config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		createWidget(t, c)
		env.ResetTo(coracle.Installed)
	}
	if err := c.Get(t.Context(), client.ObjectKey{Name: "default"}, &corev1.Namespace{}); err != nil {
		t.Fatal(err)
	}
}
