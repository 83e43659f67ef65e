package coracletest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// Control is a client of the control endpoint, /coracle/v1, of a cluster. Its methods return errors of
// k8s.io/apimachinery/pkg/api/errors, and may be called on any goroutine.
type Control struct {
	base   string
	client *http.Client
}

// NewControl is a client of the control endpoint of a cluster that runs already, such as one of `coracle up`. The user of
// the configuration must be a member of system:masters, or have permissions in the group coracle.dev.
func NewControl(config *rest.Config) (*Control, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("coracletest: %w", err)
	}
	return &Control{base: strings.TrimRight(config.Host, "/") + "/coracle/v1", client: client}, nil
}

// About describes a server.
type About struct {
	// Version is the version of Coracle.
	Version string `json:"version"`
	// Kubernetes is the release of Kubernetes.
	Kubernetes string `json:"kubernetes"`
	// Time is how its time passes.
	Time Time `json:"time"`
}

// About describes the server.
func (c *Control) About(ctx context.Context) (about About, err error) {
	return about, c.call(ctx, http.MethodGet, "", nil, &about)
}

// Now is the time of the cluster.
func (c *Control) Now(ctx context.Context) (time.Time, error) {
	var answer struct{ Now time.Time }
	err := c.call(ctx, http.MethodGet, "/clock", nil, &answer)
	return answer.Now, err
}

// Advance advances a stepped clock, and returns its time.
func (c *Control) Advance(ctx context.Context, duration time.Duration) (time.Time, error) {
	return c.advance(ctx, map[string]any{"duration": duration.String()})
}

// AdvanceUntil advances a stepped clock until an object has these fields, or until no object has them. An object that is
// not so within this time of the cluster is an error for which apierrors.IsTimeout is true.
func (c *Control) AdvanceUntil(ctx context.Context, object map[string]any, absent bool, within time.Duration) (time.Time, error) {
	until := map[string]any{"object": object, "absent": absent}
	return c.advance(ctx, map[string]any{"until": until, "within": within.String()})
}

func (c *Control) advance(ctx context.Context, body map[string]any) (time.Time, error) {
	var answer struct{ Now time.Time }
	err := c.call(ctx, http.MethodPost, "/clock/advance", toJSON(body), &answer)
	return answer.Now, err
}

// Settled is the result of waiting until nothing moves.
type Settled struct {
	// Settled says whether nothing moves.
	Settled bool `json:"settled"`
	// Revision is the revision of the store, if nothing moves.
	Revision int64 `json:"revision"`
	// Now is the time of the cluster.
	Now time.Time `json:"now"`
	// LastChange is the last change of an object, if something still moves.
	LastChange string `json:"lastChange"`
	// Pending is the work that is left, if something still moves.
	Pending []string `json:"pending"`
}

// Settle waits until nothing moves in the cluster. A stepped clock advances as far as needed.
func (c *Control) Settle(ctx context.Context) (settled Settled, err error) {
	return settled, c.call(ctx, http.MethodPost, "/settle", []byte("{}"), &settled)
}

// State is a state of a cluster.
type State struct {
	// Revision is the revision of the store.
	Revision int64 `json:"revision"`
	// Now is the time of the cluster after a reset.
	Now time.Time `json:"now"`
	// At is the time of a snapshot.
	At time.Time `json:"at"`
}

// Snapshot keeps the state of the cluster under a name, in place of an earlier one.
func (c *Control) Snapshot(ctx context.Context, name string) (state State, err error) {
	return state, c.call(ctx, http.MethodPut, "/snapshots/"+url.PathEscape(name), []byte("{}"), &state)
}

// DeleteSnapshot removes a snapshot.
func (c *Control) DeleteSnapshot(ctx context.Context, name string) error {
	return c.call(ctx, http.MethodDelete, "/snapshots/"+url.PathEscape(name), nil, nil)
}

// Reset starts the cluster again with the state of a snapshot. Faults end, and the event log begins again. The empty name
// is the state after the start.
func (c *Control) Reset(ctx context.Context, snapshot string) (state State, err error) {
	return state, c.call(ctx, http.MethodPost, "/reset", fromSnapshot(snapshot), &state)
}

// Forked describes a fork.
type Forked struct {
	// Name is the name of the fork, for DeleteFork.
	Name string `json:"name"`
	// Kubeconfig is the text of a kubeconfig for it.
	Kubeconfig string `json:"kubeconfig"`
	// Revision is the revision of its store.
	Revision int64 `json:"revision"`
}

// Fork starts a second cluster from a snapshot, or with the empty name from the state of this one.
func (c *Control) Fork(ctx context.Context, snapshot string) (forked Forked, err error) {
	return forked, c.call(ctx, http.MethodPost, "/forks", fromSnapshot(snapshot), &forked)
}

