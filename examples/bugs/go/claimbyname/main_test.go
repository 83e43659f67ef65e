package main

import (
	_ "embed"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coracle.test/bugs/trial"
)

const wrong = "the claim of the second cluster is deleted"

//go:embed faults.yaml
var faults string

func TestAStaleFirstListDeletesTheClaimOfAnotherIncarnation(t *testing.T) {
	trial.Prove(t, trial.Bug{Faults: faults, Wrong: wrong, Run: restartInThePast})
}

func restartInThePast(cluster *trial.Cluster, fixed bool) string {
	operator, restarted := cluster.Config("operator"), cluster.Config("restarted")
	maps := cluster.User.CoreV1().ConfigMaps(namespace)
	claims := cluster.User.CoreV1().PersistentVolumeClaims(namespace)

	create(cluster)
	cluster.Must(run(cluster.Context(), operator, fixed))
	cluster.Must(maps.Delete(cluster.Context(), "orders", metav1.DeleteOptions{}))
	cluster.Must(run(cluster.Context(), operator, fixed))
	cluster.Eventually("the first cluster and its claim are gone", func() bool {
		_, ofCluster := maps.Get(cluster.Context(), "orders", metav1.GetOptions{})
		_, ofClaim := claims.Get(cluster.Context(), "orders", metav1.GetOptions{})
		return apierrors.IsNotFound(ofCluster) && apierrors.IsNotFound(ofClaim)
	})

	create(cluster)
	cluster.Must(run(cluster.Context(), operator, fixed))
	second, err := claims.Get(cluster.Context(), "orders", metav1.GetOptions{})
	cluster.Must(err)
	cluster.Must(run(cluster.Context(), restarted, fixed))
	found, err := claims.Get(cluster.Context(), "orders", metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return wrong
	}
	cluster.Must(err)
	if found.UID != second.UID || found.DeletionTimestamp != nil {
		return wrong
	}
	return ""
}

func create(cluster *trial.Cluster) {
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Name:       "orders",
		Labels:     map[string]string{label: "true"},
		Finalizers: []string{finalizer},
	}}
	_, err := cluster.User.CoreV1().ConfigMaps(namespace).Create(cluster.Context(), object, metav1.CreateOptions{})
	cluster.Must(err)
}
