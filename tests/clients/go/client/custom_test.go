package client

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/openapi"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/scale"
	"k8s.io/client-go/util/retry"
)

// What `coracle up` serves without --kubernetes.
const newestRelease = "1.37"

var widgets = schema.GroupVersionResource{Group: "go.example.com", Version: "v1", Resource: "widgets"}

// defineWidgets makes a custom kind with a schema, defaults, a status and a scale.
func defineWidgets(t *testing.T, config *rest.Config) {
	t.Helper()
	client, err := apiextensions.NewForConfig(config)
	must(t, err)
	integer := apiextensionsv1.JSONSchemaProps{Type: "integer", Minimum: pointer(0.0)}
	size := integer
	size.Default = &apiextensionsv1.JSON{Raw: []byte("3")}
	object := func(fields map[string]apiextensionsv1.JSONSchemaProps) apiextensionsv1.JSONSchemaProps {
		return apiextensionsv1.JSONSchemaProps{Type: "object", Properties: fields}
	}
	shape := object(map[string]apiextensionsv1.JSONSchemaProps{
		"spec":   object(map[string]apiextensionsv1.JSONSchemaProps{"replicas": size}),
		"status": object(map[string]apiextensionsv1.JSONSchemaProps{"replicas": integer}),
	})
	definitions := client.ApiextensionsV1().CustomResourceDefinitions()
	_, err = definitions.Create(ctx(t), &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "widgets.go.example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: widgets.Group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "widgets", Kind: "Widget", ShortNames: []string{"wdg"}, Categories: []string{"all"}},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &shape},
				Subresources: &apiextensionsv1.CustomResourceSubresources{
					Status: &apiextensionsv1.CustomResourceSubresourceStatus{},
					Scale:  &apiextensionsv1.CustomResourceSubresourceScale{SpecReplicasPath: ".spec.replicas", StatusReplicasPath: ".status.replicas"},
				},
			}},
		},
	}, metav1.CreateOptions{})
	must(t, err)
	t.Cleanup(func() {
		_ = definitions.Delete(context.Background(), "widgets.go.example.com", metav1.DeleteOptions{})
		eventually(t, "the definition is gone", func() bool {
			_, err := definitions.Get(context.Background(), "widgets.go.example.com", metav1.GetOptions{})
			return apierrors.IsNotFound(err)
		})
	})
	eventually(t, "the definition is established", func() bool {
		read, err := definitions.Get(ctx(t), "widgets.go.example.com", metav1.GetOptions{})
		must(t, err)
		for _, condition := range read.Status.Conditions {
			if condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue {
				return true
			}
		}
		return false
	})
}

func widget(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "go.example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": name}, "spec": map[string]any{}}}
}