// DeleteFork stops a fork.
func (c *Control) DeleteFork(ctx context.Context, name string) error {
	return c.call(ctx, http.MethodDelete, "/forks/"+url.PathEscape(name), nil, nil)
}

func fromSnapshot(name string) []byte {
	if name == "" {
		return []byte("{}")
	}
	return toJSON(map[string]string{"snapshot": name})
}

// AddFaults adds the faults of a YAML or JSON text.
func (c *Control) AddFaults(ctx context.Context, faults []byte) ([]FaultStatus, error) {
	return c.faults(ctx, http.MethodPost, "", faults)
}

// Faults lists the faults.
func (c *Control) Faults(ctx context.Context) ([]FaultStatus, error) {
	return c.faults(ctx, http.MethodGet, "", nil)
}

// Fault reads a fault by its number or its name.
func (c *Control) Fault(ctx context.Context, name string) ([]FaultStatus, error) {
	return c.faults(ctx, http.MethodGet, "/"+url.PathEscape(name), nil)
}

// RemoveFault ends and removes a fault by its number or its name.
func (c *Control) RemoveFault(ctx context.Context, name string) ([]FaultStatus, error) {
	return c.faults(ctx, http.MethodDelete, "/"+url.PathEscape(name), nil)
}

func (c *Control) faults(ctx context.Context, method, path string, body []byte) ([]FaultStatus, error) {
	var answer struct{ Faults []FaultStatus }
	err := c.call(ctx, method, "/faults"+path, body, &answer)
	return answer.Faults, err
}

// Event is an entry of the event log.
type Event struct {
	// Number is the number of the entry.
	Number uint64 `json:"i"`
	// At is the time since the start, on the clock of the cluster.
	At time.Duration `json:"t"`
	// Actor is the component that acted.
	Actor string `json:"a"`
	// Stage is what happened, such as store.commit.
	Stage string `json:"s"`
	// Subject is the object, such as pods/default/web-1.
	Subject string `json:"k"`
	// Causes are the numbers of the entries that caused this one.
	Causes []uint64 `json:"c"`
	// Revision is the revision of the store.
	Revision int64 `json:"rv"`
	// Data are the data of the stage.
	Data json.RawMessage `json:"d"`
}

// Events is the event log since the last reset.
func (c *Control) Events(ctx context.Context) ([]Event, error) {
	text, err := c.send(ctx, http.MethodGet, "/events", nil)
	if err != nil {
		return nil, err
	}
	var events []Event
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, len(text)+1)
	for lines.Scan() {
		var event Event
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			return nil, fmt.Errorf("coracletest: an entry of the event log: %w", err)
		}
		events = append(events, event)
	}
	return events, lines.Err()
}

// Why is the chain of causes of an object such as "pod/default/web-1", an entry such as "#412" or a revision such as
// "rev=31", as text.
func (c *Control) Why(ctx context.Context, about string) (string, error) {
	text, err := c.send(ctx, http.MethodGet, "/why?about="+url.QueryEscape(about), nil)
	return string(text), err
}

// Report is the page of the run since the last reset, in HTML.
func (c *Control) Report(ctx context.Context) ([]byte, error) {
	return c.send(ctx, http.MethodGet, "/report", nil)
}

// Verdict is what the checks of a scenario say about a cluster.
type Verdict struct {
	// Holds says whether all claims hold.
	Holds bool `json:"holds"`
	// Claims are the checks.
	Claims []Claim `json:"claims"`
}

// Claim is a check of a scenario.
type Claim struct {
	// Name is the name of the check.
	Name string `json:"name"`
	// Holds says whether the check passes.
	Holds bool `json:"holds"`
	// Expected is what the check demands.
	Expected string `json:"expected"`
	// Found is what there is.
	Found string `json:"found"`
	// Revision is the revision of the store at which the check was decided.
	Revision int64 `json:"revision"`
}

// Check decides the checks of a scenario, in YAML or JSON, about the cluster as it is.
func (c *Control) Check(ctx context.Context, scenario []byte) (verdict Verdict, err error) {
	return verdict, c.call(ctx, http.MethodPost, "/check", scenario, &verdict)
}

// call sends a request, and decodes the answer into a value unless that is nil.
func (c *Control) call(ctx context.Context, method, path string, body []byte, into any) error {
	text, err := c.send(ctx, method, path, body)
	if err != nil || into == nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("coracletest: the answer to %s /coracle/v1%s: %w", method, path, err)
	}
	return nil
}

func (c *Control) send(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := c.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("coracletest: the answer to %s /coracle/v1%s: %w", method, path, err)
	}
	if response.StatusCode < http.StatusBadRequest {
		return text, nil
	}
	status := metav1.Status{Status: metav1.StatusFailure, Code: int32(response.StatusCode)}
	if json.Unmarshal(text, &status) != nil || status.Message == "" {
		status.Message = strings.TrimSpace(string(text))
	}
	return nil, &apierrors.StatusError{ErrStatus: status}
}
