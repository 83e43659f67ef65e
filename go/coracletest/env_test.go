package coracletest_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/coracle-dev/coracle/go/coracletest"
)

var stepped = coracletest.Options{Nodes: 2, Controllers: true, Time: coracletest.Stepped}

func TestDeletedPodsOfADeploymentComeBack(t *testing.T) {
	env := coracletest.Start(t, stepped)
	clients := client(t, env)
	pods := clients.CoreV1().Pods("default")
	must(clients.AppsV1().Deployments("default").Create(t.Context(), deployment("web", 3), metav1.CreateOptions{}))(t)
	env.Clock.AdvanceUntil(&appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"}, Status: appsv1.DeploymentStatus{ReadyReplicas: 3},
	}, time.Minute)

	before := must(pods.List(t.Context(), metav1.ListOptions{}))(t).Items
	for _, pod := range before {
		if err := pods.Delete(t.Context(), pod.Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	env.Clock.Advance(2 * time.Minute)

	after := must(pods.List(t.Context(), metav1.ListOptions{}))(t).Items
	if len(before) != 3 || len(after) != 3 {
		t.Fatalf("%d pods, and then %d", len(before), len(after))
	}
	for _, pod := range after {
		if pod.Status.Phase != corev1.PodRunning {
			t.Errorf("%s is %s", pod.Name, pod.Status.Phase)
		}
		if slices.ContainsFunc(before, func(old corev1.Pod) bool { return old.UID == pod.UID }) {
			t.Errorf("%s is one of the deleted pods", pod.Name)
		}
	}
	if why := env.Why(&after[0]); !strings.Contains(why, "replicaset") {
		t.Errorf("the causes of a pod do not name the replicaset controller: %s", why)
	}
	deleted := func(event coracletest.Event) bool {
		return event.Stage == "store.commit" && event.Subject == "pods/default/"+before[0].Name &&
			strings.Contains(string(event.Data), "delete")
	}
	if !slices.ContainsFunc(env.Events(), deleted) {
		t.Error("the event log does not have the deletion of a pod")
	}
}

func TestACronJobRunsAtItsTimesInADay(t *testing.T) {
	// The heartbeats of a node are most of the work of a day. The jobs are created without one, too.
	env := coracletest.Start(t, coracletest.Options{Controllers: true, Time: coracletest.Stepped, Seed: 7})
	keep := int32(10)
	cron := &batchv1.CronJob{
		ObjectMeta: metav1.ObjectMeta{Name: "backup", Namespace: "default"},
		Spec: batchv1.CronJobSpec{
			Schedule: "0 */6 * * *", SuccessfulJobsHistoryLimit: &keep,
			JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "backup", Image: "backup"}},
			}}}},
		},
	}
	before := env.Clock.Now()
	must(client(t, env).BatchV1().CronJobs("default").Create(t.Context(), cron, metav1.CreateOptions{}))(t)
	if after := env.Clock.Advance(24 * time.Hour); after.Sub(before) < 24*time.Hour {
		t.Fatalf("the clock shows %v after %v", after, before)
	}

	jobs := must(client(t, env).BatchV1().Jobs("default").List(t.Context(), metav1.ListOptions{}))(t).Items
	var times []time.Time
	for _, job := range jobs {
		times = append(times, job.CreationTimestamp.Time.UTC())
	}
	slices.SortFunc(times, time.Time.Compare)
	expected := before.UTC().Truncate(6 * time.Hour)
	if len(times) != 4 {
		t.Fatalf("%d jobs in a day: %v", len(times), times)
	}
	for _, at := range times {
		expected = expected.Add(6 * time.Hour)
		if late := at.Sub(expected); late < 0 || late > 2*time.Second {
			t.Errorf("a job was created at %v, and not at %v", at, expected)
		}
	}
}

