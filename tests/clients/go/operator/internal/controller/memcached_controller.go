// Package controller is an operator of a usual kind: a finalizer, owned objects, a status, events.
package controller

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	cachev1alpha1 "coracle.test/clients/operator/api/v1alpha1"
)

// Finalizer holds a Memcached back until what is outside the cluster is cleaned up.
const Finalizer = "cache.example.com/finalizer"

// MemcachedReconciler keeps a Deployment for each Memcached.
type MemcachedReconciler struct {
	client.Client
	Scheme   *runtime.Scheme
	Recorder record.EventRecorder
}

// Reconcile moves the world a step towards what a Memcached asks for.
func (r *MemcachedReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	memcached := &cachev1alpha1.Memcached{}
	if err := r.Get(ctx, request.NamespacedName, memcached); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !memcached.DeletionTimestamp.IsZero() {
		if controllerutil.RemoveFinalizer(memcached, Finalizer) {
			r.Recorder.Event(memcached, corev1.EventTypeWarning, "Deleting", fmt.Sprintf("%s is being deleted", memcached.Name))
			return ctrl.Result{}, r.Update(ctx, memcached)
		}
		return ctrl.Result{}, nil
	}
	if controllerutil.AddFinalizer(memcached, Finalizer) {
		if err := r.Update(ctx, memcached); err != nil {
			return ctrl.Result{}, err
		}
	}

	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: memcached.Name, Namespace: memcached.Namespace}}
	done, err := controllerutil.CreateOrUpdate(ctx, r.Client, deployment, func() error {
		labels := map[string]string{"app.kubernetes.io/name": memcached.Name}
		deployment.Spec.Replicas = memcached.Spec.Size
		deployment.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
		deployment.Spec.Template.Labels = labels
		if len(deployment.Spec.Template.Spec.Containers) == 0 {
			deployment.Spec.Template.Spec.Containers = []corev1.Container{{Name: "memcached", Image: "memcached:1.6"}}
		}
		return controllerutil.SetControllerReference(memcached, deployment, r.Scheme)
	})
	if err != nil {
		return ctrl.Result{}, err
	}
	if done != controllerutil.OperationResultNone {
		r.Recorder.Event(memcached, corev1.EventTypeNormal, "Deployed", fmt.Sprintf("Deployment %s", done))
	}

	before := memcached.DeepCopyObject().(*cachev1alpha1.Memcached)
	memcached.Status.ReadyReplicas = deployment.Status.ReadyReplicas
	meta.SetStatusCondition(&memcached.Status.Conditions, metav1.Condition{
		Type: "Available", Status: metav1.ConditionTrue, Reason: "Reconciled", Message: "the Deployment is there", ObservedGeneration: memcached.Generation,
	})
	return ctrl.Result{}, r.Status().Patch(ctx, memcached, client.MergeFrom(before))
}

// SetupWithManager starts it with a manager.
func (r *MemcachedReconciler) SetupWithManager(manager ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(manager).For(&cachev1alpha1.Memcached{}).Owns(&appsv1.Deployment{}).Named("memcached").Complete(r)
}
