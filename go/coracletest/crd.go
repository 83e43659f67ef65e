package coracletest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

const crdKind = "CustomResourceDefinition"

var crdVersion = schema.GroupVersion{Group: "apiextensions.k8s.io", Version: "v1"}

// readCRDs reads the CustomResourceDefinitions of files, folders and objects.
func readCRDs(paths []string, objects []runtime.Object) ([]*unstructured.Unstructured, error) {
	var definitions []*unstructured.Unstructured
	for _, path := range paths {
		found, err := crdsAt(path)
		if err != nil {
			return nil, fmt.Errorf("coracletest: CRDPaths: %w", err)
		}
		definitions = append(definitions, found...)
	}
	for _, object := range objects {
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
		if err != nil {
			return nil, fmt.Errorf("coracletest: CRDs: %w", err)
		}
		definition := &unstructured.Unstructured{Object: fields}
		if definition.GetKind() == "" {
			definition.SetGroupVersionKind(crdVersion.WithKind(crdKind))
		}
		if definition.GetKind() != crdKind {
			return nil, fmt.Errorf("coracletest: CRDs: %s is a %s and no %s", definition.GetName(), definition.GetKind(), crdKind)
		}
		delete(definition.Object, "status")
		definitions = append(definitions, definition)
	}
	return definitions, nil
}

// crdsAt reads a file, or the files of a folder. A path without any definition is an error.
func crdsAt(path string) ([]*unstructured.Unstructured, error) {
	var definitions []*unstructured.Unstructured
	err := filepath.WalkDir(path, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		isData := slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(file))
		if entry.IsDir() || (!isData && file != path) {
			return nil
		}
		found, err := crdsIn(file)
		definitions = append(definitions, found...)
		return err
	})
	if err == nil && len(definitions) == 0 {
		err = fmt.Errorf("%s has no %s", path, crdKind)
	}
	return definitions, err
}

func crdsIn(file string) ([]*unstructured.Unstructured, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var definitions []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		definition := &unstructured.Unstructured{}
		err := decoder.Decode(&definition.Object)
		if errors.Is(err, io.EOF) {
			return definitions, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if definition.GetKind() == crdKind {
			definitions = append(definitions, definition)
		}
	}
}

// installCRDs creates CustomResourceDefinitions, and waits until they are established.
func installCRDs(ctx context.Context, config *rest.Config, definitions []*unstructured.Unstructured) error {
	if len(definitions) == 0 {
		return nil
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("coracletest: %w", err)
	}
	api := client.Resource(crdVersion.WithResource("customresourcedefinitions"))
	for _, definition := range definitions {
		_, err := api.Create(ctx, definition, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("coracletest: cannot install the CRD %s: %w", definition.GetName(), err)
		}
	}
	for _, definition := range definitions {
		for {
			found, err := api.Get(ctx, definition.GetName(), metav1.GetOptions{})
			if err != nil {
				return fmt.Errorf("coracletest: the CRD %s: %w", definition.GetName(), err)
			}
			if isEstablished(found) {
				break
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("coracletest: the CRD %s is not established: %v", definition.GetName(), found.Object["status"])
			case <-time.After(pollInterval):
			}
		}
	}
	return nil
}

func isEstablished(definition *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(definition.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(condition any) bool {
		fields, _ := condition.(map[string]any)
		return fields["type"] == "Established" && fields["status"] == "True"
	})
}
