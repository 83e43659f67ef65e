package coracletest

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
)

// partialOf is a partial object as JSON.
func partialOf(object any) (map[string]any, error) {
	switch object := object.(type) {
	case string:
		return fromYAML([]byte(object))
	case []byte:
		return fromYAML(object)
	case map[string]any:
		return object, nil
	case runtime.Unstructured:
		return object.UnstructuredContent(), nil
	case runtime.Object:
		fields, err := fieldsOf(object)
		if err != nil {
			return nil, err
		}
		pruned, _ := prune(fields).(map[string]any)
		return pruned, nil
	}
	return nil, fmt.Errorf("coracletest: an object is a text in YAML, a map or a runtime.Object, not %T", object)
}

func fromYAML(text []byte) (map[string]any, error) {
	var fields map[string]any
	if err := yaml.Unmarshal(text, &fields); err != nil {
		return nil, fmt.Errorf("coracletest: the YAML of an object: %w", err)
	}
	return fields, nil
}

// fieldsOf is a typed object as JSON, with its apiVersion and kind.
func fieldsOf(object runtime.Object) (map[string]any, error) {
	kind, err := kindOf(object)
	if err != nil {
		return nil, err
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fmt.Errorf("coracletest: %w", err)
	}
	fields["apiVersion"], fields["kind"] = kind.ToAPIVersionAndKind()
	return fields, nil
}

// kindOf is the kind of an object: its own, or the one of its Go type, because clients return typed objects without it.
func kindOf(object runtime.Object) (schema.GroupVersionKind, error) {
	if kind := object.GetObjectKind().GroupVersionKind(); kind.Kind != "" {
		return kind, nil
	}
	kinds, _, err := scheme.Scheme.ObjectKinds(object)
	if err != nil {
		return schema.GroupVersionKind{}, fmt.Errorf("coracletest: %T has no kind: set its TypeMeta", object)
	}
	return kinds[0], nil
}

// nameOf is the name that the event log has for an object.
func nameOf(object any) (string, error) {
	if name, ok := object.(string); ok {
		return name, nil
	}
	typed, ok := object.(runtime.Object)
	if !ok {
		return "", fmt.Errorf("coracletest: expected a runtime.Object or a name such as pod/default/web-1, not %T", object)
	}
	kind, err := kindOf(typed)
	if err != nil {
		return "", err
	}
	about, err := meta.Accessor(object)
	if err != nil {
		return "", fmt.Errorf("coracletest: %w", err)
	}
	word := strings.ToLower(kind.Kind)
	if kind.Group != "" {
		word += "." + kind.Group
	}
	if about.GetNamespace() != "" {
		return word + "/" + about.GetNamespace() + "/" + about.GetName(), nil
	}
	return word + "/" + about.GetName(), nil
}

// prune removes zero values, which a typed object has for fields that are not set.
func prune(value any) any {
	switch value := value.(type) {
	case map[string]any:
		kept := map[string]any{}
		for key, field := range value {
			if field = prune(field); field != nil {
				kept[key] = field
			}
		}
		if len(kept) > 0 {
			return kept
		}
	case []any:
		if len(value) > 0 {
			kept := make([]any, len(value))
			for i, item := range value {
				kept[i] = prune(item)
			}
			return kept
		}
	case string:
		if value != "" {
			return value
		}
	case bool:
		if value {
			return value
		}
	case int64:
		if value != 0 {
			return value
		}
	case float64:
		if value != 0 {
			return value
		}
	}
	return nil
}
