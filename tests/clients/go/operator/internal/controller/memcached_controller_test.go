package controller

import (
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	cachev1alpha1 "coracle.test/clients/operator/api/v1alpha1"
)

var _ = Describe("Memcached controller", func() {
	const timeout, interval = 20 * time.Second, 50 * time.Millisecond
	var namespace *corev1.Namespace
	var key types.NamespacedName

	BeforeEach(func() {
		namespace = &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "memcached-"}}
		Expect(k8sClient.Create(ctx, namespace)).To(Succeed())
		key = types.NamespacedName{Namespace: namespace.Name, Name: "m"}
	})
	AfterEach(func() {
		Expect(k8sClient.Delete(ctx, namespace)).To(Succeed())
	})
	made := func(size int32) *cachev1alpha1.Memcached {
		memcached := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Name: key.Name, Namespace: key.Namespace}}
		if size != 0 {
			memcached.Spec.Size = &size
		}
		return memcached
	}
	deployment := func(g Gomega) *appsv1.Deployment {
		found := &appsv1.Deployment{}
		g.Expect(k8sClient.Get(ctx, key, found)).To(Succeed())
		return found
	}

	It("keeps a deployment, its status and its events, and lets go when it is deleted", func() {
		Expect(k8sClient.Create(ctx, made(2))).To(Succeed())
		Eventually(func(g Gomega) {
			found := deployment(g)
			g.Expect(*found.Spec.Replicas).To(BeEquivalentTo(2))
			g.Expect(found.OwnerReferences).To(HaveLen(1))
			g.Expect(*found.OwnerReferences[0].Controller).To(BeTrue())
		}, timeout, interval).Should(Succeed())
		memcached := &cachev1alpha1.Memcached{}
		Eventually(func(g Gomega) {
			g.Expect(k8sClient.Get(ctx, key, memcached)).To(Succeed())
			g.Expect(meta.IsStatusConditionTrue(memcached.Status.Conditions, "Available")).To(BeTrue())
			g.Expect(controllerutil.ContainsFinalizer(memcached, Finalizer)).To(BeTrue())
		}, timeout, interval).Should(Succeed())

		By("healing a deployment that somebody changed")
		patch := client.RawPatch(types.StrategicMergePatchType, []byte(`{"spec":{"replicas":0}}`))
		Expect(k8sClient.Patch(ctx, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: key.Name, Namespace: key.Namespace}}, patch)).To(Succeed())
		Eventually(func(g Gomega) { g.Expect(*deployment(g).Spec.Replicas).To(BeEquivalentTo(2)) }, timeout, interval).Should(Succeed())

		By("telling what it did")
		Eventually(func(g Gomega) {
			events := &corev1.EventList{}
			g.Expect(k8sClient.List(ctx, events, client.InNamespace(key.Namespace), client.MatchingFields{"involvedObject.kind": "Memcached"})).To(Succeed())
			g.Expect(events.Items).NotTo(BeEmpty())
		}, timeout, interval).Should(Succeed())

		By("letting go")
		Expect(k8sClient.Delete(ctx, memcached)).To(Succeed())
		Eventually(func() bool { return apierrors.IsNotFound(k8sClient.Get(ctx, key, memcached)) }, timeout, interval).Should(BeTrue())
	})

	It("holds to the schema: defaults are filled in, what is out of range is refused", func() {
		memcached := made(0)
		Expect(k8sClient.Create(ctx, memcached, client.DryRunAll)).To(Succeed())
		Expect(*memcached.Spec.Size).To(BeEquivalentTo(1))
		err := k8sClient.Create(ctx, made(9))
		Expect(apierrors.IsInvalid(err)).To(BeTrue())
		Expect(err.Error()).To(ContainSubstring("spec.size: Invalid value: 9: spec.size in body should be less than or equal to 5"))
	})

	It("is written by server-side apply, with optimistic locks, and through every kind of client", func() {
		wanted := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": key.Name, "namespace": key.Namespace}, "data": map[string]any{"a": "b"}}}
		Expect(k8sClient.Patch(ctx, wanted, client.Apply, client.FieldOwner("suite"), client.ForceOwnership)).To(Succeed())
		Expect(wanted.GetManagedFields()).To(HaveLen(1))

		stale := &corev1.ConfigMap{}
		Expect(k8sClient.Get(ctx, key, stale)).To(Succeed())
		fresh := stale.DeepCopy()
		fresh.Data["a"] = "c"
		Expect(k8sClient.Update(ctx, fresh)).To(Succeed())
		changed := stale.DeepCopy()
		changed.Data["a"] = "d"
		err := k8sClient.Patch(ctx, changed, client.MergeFromWithOptions(stale, client.MergeFromWithOptimisticLock{}))
		Expect(apierrors.IsConflict(err)).To(BeTrue())

		partial := &metav1.PartialObjectMetadata{}
		partial.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
		Expect(k8sClient.Get(ctx, key, partial)).To(Succeed())
		Expect(partial.UID).To(Equal(stale.UID))
		partials := &metav1.PartialObjectMetadataList{}
		partials.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
		Expect(k8sClient.List(ctx, partials, client.InNamespace(key.Namespace), client.Limit(1))).To(Succeed())
		Expect(partials.Items).To(HaveLen(1))
		Expect(k8sClient.DeleteAllOf(ctx, &corev1.ConfigMap{}, client.InNamespace(key.Namespace))).To(Succeed())
		Expect(apierrors.IsNotFound(k8sClient.Get(ctx, key, stale))).To(BeTrue())
	})

	It("lets users of the environment do what they are allowed and no more", func() {
		if existing() {
			Skip("users of a cluster that was there before are not the suite's")
		}
		user, err := testEnv.AddUser(envtest.User{Name: "ada", Groups: []string{"readers"}}, nil)
		Expect(err).NotTo(HaveOccurred())
		ada, err := client.New(user.Config(), client.Options{})
		Expect(err).NotTo(HaveOccurred())
		err = ada.List(ctx, &corev1.ConfigMapList{}, client.InNamespace(key.Namespace))
		Expect(apierrors.IsForbidden(err)).To(BeTrue())
		Expect(strings.Contains(err.Error(), `User "ada" cannot list resource "configmaps"`)).To(BeTrue(), err.Error())
		Expect(k8sClient.Create(ctx, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "readers-"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "system:aggregate-to-view"},
			Subjects:   []rbacv1.Subject{{Kind: "Group", APIGroup: rbacv1.GroupName, Name: "readers"}},
		})).To(Succeed())
		Eventually(func() error {
			return ada.List(ctx, &corev1.ConfigMapList{}, client.InNamespace(key.Namespace))
		}, timeout, interval).Should(Succeed())
	})

	It("finds kinds that are defined while it runs", func() {
		found, err := apiutil.GVKForObject(&cachev1alpha1.Memcached{}, k8sClient.Scheme())
		Expect(err).NotTo(HaveOccurred())
		mapping, err := k8sClient.RESTMapper().RESTMapping(found.GroupKind())
		Expect(err).NotTo(HaveOccurred())
		Expect(mapping.Resource.Resource).To(Equal("memcacheds"))
	})
})
