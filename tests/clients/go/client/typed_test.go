package client

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	appsv1apply "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	metav1apply "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/pager"
	"k8s.io/client-go/util/retry"
)

func configMap(name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "a"}}, Data: data}
}

func deployment(name string, replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx:1.29"}}},
			},
		},
	}
}

func TestAnObjectLivesThroughEveryVerb(t *testing.T) {
	eachFormat(t, func(t *testing.T, client kubernetes.Interface) {
		maps := client.CoreV1().ConfigMaps(namespace(t, client))
		events, err := maps.Watch(ctx(t), metav1.ListOptions{LabelSelector: "app=a"})
		must(t, err)
		defer events.Stop()

		made, err := maps.Create(ctx(t), configMap("m", map[string]string{"k": "1"}), metav1.CreateOptions{})
		must(t, err)
		holds(t, "it has an identity", made.UID != "" && made.ResourceVersion != "" && !made.CreationTimestamp.IsZero())
		_, err = maps.Create(ctx(t), configMap("m", nil), metav1.CreateOptions{})
		holds(t, "a second of its name is refused", apierrors.IsAlreadyExists(err))

		made.Data["k"] = "2"
		updated, err := maps.Update(ctx(t), made, metav1.UpdateOptions{FieldManager: "updater"})
		must(t, err)
		_, err = maps.Update(ctx(t), made, metav1.UpdateOptions{})
		holds(t, "an old version is refused", apierrors.IsConflict(err))
		holds(t, "a new version came about", updated.ResourceVersion != made.ResourceVersion)

		for kind, patch := range map[types.PatchType]string{
			types.JSONPatchType:           `[{"op":"add","path":"/data/json","value":"y"}]`,
			types.MergePatchType:          `{"data":{"merge":"y","k":null}}`,
			types.StrategicMergePatchType: `{"data":{"strategic":"y"}}`,
		} {
			_, err = maps.Patch(ctx(t), "m", kind, []byte(patch), metav1.PatchOptions{})
			must(t, err)
		}
		applied, err := maps.Apply(ctx(t), corev1apply.ConfigMap("m", made.Namespace).WithData(map[string]string{"applied": "y"}),
			metav1.ApplyOptions{FieldManager: "applier"})
		must(t, err)
		equal(t, "data", fmt.Sprint(applied.Data), "map[applied:y json:y merge:y strategic:y]")

		list, err := maps.List(ctx(t), metav1.ListOptions{FieldSelector: "metadata.name=m"})
		must(t, err)
		equal(t, "the number of items", len(list.Items), 1)
		must(t, maps.Delete(ctx(t), "m", metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(made.UID))}))
		_, err = maps.Get(ctx(t), "m", metav1.GetOptions{})
		holds(t, "it is gone", apierrors.IsNotFound(err))

		wanted := []watch.EventType{watch.Added, watch.Modified, watch.Modified, watch.Modified, watch.Modified, watch.Modified, watch.Deleted}
		for _, kind := range wanted {
			is, object := next(t, events)
			equal(t, "the event", is, kind)
			equal(t, "its object", object.(*corev1.ConfigMap).Name, "m")
		}
	})
}

func TestACollectionIsDeletedBySelector(t *testing.T) {
	eachFormat(t, func(t *testing.T, client kubernetes.Interface) {
		maps := client.CoreV1().ConfigMaps(namespace(t, client))
		for _, name := range []string{"x", "y"} {
			_, err := maps.Create(ctx(t), configMap(name, nil), metav1.CreateOptions{})
			must(t, err)
		}
		must(t, maps.DeleteCollection(ctx(t), metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "app=a"}))
		list, err := maps.List(ctx(t), metav1.ListOptions{LabelSelector: "app=a"})
		must(t, err)
		equal(t, "the number of items", len(list.Items), 0)
	})
}

