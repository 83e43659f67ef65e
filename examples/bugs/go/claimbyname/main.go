// An operator deletes the claim of a terminating cluster by its name. The cluster is gone, and another is created under
// the name, with a claim of its own. The operator starts again, reads an old state in which the first cluster is
// terminating, and deletes the claim of the second.
//
// Found in: Percona MongoDB K8SPSMDB-430, zookeeper-operator#312, casskop#316.
// The fault: `stale` of all that the restarted operator reads, as of the moment at which it cleaned up.
// The fix: the operator deletes the claim that the cluster owns, with its uid as a precondition.
//
// A cluster is a ConfigMap with a label. The program looks at all clusters once, as the job of a CronJob does.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	namespace = "default"
	label     = "example.com/cluster"
	finalizer = "example.com/clean-up"
)

func main() {
	fixed := flag.Bool("fixed", false, "run the fixed twin")
	flag.Parse()
	loaded := clientcmd.NewDefaultClientConfigLoadingRules()
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(loaded, nil).ClientConfig()
	if err == nil {
		err = run(context.Background(), config, *fixed)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// run reconciles all clusters once. What fails is left to the next run.
func run(ctx context.Context, config *rest.Config, fixed bool) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	// Any state will do, so that the API server can answer from its cache. Informers read in this way, too.
	anyState := metav1.ListOptions{LabelSelector: label, ResourceVersion: "0"}
	clusters, err := client.CoreV1().ConfigMaps(namespace).List(ctx, anyState)
	if err != nil {
		return err
	}
	for _, cluster := range clusters.Items {
		if err := reconcile(ctx, client, &cluster, fixed); err != nil {
			log.Printf("%s: %v", cluster.Name, err)
		}
	}
	return nil
}

func reconcile(ctx context.Context, client kubernetes.Interface, cluster *corev1.ConfigMap, fixed bool) error {
	if cluster.DeletionTimestamp == nil {
		claims := client.CoreV1().PersistentVolumeClaims(namespace)
		_, err := claims.Create(ctx, claimOf(cluster), metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
		return err
	}
	if err := cleanUp(ctx, client, cluster, fixed); err != nil {
		return err
	}
	free := fmt.Sprintf(`{"metadata": {"uid": %q, "finalizers": null}}`, cluster.UID)
	maps := client.CoreV1().ConfigMaps(namespace)
	_, err := maps.Patch(ctx, cluster.Name, types.MergePatchType, []byte(free), metav1.PatchOptions{})
	return err
}

func cleanUp(ctx context.Context, client kubernetes.Interface, cluster *corev1.ConfigMap, fixed bool) error {
	claims := client.CoreV1().PersistentVolumeClaims(namespace)
	if !fixed {
		return claims.Delete(ctx, cluster.Name, metav1.DeleteOptions{})
	}
	list, err := claims.List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return err
	}
	for _, claim := range list.Items {
		if !metav1.IsControlledBy(&claim, cluster) {
			continue
		}
		if err := claims.Delete(ctx, claim.Name, *metav1.NewPreconditionDeleteOptions(string(claim.UID))); err != nil {
			return err
		}
	}
	return nil
}

func claimOf(cluster *corev1.ConfigMap) *corev1.PersistentVolumeClaim {
	owner := metav1.NewControllerRef(cluster, corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: cluster.Name, OwnerReferences: []metav1.OwnerReference{*owner}},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10Gi")},
			},
		},
	}
}
