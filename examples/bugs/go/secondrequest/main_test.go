package main

import (
	"context"
	_ "embed"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coracle.test/bugs/trial"
)

//go:embed faults.yaml
var faults string

func TestALostAnswerMakesASecondRequestForOneCertificate(t *testing.T) {
	trial.Prove(t, trial.Bug{Faults: faults, Wrong: "2 requests for one certificate", Run: loseAnAnswer})
}

func loseAnAnswer(cluster *trial.Cluster, fixed bool) string {
	config := cluster.Config("issuer")
	cluster.Go(func(ctx context.Context) error { return run(ctx, config, fixed) })
	web := create(cluster, "web")
	cluster.Struck()
	cluster.Heal()
	// The watch that has hung shows a new request, so it has shown the requests before it.
	create(cluster, "after")

	secrets, err := cluster.User.CoreV1().Secrets(trial.Namespace).List(cluster.Context(), metav1.ListOptions{})
	cluster.Must(err)
	requests := 0
	for _, secret := range secrets.Items {
		if metav1.IsControlledBy(&secret, web) {
			requests++
		}
	}
	if requests != 1 {
		return fmt.Sprintf("%d requests for one certificate", requests)
	}
	return ""
}

// create creates a certificate, and waits until it names its request.
func create(cluster *trial.Cluster, name string) *corev1.ConfigMap {
	maps := cluster.User.CoreV1().ConfigMaps(trial.Namespace)
	certificate := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Name:   name,
		Labels: map[string]string{label: "true"},
	}}
	created, err := maps.Create(cluster.Context(), certificate, metav1.CreateOptions{})
	cluster.Must(err)
	cluster.Eventually("the certificate "+name+" has a request", func() bool {
		found, err := maps.Get(cluster.Context(), name, metav1.GetOptions{})
		cluster.Must(err)
		return found.Annotations[annotation] != ""
	})
	return created
}