func TestADeploymentRunsAndItsPodsAreReadEvictedAndReplaced(t *testing.T) {
	eachFormat(t, func(t *testing.T, client kubernetes.Interface) {
		ns := namespace(t, client)
		deployments, pods := client.AppsV1().Deployments(ns), client.CoreV1().Pods(ns)
		_, err := deployments.Create(ctx(t), deployment("web", 2), metav1.CreateOptions{})
		must(t, err)
		ready := func() bool {
			read, err := deployments.Get(ctx(t), "web", metav1.GetOptions{})
			must(t, err)
			return read.Status.ReadyReplicas == 2
		}
		eventually(t, "two pods are ready", ready)
		list, err := pods.List(ctx(t), metav1.ListOptions{LabelSelector: "app=web", FieldSelector: "status.phase=Running"})
		must(t, err)
		equal(t, "the number of pods", len(list.Items), 2)
		victim := list.Items[0]

		stream, err := pods.GetLogs(victim.Name, &corev1.PodLogOptions{Container: "c"}).Stream(ctx(t))
		must(t, err)
		text, err := io.ReadAll(stream)
		must(t, err)
		holds(t, "there are logs", len(text) > 0)

		must(t, pods.EvictV1(ctx(t), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: victim.Name, Namespace: ns}}))
		eventually(t, "the evicted pod is gone", func() bool {
			_, err := pods.Get(ctx(t), victim.Name, metav1.GetOptions{})
			return apierrors.IsNotFound(err)
		})
		eventually(t, "another took its place", ready)

		must(t, retry.RetryOnConflict(retry.DefaultBackoff, func() error {
			scale, err := deployments.GetScale(ctx(t), "web", metav1.GetOptions{})
			must(t, err)
			equal(t, "the scale's selector", scale.Status.Selector, "app=web")
			scale.Spec.Replicas = 1
			_, err = deployments.UpdateScale(ctx(t), "web", scale, metav1.UpdateOptions{})
			return err
		}))
		must(t, deployments.Delete(ctx(t), "web", metav1.DeleteOptions{PropagationPolicy: pointer(metav1.DeletePropagationForeground)}))
		eventually(t, "the pods go with their deployment", func() bool {
			list, err := pods.List(ctx(t), metav1.ListOptions{})
			must(t, err)
			return len(list.Items) == 0
		})
	})
}

func TestTwoAppliersMeetInConflictAndOneForcesItsWay(t *testing.T) {
	eachFormat(t, func(t *testing.T, client kubernetes.Interface) {
		ns := namespace(t, client)
		deployments := client.AppsV1().Deployments(ns)
		labels := map[string]string{"app": "web"}
		wanted := appsv1apply.Deployment("web", ns).WithSpec(appsv1apply.DeploymentSpec().WithReplicas(0).
			WithSelector(metav1apply.LabelSelector().WithMatchLabels(labels)).
			WithTemplate(corev1apply.PodTemplateSpec().WithLabels(labels).
				WithSpec(corev1apply.PodSpec().WithContainers(corev1apply.Container().WithName("c").WithImage("nginx")))))
		_, err := deployments.Apply(ctx(t), wanted, metav1.ApplyOptions{FieldManager: "one"})
		must(t, err)

		other := appsv1apply.Deployment("web", ns).WithSpec(appsv1apply.DeploymentSpec().WithReplicas(1))
		_, err = deployments.Apply(ctx(t), other, metav1.ApplyOptions{FieldManager: "two"})
		holds(t, "a conflict", apierrors.IsConflict(err))
		causes := err.(apierrors.APIStatus).Status().Details.Causes
		equal(t, "the number of causes", len(causes), 1)
		equal(t, "the cause", fmt.Sprintf("%s %s %s", causes[0].Type, causes[0].Field, causes[0].Message),
			`FieldManagerConflict .spec.replicas conflict with "one"`)

		forced, err := deployments.Apply(ctx(t), other, metav1.ApplyOptions{FieldManager: "two", Force: true})
		must(t, err)
		own, err := appsv1apply.ExtractDeployment(forced, "two")
		must(t, err)
		equal(t, "what two owns", *own.Spec.Replicas, 1)
		first, err := appsv1apply.ExtractDeployment(forced, "one")
		must(t, err)
		holds(t, "one owns replicas no more", first.Spec.Replicas == nil)

		status := appsv1apply.Deployment("web", ns).WithStatus(appsv1apply.DeploymentStatus().WithConditions(
			appsv1apply.DeploymentCondition().WithType("Seen").WithStatus(corev1.ConditionTrue)))
		seen, err := deployments.ApplyStatus(ctx(t), status, metav1.ApplyOptions{FieldManager: "three"})
		must(t, err)
		holds(t, "the condition is there", strings.Contains(fmt.Sprint(seen.Status.Conditions), "Seen"))
	})
}