func TestAnInformerSeesTheStateAgainAfterAReset(t *testing.T) {
	for _, time := range []coracletest.Time{coracletest.Stepped, coracletest.Real} {
		t.Run(string(time), func(t *testing.T) {
			env := coracletest.Start(t, coracletest.Options{Nodes: 1, Controllers: true, Time: time})
			create(t, env, "kept")
			env.Snapshot("with kept")
			factory := informers.NewSharedInformerFactory(client(t, env), 0)
			lister := factory.Core().V1().ConfigMaps().Lister().ConfigMaps("default")
			stop := make(chan struct{})
			factory.Start(stop)
			t.Cleanup(func() { close(stop); factory.Shutdown() })
			factory.WaitForCacheSync(stop)
			has := func(name string) bool { _, err := lister.Get(name); return err == nil }

			create(t, env, "new")
			if err := client(t, env).CoreV1().ConfigMaps("default").Delete(t.Context(), "kept", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the informer sees the changes", func() bool { return has("new") && !has("kept") })
			env.ResetTo("with kept")
			eventually(t, "the informer sees the snapshot", func() bool { return !has("new") && has("kept") })
			create(t, env, "later")
			eventually(t, "the informer sees what follows", func() bool { return has("later") })
			env.Reset()
			eventually(t, "the informer sees the start", func() bool { return !has("later") && !has("kept") })

			nodes := must(client(t, env).CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}))(t).Items
			if len(nodes) != 1 || nodes[0].Status.Conditions[0].Type == "" {
				t.Fatalf("after a reset there are the nodes %v", nodes)
			}
		})
	}
}

func TestForksDoNotSeeEachOther(t *testing.T) {
	env := coracletest.Start(t, stepped)
	create(t, env, "both")
	fork := env.Fork()
	create(t, env, "original")
	create(t, fork, "forked")
	before := env.Clock.Now()
	fork.Clock.Advance(time.Hour)

	if found := names(t, env); !slices.Equal(found, []string{"both", "original"}) {
		t.Errorf("the original has %v", found)
	}
	if found := names(t, fork); !slices.Equal(found, []string{"both", "forked"}) {
		t.Errorf("the fork has %v", found)
	}
	if now := env.Clock.Now(); !now.Equal(before) {
		t.Errorf("the clock of the original has advanced from %v to %v", before, now)
	}
	fork.Reset()
	if found := names(t, fork); !slices.Equal(found, []string{"both"}) {
		t.Errorf("after its reset the fork has %v", found)
	}
	config := must(clientcmd.BuildConfigFromFlags("", fork.KubeconfigPath))(t)
	if config.Host != fork.Config.Host || config.Host == env.Config.Host {
		t.Errorf("the kubeconfig of the fork is for %s", config.Host)
	}
}

func TestAClientSeesAFault(t *testing.T) {
	env := coracletest.Start(t, coracletest.Options{})
	api := client(t, env).CoreV1().ConfigMaps("default")
	spec := coracletest.FaultSpec{
		When: &coracletest.FaultWhen{Verb: "create", Resource: "configmaps"}, Do: map[string]any{"refuse": 500}, For: 100,
	}
	text := "when: {verb: create, resource: configmaps}\ndo: {refuse: 500}\nfor: 100\n"
	for i, fault := range []any{spec, text} {
		name := []string{"spec", "text"}[i]
		added := env.Fault(fault)
		_, err := api.Create(t.Context(), configMap(name), metav1.CreateOptions{})
		if !apierrors.IsInternalError(err) {
			t.Errorf("with the fault: %v", err)
		}
		if added.Struck() == 0 {
			t.Errorf("the fault has not struck: %+v", added.Status())
		}
		added.Remove()
		create(t, env, name)
	}
}