func TestACustomKindLivesThroughEveryVerbOfTheDynamicClient(t *testing.T) {
	config := configuration(t)
	defineWidgets(t, config)
	client, err := dynamic.NewForConfig(config)
	must(t, err)
	ns := namespace(t, clientset(t, config))
	all := client.Resource(widgets).Namespace(ns)
	events, err := all.Watch(ctx(t), metav1.ListOptions{})
	must(t, err)
	defer events.Stop()

	made, err := all.Create(ctx(t), widget("w"), metav1.CreateOptions{})
	must(t, err)
	replicas := func(object *unstructured.Unstructured) int64 {
		value, _, err := unstructured.NestedInt64(object.Object, "spec", "replicas")
		must(t, err)
		return value
	}
	equal(t, "the default", replicas(made), 3)
	equal(t, "the generation", made.GetGeneration(), 1)

	must(t, unstructured.SetNestedField(made.Object, int64(5), "status", "replicas"))
	must(t, unstructured.SetNestedField(made.Object, int64(9), "spec", "replicas"))
	updated, err := all.UpdateStatus(ctx(t), made, metav1.UpdateOptions{})
	must(t, err)
	equal(t, "the specification, which a status leaves alone,", replicas(updated), 3)
	equal(t, "the generation", updated.GetGeneration(), 1)

	patched, err := all.Patch(ctx(t), "w", types.MergePatchType, []byte(`{"spec":{"replicas":4}}`), metav1.PatchOptions{})
	must(t, err)
	equal(t, "the generation", patched.GetGeneration(), 2)
	_, err = all.Patch(ctx(t), "w", types.StrategicMergePatchType, []byte(`{}`), metav1.PatchOptions{})
	holds(t, "custom kinds have no strategic patch", apierrors.IsUnsupportedMediaType(err))
	_, err = all.Patch(ctx(t), "w", types.JSONPatchType, []byte(`[{"op":"replace","path":"/spec/replicas","value":-1}]`), metav1.PatchOptions{})
	holds(t, "the schema is held to", apierrors.IsInvalid(err))

	wanted := widget("w")
	must(t, unstructured.SetNestedField(wanted.Object, int64(7), "spec", "replicas"))
	applied, err := all.Apply(ctx(t), "w", wanted, metav1.ApplyOptions{FieldManager: "applier", Force: true})
	must(t, err)
	equal(t, "what was applied", replicas(applied), 7)
	scale, err := all.Get(ctx(t), "w", metav1.GetOptions{}, "scale")
	must(t, err)
	equal(t, "the scale", replicas(scale), 7)
	list, err := client.Resource(widgets).List(ctx(t), metav1.ListOptions{})
	must(t, err)
	equal(t, "the number of items", len(list.Items), 1)
	must(t, all.Delete(ctx(t), "w", metav1.DeleteOptions{}))
	for _, kind := range []watch.EventType{watch.Added, watch.Modified, watch.Modified, watch.Modified, watch.Deleted} {
		is, object := next(t, events)
		equal(t, "the event", is, kind)
		equal(t, "its kind", object.GetObjectKind().GroupVersionKind().Kind, "Widget")
	}
}

func TestTheScaleClientScalesBuiltInAndCustomKinds(t *testing.T) {
	config := configuration(t)
	defineWidgets(t, config)
	client := clientset(t, config)
	ns := namespace(t, client)
	_, err := client.AppsV1().Deployments(ns).Create(ctx(t), deployment("web", 0), metav1.CreateOptions{})
	must(t, err)
	custom, err := dynamic.NewForConfig(config)
	must(t, err)
	_, err = custom.Resource(widgets).Namespace(ns).Create(ctx(t), widget("web"), metav1.CreateOptions{})
	must(t, err)

	discovered := memory.NewMemCacheClient(client.Discovery())
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(discovered)
	scales, err := scale.NewForConfig(config, mapper, dynamic.LegacyAPIPathResolverFunc, scale.NewDiscoveryScaleKindResolver(client.Discovery()))
	must(t, err)
	for _, resource := range []schema.GroupVersionResource{{Group: "apps", Version: "v1", Resource: "deployments"}, widgets} {
		must(t, retry.RetryOnConflict(retry.DefaultBackoff, func() error {
			read, err := scales.Scales(ns).Get(ctx(t), resource.GroupResource(), "web", metav1.GetOptions{})
			must(t, err)
			read.Spec.Replicas = 2
			updated, err := scales.Scales(ns).Update(ctx(t), resource.GroupResource(), read, metav1.UpdateOptions{})
			if err == nil {
				equal(t, "replicas", updated.Spec.Replicas, 2)
			}
			return err
		}))
		patched, err := scales.Scales(ns).Patch(ctx(t), resource, "web", types.MergePatchType, []byte(`{"spec":{"replicas":1}}`), metav1.PatchOptions{})
		must(t, err)
		equal(t, "replicas", patched.Spec.Replicas, 1)
	}
	var raw autoscalingv1.Scale
	text, err := client.AppsV1().RESTClient().Get().AbsPath("/apis/apps/v1/namespaces/"+ns+"/deployments/web/scale").
		SetHeader("Accept", "application/json").DoRaw(ctx(t))
	must(t, err)
	must(t, json.Unmarshal(text, &raw))
	equal(t, "replicas", raw.Spec.Replicas, 1)
}