func TestManyWritersOfOneObjectLoseNothingWhenTheyRetryOnConflict(t *testing.T) {
	eachFormat(t, func(t *testing.T, client kubernetes.Interface) {
		maps := client.CoreV1().ConfigMaps(namespace(t, client))
		_, err := maps.Create(ctx(t), configMap("counter", map[string]string{"n": ""}), metav1.CreateOptions{})
		must(t, err)
		var writers sync.WaitGroup
		for range 8 {
			writers.Add(1)
			go func() {
				defer writers.Done()
				backoff := retry.DefaultBackoff
				backoff.Steps = 40
				for range 5 {
					err := retry.RetryOnConflict(backoff, func() error {
						read, err := maps.Get(ctx(t), "counter", metav1.GetOptions{})
						if err != nil {
							return err
						}
						read.Data["n"] += "|"
						_, err = maps.Update(ctx(t), read, metav1.UpdateOptions{})
						return err
					})
					if err != nil {
						t.Error(err)
					}
				}
			}()
		}
		writers.Wait()
		read, err := maps.Get(ctx(t), "counter", metav1.GetOptions{})
		must(t, err)
		equal(t, "the count", len(read.Data["n"]), 40)
	})
}

func TestALongListComesInPagesOfOneMoment(t *testing.T) {
	eachFormat(t, func(t *testing.T, client kubernetes.Interface) {
		maps := client.CoreV1().ConfigMaps(namespace(t, client))
		for number := range 23 {
			_, err := maps.Create(ctx(t), configMap(fmt.Sprintf("m-%02d", number), nil), metav1.CreateOptions{})
			must(t, err)
		}
		selected := metav1.ListOptions{LabelSelector: "app=a", Limit: 10}
		page, err := maps.List(ctx(t), metav1.ListOptions{Limit: 10})
		must(t, err)
		holds(t, "it says how many remain", page.RemainingItemCount != nil && *page.RemainingItemCount >= 13)
		_, err = maps.Create(ctx(t), configMap("m-99", nil), metav1.CreateOptions{})
		must(t, err)
		rest, err := maps.List(ctx(t), metav1.ListOptions{Limit: 100, Continue: page.Continue})
		must(t, err)
		equal(t, "the version of the second page", rest.ResourceVersion, page.ResourceVersion)
		for _, item := range rest.Items {
			holds(t, "what came later is not in it", item.Name != "m-99")
		}
		var names []string
		lister := pager.New(pager.SimplePageFunc(func(options metav1.ListOptions) (runtime.Object, error) {
			return maps.List(ctx(t), options)
		}))
		lister.PageSize = 5
		must(t, lister.EachListItem(ctx(t), selected, func(object runtime.Object) error {
			names = append(names, object.(*corev1.ConfigMap).Name)
			return nil
		}))
		equal(t, "the number of items", len(names), 24)
		equal(t, "the first and the last", names[0]+" "+names[23], "m-00 m-99")
	})
}

func TestDiscoveryReadsTheSameInEveryFormat(t *testing.T) {
	verbs := map[string]string{}
	eachFormat(t, func(t *testing.T, client kubernetes.Interface) {
		versions := &metav1.APIVersions{}
		must(t, client.CoreV1().RESTClient().Get().AbsPath("/api").Do(ctx(t)).Into(versions))
		equal(t, "the versions of the core group", fmt.Sprint(versions.Versions), "[v1]")
		groups := &metav1.APIGroupList{}
		must(t, client.CoreV1().RESTClient().Get().AbsPath("/apis").Do(ctx(t)).Into(groups))
		holds(t, "there are groups", len(groups.Groups) > 10)
		for _, version := range []string{"v1", "apps/v1"} {
			list, err := client.Discovery().ServerResourcesForGroupVersion(version)
			must(t, err)
			equal(t, "the version", list.GroupVersion, version)
			told := fmt.Sprintf("%v", list.APIResources)
			if known, ok := verbs[version]; ok {
				equal(t, "the resources of "+version, told, known)
			}
			verbs[version] = told
		}
	})
}