func TestWithoutControllersOnlyTheAPIServerActs(t *testing.T) {
	env := coracletest.Start(t, coracletest.Options{Kubernetes: "1.36"})
	clients := client(t, env)
	if version := must(clients.Discovery().ServerVersion())(t); version.Minor != "36" {
		t.Errorf("the release is %s", version.GitVersion)
	}
	must(clients.AppsV1().Deployments("default").Create(t.Context(), deployment("web", 1), metav1.CreateOptions{}))(t)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "alone"}, Spec: deployment("", 1).Spec.Template.Spec}
	must(clients.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}))(t)
	env.Settle()
	found := must(clients.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{}))(t).Items
	if len(found) != 1 || len(found[0].Status.Conditions) != 0 {
		t.Errorf("without controllers there are the pods %v", found)
	}
	web := must(clients.AppsV1().Deployments("default").Get(t.Context(), "web", metav1.GetOptions{}))(t)
	if web.Status.ObservedGeneration != 0 {
		t.Errorf("a controller has seen the deployment: %+v", web.Status)
	}
}

const widgets = `{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
"metadata": {"name": "NAMEs.example.com"}, "spec": {"group": "example.com", "scope": "Namespaced",
"names": {"kind": "NAME", "plural": "NAMEs", "singular": "NAME"}, "versions": [{"name": "v1", "served": true, "storage": true,
"schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]}}`

func TestDefinitionsOfPathsAndObjectsExistAfterEachReset(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(folder+"/widget.yaml", []byte(strings.ReplaceAll(widgets, "NAME", "widget")), 0o600); err != nil {
		t.Fatal(err)
	}
	gadget := &unstructured.Unstructured{}
	if err := gadget.UnmarshalJSON([]byte(strings.ReplaceAll(widgets, "NAME", "gadget"))); err != nil {
		t.Fatal(err)
	}
	for _, time := range []coracletest.Time{coracletest.Stepped, coracletest.Real} {
		env := coracletest.Start(t, coracletest.Options{
			Time: time, CRDPaths: []string{folder}, CRDs: []runtime.Object{gadget},
		})
		dynamics := must(dynamic.NewForConfig(env.Config))(t)
		for _, kind := range []string{"widget", "gadget", "widget", "gadget"} {
			api := dynamics.Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: kind + "s"})
			object := &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "example.com/v1", "kind": kind, "metadata": map[string]any{"name": "one"},
			}}
			must(api.Namespace("default").Create(t.Context(), object, metav1.CreateOptions{}))(t)
			env.Reset()
		}
	}
}

func TestAdvanceUntilAcceptsPartsOfObjects(t *testing.T) {
	env := coracletest.Shared(t)
	create(t, env, "there")
	env.Clock.AdvanceUntil("{apiVersion: v1, kind: ConfigMap, metadata: {name: there}}", time.Minute)
	env.Clock.AdvanceUntil(configMap("there"), time.Minute)
	env.Clock.AdvanceUntilAbsent(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "absent"},
	}, time.Minute)
	absent := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "absent"}}
	_, err := env.Control.AdvanceUntil(t.Context(), absent, false, time.Minute)
	if !apierrors.IsTimeout(err) || !strings.Contains(err.Error(), "absent") {
		t.Errorf("for an object that does not come: %v", err)
	}
}

func TestACheckSaysWhatItFound(t *testing.T) {
	env := coracletest.Shared(t)
	scenario := `
apiVersion: coracle.dev/v1alpha1
kind: Scenario
metadata: {name: there}
spec:
  steps: []
  eventually:
  - name: the map exists
    resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: there}}
`
	verdict, err := env.Control.Check(t.Context(), []byte(scenario))
	if err != nil || verdict.Holds {
		t.Errorf("before: %+v, %v", verdict, err)
	}
	create(t, env, "there")
	if verdict := env.Check(scenario); !verdict.Holds || len(verdict.Claims) == 0 {
		t.Errorf("after: %+v", verdict)
	}
}

func TestScaledTimePassesFaster(t *testing.T) {
	env := coracletest.Start(t, coracletest.Options{Nodes: 1, Controllers: true, Time: coracletest.Scaled(600)})
	before := env.Clock.Now()
	eventually(t, "a minute passes", func() bool { return env.Clock.Now().Sub(before) > time.Minute })
	if _, err := env.Control.Advance(t.Context(), time.Hour); !apierrors.IsConflict(err) {
		t.Errorf("a clock that is not stepped was advanced: %v", err)
	}
}