func TestTheMetadataClientSeesMetadataOfEveryKind(t *testing.T) {
	config := configuration(t)
	defineWidgets(t, config)
	client := clientset(t, config)
	ns := namespace(t, client)
	all, err := metadata.NewForConfig(config)
	must(t, err)
	custom, err := dynamic.NewForConfig(config)
	must(t, err)
	for _, resource := range []schema.GroupVersionResource{widgets, {Version: "v1", Resource: "configmaps"}} {
		of := all.Resource(resource).Namespace(ns)
		events, err := of.Watch(ctx(t), metav1.ListOptions{LabelSelector: "app=a"})
		must(t, err)
		if resource == widgets {
			object := widget("m")
			object.SetLabels(map[string]string{"app": "a"})
			_, err = custom.Resource(resource).Namespace(ns).Create(ctx(t), object, metav1.CreateOptions{})
		} else {
			_, err = client.CoreV1().ConfigMaps(ns).Create(ctx(t), configMap("m", map[string]string{"a": "b"}), metav1.CreateOptions{})
		}
		must(t, err)
		read, err := of.Get(ctx(t), "m", metav1.GetOptions{})
		must(t, err)
		equal(t, "the label", read.Labels["app"], "a")
		_, err = of.Patch(ctx(t), "m", types.MergePatchType, []byte(`{"metadata":{"annotations":{"a":"b"}}}`), metav1.PatchOptions{})
		must(t, err)
		list, err := of.List(ctx(t), metav1.ListOptions{LabelSelector: "app=a"})
		must(t, err)
		equal(t, "the annotation", list.Items[0].Annotations["a"], "b")
		must(t, of.Delete(ctx(t), "m", metav1.DeleteOptions{}))
		for _, kind := range []watch.EventType{watch.Added, watch.Modified, watch.Deleted} {
			is, object := next(t, events)
			equal(t, "the event", is, kind)
			equal(t, "its object", object.(*metav1.PartialObjectMetadata).Name, "m")
		}
		events.Stop()
	}
}

func TestDiscoveryAndTheDocumentsDescribeWhatIsServed(t *testing.T) {
	config := configuration(t)
	defineWidgets(t, config)
	seen := &requests{}
	client, err := discovery.NewDiscoveryClientForConfig(seen.over(config))
	must(t, err)
	groups, lists, err := client.ServerGroupsAndResources()
	must(t, err)
	holds(t, "there are groups and resources", len(groups) > 15 && len(lists) > 15)
	equal(t, "the number of requests", len(seen.seen), 2)
	client.UseLegacyDiscovery = true
	_, old, err := client.ServerGroupsAndResources()
	must(t, err)
	equal(t, "the number of lists the old way", len(old), len(lists))
	version, err := client.ServerVersion()
	must(t, err)
	equal(t, "the version", version.Major+"."+version.Minor, newestRelease)

	found, err := restmapper.GetAPIGroupResources(client)
	must(t, err)
	mapper := restmapper.NewShortcutExpander(restmapper.NewDiscoveryRESTMapper(found), client, nil)
	for short, kind := range map[string]string{"po": "Pod", "deploy": "Deployment", "wdg": "Widget", "cm": "ConfigMap"} {
		is, err := mapper.KindFor(schema.GroupVersionResource{Resource: short})
		must(t, err)
		equal(t, "what "+short+" is", is.Kind, kind)
	}
	mapping, err := mapper.RESTMapping(schema.GroupKind{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"})
	must(t, err)
	equal(t, "the scope of a ClusterRole", mapping.Scope.Name(), meta.RESTScopeNameRoot)

	document, err := client.OpenAPISchema()
	must(t, err)
	holds(t, "there are definitions", len(document.Definitions.AdditionalProperties) > 500)
	paths, err := client.OpenAPIV3().Paths()
	must(t, err)
	for _, path := range []string{"api/v1", "apis/apps/v1", "apis/go.example.com/v1"} {
		holds(t, path+" is described", paths[path] != nil)
		text, err := paths[path].Schema("application/json")
		must(t, err)
		var parsed map[string]any
		must(t, json.Unmarshal(text, &parsed))
		text, err = paths[path].Schema(openapi.ContentTypeOpenAPIV3PB)
		must(t, err)
		holds(t, "as protobuf too", len(text) > 0)
	}
	holds(t, "the widgets are served", fmt.Sprint(discovery.ServerSupportsVersion(client, widgets.GroupVersion())) == "<nil>")
}
