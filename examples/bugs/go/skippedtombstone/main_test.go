package main

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coracle.test/bugs/trial"
)

func TestADeletionThatOnlyAListRevealsIsNotCleanedUpAfter(t *testing.T) {
	trial.Prove(t, trial.Bug{Wrong: "the address of a service that is gone is published", Run: deleteDuringAGap})
}

func deleteDuringAGap(cluster *trial.Cluster, fixed bool) string {
	config := cluster.Config("addresses")
	cluster.Go(func(ctx context.Context) error { return run(ctx, config, fixed) })
	create(cluster, "web")

	cluster.Fault(`{do: {hang: {}, kind: Service, to: addresses}}`)
	cluster.Must(cluster.User.CoreV1().Services(namespace).Delete(cluster.Context(), "web", metav1.DeleteOptions{}))
	cluster.Struck()
	cluster.Fault(`{do: {gone: {}, kind: Service, to: addresses}}`)
	cluster.Struck()
	cluster.Heal()

	// The first may be part of the list. The second comes after the list, and after what the list revealed.
	create(cluster, "after")
	create(cluster, "afterwards")
	if isPublished(cluster, "web") {
		return "the address of a service that is gone is published"
	}
	return ""
}

// create creates a service, and waits until its address is published.
func create(cluster *trial.Cluster, name string) {
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
	}
	_, err := cluster.User.CoreV1().Services(namespace).Create(cluster.Context(), service, metav1.CreateOptions{})
	cluster.Must(err)
	cluster.Eventually("the address of "+name+" is published", func() bool { return isPublished(cluster, name) })
}

func isPublished(cluster *trial.Cluster, name string) bool {
	_, err := cluster.User.CoreV1().ConfigMaps(namespace).Get(cluster.Context(), name, metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		cluster.Must(err)
	}
	return err == nil
}
