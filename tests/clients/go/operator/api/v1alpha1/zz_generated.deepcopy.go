package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// DeepCopyObject copies a Memcached.
func (in *Memcached) DeepCopyObject() runtime.Object {
	out := &Memcached{TypeMeta: in.TypeMeta}
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	if in.Spec.Size != nil {
		size := *in.Spec.Size
		out.Spec.Size = &size
	}
	out.Status.ReadyReplicas = in.Status.ReadyReplicas
	for _, condition := range in.Status.Conditions {
		out.Status.Conditions = append(out.Status.Conditions, *condition.DeepCopy())
	}
	return out
}

// DeepCopyObject copies a MemcachedList.
func (in *MemcachedList) DeepCopyObject() runtime.Object {
	out := &MemcachedList{TypeMeta: in.TypeMeta}
	in.ListMeta.DeepCopyInto(&out.ListMeta)
	out.Items = make([]Memcached, 0, len(in.Items))
	for index := range in.Items {
		out.Items = append(out.Items, *in.Items[index].DeepCopyObject().(*Memcached))
	}
	return out
}

var _ metav1.Object = &Memcached{}
