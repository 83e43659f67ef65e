// Package v1alpha1 is the API of the operator under test, laid out as kubebuilder lays it out.
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	// GroupVersion is the group and version of the kinds of this package.
	GroupVersion = schema.GroupVersion{Group: "cache.example.com", Version: "v1alpha1"}
	// SchemeBuilder collects the kinds of this package.
	SchemeBuilder = runtime.NewSchemeBuilder(func(scheme *runtime.Scheme) error {
		scheme.AddKnownTypes(GroupVersion, &Memcached{}, &MemcachedList{})
		metav1.AddToGroupVersion(scheme, GroupVersion)
		return nil
	})
	// AddToScheme makes the kinds of this package known.
	AddToScheme = SchemeBuilder.AddToScheme
)
