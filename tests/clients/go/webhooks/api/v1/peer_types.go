// Package v1 has the kind as it was first.
package v1

import (
	"fmt"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/conversion"
	"sigs.k8s.io/controller-runtime/pkg/scheme"

	"coracle.test/clients/webhooks/api/v2"
)

var (
	GroupVersion  = schema.GroupVersion{Group: "net.example.com", Version: "v1"}
	SchemeBuilder = &scheme.Builder{GroupVersion: GroupVersion}
	AddToScheme   = SchemeBuilder.AddToScheme
)

func init() { SchemeBuilder.Register(&Peer{}, &PeerList{}) }

type PeerSpec struct {
	Host string `json:"host"`
	Port int32  `json:"port"`
}

type Peer struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              PeerSpec `json:"spec,omitempty"`
}

type PeerList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Peer `json:"items"`
}

const weight = "net.example.com/weight"

// ConvertTo makes one of the newer version of it.
func (p *Peer) ConvertTo(hub conversion.Hub) error {
	to := hub.(*v2.Peer)
	p.ObjectMeta.DeepCopyInto(&to.ObjectMeta)
	to.Spec.Address = fmt.Sprintf("%s:%d", p.Spec.Host, p.Spec.Port)
	if kept, ok := p.Annotations[weight]; ok {
		number, err := strconv.Atoi(kept)
		if err != nil {
			return err
		}
		to.Spec.Weight = int32(number)
		delete(to.Annotations, weight)
	}
	return nil
}

// ConvertFrom makes it of one of the newer version; what this one has no field for is kept in an annotation.
func (p *Peer) ConvertFrom(hub conversion.Hub) error {
	from := hub.(*v2.Peer)
	from.ObjectMeta.DeepCopyInto(&p.ObjectMeta)
	host, port, found := strings.Cut(from.Spec.Address, ":")
	if !found {
		return fmt.Errorf("%q has no port", from.Spec.Address)
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return err
	}
	p.Spec = PeerSpec{Host: host, Port: int32(number)}
	if from.Spec.Weight != 0 {
		if p.Annotations == nil {
			p.Annotations = map[string]string{}
		}
		p.Annotations[weight] = strconv.Itoa(int(from.Spec.Weight))
	}
	return nil
}

func (in *Peer) DeepCopyObject() runtime.Object {
	out := *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return &out
}

func (in *PeerList) DeepCopyObject() runtime.Object {
	out := *in
	in.ListMeta.DeepCopyInto(&out.ListMeta)
	out.Items = nil
	for i := range in.Items {
		out.Items = append(out.Items, *in.Items[i].DeepCopyObject().(*Peer))
	}
	return &out
}