func TestErrorsAreTheOnesThatClientGoKnows(t *testing.T) {
	eachFormat(t, func(t *testing.T, client kubernetes.Interface) {
		ns := namespace(t, client)
		_, err := client.CoreV1().ConfigMaps("nowhere-at-all").Create(ctx(t), configMap("m", nil), metav1.CreateOptions{})
		holds(t, "a namespace that is not there is NotFound", apierrors.IsNotFound(err))
		bad := deployment("Bad_Name", 1)
		bad.Spec.Selector.MatchLabels = map[string]string{"app": "other"}
		_, err = client.AppsV1().Deployments(ns).Create(ctx(t), bad, metav1.CreateOptions{})
		holds(t, "a bad object is Invalid", apierrors.IsInvalid(err))
		holds(t, "with a cause a field", len(err.(apierrors.APIStatus).Status().Details.Causes) >= 2)
		_, err = client.CoreV1().ConfigMaps(ns).Patch(ctx(t), "none", types.MergePatchType, []byte(`{}`), metav1.PatchOptions{})
		holds(t, "a patch of nothing is NotFound", apierrors.IsNotFound(err))
		_, err = client.CoreV1().ConfigMaps(ns).List(ctx(t), metav1.ListOptions{Continue: "nonsense"})
		holds(t, "a token of nobody's is BadRequest", apierrors.IsBadRequest(err))
		_, err = client.CoreV1().ConfigMaps(ns).Watch(ctx(t), metav1.ListOptions{ResourceVersion: "nonsense"})
		holds(t, "a version of nobody's is refused", err != nil)
	})
	config := configuration(t)
	config.Impersonate = rest.ImpersonationConfig{UserName: "nobody-special"}
	_, err := clientset(t, config).CoreV1().Secrets("default").List(ctx(t), metav1.ListOptions{})
	holds(t, "who may not is Forbidden", apierrors.IsForbidden(err))
	anonymous := rest.AnonymousClientConfig(configuration(t))
	anonymous.BearerToken = "nonsense"
	_, err = clientset(t, anonymous).CoreV1().Secrets("default").List(ctx(t), metav1.ListOptions{})
	holds(t, "a token of nobody's is Unauthorized", apierrors.IsUnauthorized(err))
}

func TestAServiceAccountsTokenIsMadeReviewedAndUsed(t *testing.T) {
	eachFormat(t, func(t *testing.T, client kubernetes.Interface) {
		ns := namespace(t, client)
		_, err := client.CoreV1().ServiceAccounts(ns).Create(ctx(t), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot"}}, metav1.CreateOptions{})
		must(t, err)
		token, err := client.CoreV1().ServiceAccounts(ns).CreateToken(ctx(t), "robot", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
		must(t, err)
		who := "system:serviceaccount:" + ns + ":robot"
		review, err := client.AuthenticationV1().TokenReviews().Create(ctx(t), &authenticationv1.TokenReview{
			Spec: authenticationv1.TokenReviewSpec{Token: token.Status.Token}}, metav1.CreateOptions{})
		must(t, err)
		equal(t, "whose token it is", review.Status.User.Username, who)

		config := rest.AnonymousClientConfig(configuration(t))
		config.BearerToken = token.Status.Token
		robot := clientset(t, config)
		self, err := robot.AuthenticationV1().SelfSubjectReviews().Create(ctx(t), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
		must(t, err)
		equal(t, "who it is", self.Status.UserInfo.Username, who)
		may, err := robot.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx(t), &authorizationv1.SelfSubjectAccessReview{
			Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: ns, Verb: "list", Resource: "secrets"}}}, metav1.CreateOptions{})
		must(t, err)
		holds(t, "it may not list secrets", !may.Status.Allowed)
	})
}

type warnings struct {
	lock sync.Mutex
	all  []string
}

func (w *warnings) HandleWarningHeader(_ int, _ string, text string) {
	w.lock.Lock()
	defer w.lock.Unlock()
	w.all = append(w.all, text)
}

func TestWarningsReachTheClientAndDryRunsLeaveNothing(t *testing.T) {
	heard, config := &warnings{}, configuration(t)
	config.WarningHandler = heard
	client := clientset(t, config)
	ns := namespace(t, client)
	body := []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"w"},"dta":{"a":"b"}}`)
	request := func(validation string) error {
		return client.CoreV1().RESTClient().Post().Namespace(ns).Resource("configmaps").
			Param("fieldValidation", validation).Param("dryRun", "All").Body(body).Do(ctx(t)).Error()
	}
	must(t, request("Warn"))
	equal(t, "the warnings", strings.Join(heard.all, ";"), `unknown field "dta"`)
	err := request("Strict")
	holds(t, "strictly it is refused", apierrors.IsBadRequest(err) && strings.Contains(err.Error(), `strict decoding error: unknown field "dta"`))
	_, err = client.CoreV1().ConfigMaps(ns).Get(ctx(t), "w", metav1.GetOptions{})
	holds(t, "nothing is left", apierrors.IsNotFound(err))
}
