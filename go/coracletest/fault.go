package coracletest

import (
	"context"
	"encoding/json"
	"strconv"
)

// FaultSpec is a fault, in the format of a scenario; docs/faults.md lists the faults. A fault may also be a text in YAML.
type FaultSpec struct {
	// Name is the name of the fault.
	Name string `json:"name,omitempty"`
	// When selects the requests, or the moment.
	When *FaultWhen `json:"when,omitempty"`
	// Do is the fault and its argument: {"lose": "answer"}, or {"lag": "5s", "kind": "Pod", "to": "my-operator"}.
	Do map[string]any `json:"do"`
	// For is a duration, or for faults of requests the number of requests.
	For any `json:"for,omitempty"`
}

// FaultWhen selects requests. Empty fields select all.
type FaultWhen struct {
	// By is a component, a user, or the user agent of a program up to the version.
	By string `json:"by,omitempty"`
	// Verb is a verb of the API, such as create.
	Verb string `json:"verb,omitempty"`
	// Resource is a plural, such as pods or pods/status.
	Resource string `json:"resource,omitempty"`
	// Namespace is the namespace of the object.
	Namespace string `json:"namespace,omitempty"`
	// Name is the name of the object; web-* stands for names that begin with web-.
	Name string `json:"name,omitempty"`
	// Nth selects the nth of these requests.
	Nth int `json:"nth,omitempty"`
	// Moment is the moment of the request: sent, landed or answered.
	Moment string `json:"moment,omitempty"`
	// After is the time after which requests count, such as 10s.
	After string `json:"after,omitempty"`
	// Revision is a revision of the store.
	Revision int64 `json:"revision,omitempty"`
	// CEL is an expression; the fault waits for the first revision at which it is true.
	CEL string `json:"cel,omitempty"`
	// Event is a change of an object, such as {"kind": "Pod", "type": "DELETED"}.
	Event map[string]any `json:"event,omitempty"`
}

// FaultStatus is a fault of a running cluster.
type FaultStatus struct {
	// ID is the number of the fault.
	ID int64 `json:"id"`
	// Name is the name of the fault.
	Name string `json:"name"`
	// State is waiting, active or ended.
	State string `json:"state"`
	// Struck is how often the fault has struck.
	Struck int `json:"struck"`
	// Revision is the revision at which it first struck.
	Revision int64 `json:"revision"`
	// NearMiss is how near a fault that has not struck came.
	NearMiss string `json:"nearMiss"`
	// DidYouMean is the nearest component, if the fault names one that has sent no request.
	DidYouMean string `json:"didYouMean"`
}

// Fault is one or more faults that a test has added.
type Fault struct {
	env    *Env
	faults []FaultStatus
}

// Fault adds a fault: a text in YAML or JSON with one fault or a list of faults, a [FaultSpec], or a slice of them. A reset ends
// all faults.
func (e *Env) Fault(fault any) *Fault {
	e.t.Helper()
	var body []byte
	switch fault := fault.(type) {
	case string:
		body = []byte(fault)
	case []byte:
		body = fault
	default:
		var err error
		if body, err = json.Marshal(fault); err != nil {
			e.t.Fatalf("coracletest: a fault is a text in YAML or a FaultSpec: %v", err)
		}
	}
	added := call(e, "fault", func(ctx context.Context) ([]FaultStatus, error) { return e.Control.AddFaults(ctx, body) })
	return &Fault{env: e, faults: added}
}

// Struck is how often the faults have struck.
func (f *Fault) Struck() int {
	f.env.t.Helper()
	struck := 0
	for _, status := range f.Status() {
		struck += status.Struck
	}
	return struck
}

// Status is the state of the faults.
func (f *Fault) Status() []FaultStatus {
	f.env.t.Helper()
	return f.each("fault", f.env.Control.Fault)
}

// Remove ends and removes the faults.
func (f *Fault) Remove() {
	f.env.t.Helper()
	f.each("remove a fault", f.env.Control.RemoveFault)
}

func (f *Fault) each(what string, do func(context.Context, string) ([]FaultStatus, error)) []FaultStatus {
	f.env.t.Helper()
	var all []FaultStatus
	for _, fault := range f.faults {
		name := strconv.FormatInt(fault.ID, 10)
		all = append(all, call(f.env, what, func(ctx context.Context) ([]FaultStatus, error) { return do(ctx, name) })...)
	}
	return all
}
