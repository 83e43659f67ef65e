package client

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// withFaults runs a claim about a program that is given faults, and another one that is not, in each format.
func withFaults(t *testing.T, claim func(t *testing.T, program string, operator, other kubernetes.Interface)) {
	for _, format := range []string{"json", "protobuf"} {
		t.Run(format, func(t *testing.T) {
			config, program := configuration(t), "operator-"+format
			// Without a format, client-go sends built-in kinds in protobuf.
			config.ContentType = "application/json"
			if format == "protobuf" {
				config.ContentType = "application/vnd.kubernetes.protobuf"
			}
			config.AcceptContentTypes = config.ContentType
			other := clientset(t, config)
			config.UserAgent = program + "/v0.0.0 (linux/amd64) kubernetes/$Format"
			claim(t, program, clientset(t, config), other)
		})
	}
}

// caused is a fault of the cluster.
type caused struct {
	t    *testing.T
	rest rest.Interface
	path string
}

// cause adds a fault, which ends with the test.
func cause(t *testing.T, client kubernetes.Interface, fault string) caused {
	t.Helper()
	server := client.CoreV1().RESTClient()
	body, err := server.Post().AbsPath("/coracle/v1/faults").Body([]byte(fault)).Do(ctx(t)).Raw()
	must(t, err)
	var added struct{ Faults []struct{ ID int } }
	must(t, json.Unmarshal(body, &added))
	one := caused{t, server, fmt.Sprintf("/coracle/v1/faults/%d", added.Faults[0].ID)}
	t.Cleanup(func() { _ = server.Delete().AbsPath(one.path).Do(context.Background()).Error() })
	return one
}

// heal removes the fault.
func (c caused) heal() {
	c.t.Helper()
	must(c.t, c.rest.Delete().AbsPath(c.path).Do(ctx(c.t)).Error())
}

// struck waits until the fault has struck this often.
func (c caused) struck(times int) {
	c.t.Helper()
	eventually(c.t, "the fault has struck", func() bool {
		body, err := c.rest.Get().AbsPath(c.path).Do(ctx(c.t)).Raw()
		must(c.t, err)
		var listed struct{ Faults []struct{ Struck int } }
		must(c.t, json.Unmarshal(body, &listed))
		return listed.Faults[0].Struck >= times
	})
}

func secret(name string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func TestALostAnswerIsAnErrorAfterTheWriteLanded(t *testing.T) {
	withFaults(t, func(t *testing.T, program string, operator, other kubernetes.Interface) {
		space := namespace(t, other)
		fault := cause(t, other, fmt.Sprintf(
			`{"when": {"by": %q, "verb": "create", "resource": "secrets", "name": "lost"}, "do": {"lose": "answer"}}`, program))
		_, err := other.CoreV1().Secrets(space).Create(ctx(t), secret("kept"), metav1.CreateOptions{})
		must(t, err)
		_, err = operator.CoreV1().Secrets(space).Create(ctx(t), secret("lost"), metav1.CreateOptions{})
		holds(t, "the answer is lost", err != nil)
		_, err = other.CoreV1().Secrets(space).Get(ctx(t), "lost", metav1.GetOptions{})
		must(t, err)
		fault.heal()
	})
}

func TestAWatchOfOneProgramIsLateAndEndsWith410(t *testing.T) {
	withFaults(t, func(t *testing.T, program string, operator, other kubernetes.Interface) {
		space := namespace(t, other)
		watched, err := operator.CoreV1().Secrets(space).Watch(ctx(t), metav1.ListOptions{})
		must(t, err)
		defer watched.Stop()
		fault := cause(t, other, fmt.Sprintf(`{"do": {"lag": "2s", "kind": "Secret", "to": %q}}`, program))
		written := time.Now()
		_, err = other.CoreV1().Secrets(space).Create(ctx(t), secret("late"), metav1.CreateOptions{})
		must(t, err)
		kind, _ := next(t, watched)
		equal(t, "the event", kind, watch.Added)
		holds(t, "it is late", time.Since(written) >= 2*time.Second)
		fault.heal()
		fault = cause(t, other, fmt.Sprintf(`{"do": {"gone": {}, "kind": "Secret", "to": %q}}`, program))
		kind, status := next(t, watched)
		equal(t, "the event", kind, watch.Error)
		holds(t, "the error is 410", apierrors.IsResourceExpired(apierrors.FromObject(status)))
		equal(t, "the status", status.(*metav1.Status).Status, metav1.StatusFailure)
		_, open := <-watched.ResultChan()
		holds(t, "the watch has ended", !open)
		fault.heal()
	})
}

func TestOneProgramReadsThePast(t *testing.T) {
	withFaults(t, func(t *testing.T, program string, operator, other kubernetes.Interface) {
		space, inCache := namespace(t, other), metav1.ListOptions{ResourceVersion: "0"}
		_, err := other.CoreV1().Secrets(space).Create(ctx(t), secret("before"), metav1.CreateOptions{})
		must(t, err)
		fault := cause(t, other, fmt.Sprintf(`{"do": {"stale": %q}}`, program))
		watched, err := operator.CoreV1().Secrets(space).Watch(ctx(t), metav1.ListOptions{})
		must(t, err)
		defer watched.Stop()
		_, err = operator.CoreV1().Secrets(space).Create(ctx(t), secret("after"), metav1.CreateOptions{})
		must(t, err)
		past, err := operator.CoreV1().Secrets(space).List(ctx(t), inCache)
		must(t, err)
		equal(t, "the number of secrets", len(past.Items), 1)
		equal(t, "the secret", past.Items[0].Name, "before")
		_, first := next(t, watched)
		equal(t, "the secret of the event", first.(*corev1.Secret).Name, "before")
		select {
		case event := <-watched.ResultChan():
			t.Fatalf("%v", event)
		case <-time.After(time.Second):
		}
		fault.heal()
		_, second := next(t, watched)
		equal(t, "the secret of the event", second.(*corev1.Secret).Name, "after")
	})
}
