package client

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/tools/record"
	watchtools "k8s.io/client-go/tools/watch"
)

// counter counts what an informer tells.
type counter struct{ added, updated, deleted atomic.Int32 }

func (c *counter) handler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { c.added.Add(1) },
		UpdateFunc: func(any, any) { c.updated.Add(1) },
		DeleteFunc: func(any) { c.deleted.Add(1) },
	}
}

func (c *counter) String() string {
	return fmt.Sprintf("%d added %d updated %d deleted", c.added.Load(), c.updated.Load(), c.deleted.Load())
}

func TestInformersOfEveryClientFollowWhatIsWritten(t *testing.T) {
	maps := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	eachFormat(t, func(t *testing.T, client kubernetes.Interface) {
		ns := namespace(t, client)
		config := configuration(t)
		anything, err := dynamic.NewForConfig(config)
		must(t, err)
		partial, err := metadata.NewForConfig(config)
		must(t, err)
		_, err = client.CoreV1().ConfigMaps(ns).Create(ctx(t), configMap("before", nil), metav1.CreateOptions{})
		must(t, err)
		stop := make(chan struct{})
		defer close(stop)
		onlyOurs := func(options *metav1.ListOptions) { options.LabelSelector = "app=a" }
		all := map[string]cache.SharedIndexInformer{
			"typed":    informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(ns), informers.WithTweakListOptions(onlyOurs)).Core().V1().ConfigMaps().Informer(),
			"dynamic":  dynamicinformer.NewFilteredDynamicInformer(anything, maps, ns, 0, cache.Indexers{}, onlyOurs).Informer(),
			"metadata": metadatainformer.NewFilteredMetadataInformer(partial, maps, ns, 0, cache.Indexers{}, onlyOurs).Informer(),
		}
		told := map[string]*counter{}
		for name, informer := range all {
			told[name] = &counter{}
			registration, err := informer.AddEventHandler(told[name].handler())
			must(t, err)
			go informer.Run(stop)
			eventually(t, name+" is in step", registration.HasSynced)
		}
		made, err := client.CoreV1().ConfigMaps(ns).Create(ctx(t), configMap("after", nil), metav1.CreateOptions{})
		must(t, err)
		made.Data = map[string]string{"a": "b"}
		_, err = client.CoreV1().ConfigMaps(ns).Update(ctx(t), made, metav1.UpdateOptions{})
		must(t, err)
		must(t, client.CoreV1().ConfigMaps(ns).Delete(ctx(t), "before", metav1.DeleteOptions{}))
		for name, informer := range all {
			eventually(t, name+" has heard it all", func() bool { return told[name].String() == "2 added 1 updated 1 deleted" })
			equal(t, "what "+name+" holds", fmt.Sprint(informer.GetStore().ListKeys()), "["+ns+"/after]")
		}
	})
}

func TestAnInformerOfAClusterFindsWhatItsListerIsAskedFor(t *testing.T) {
	client := clientset(t, configuration(t))
	ns := namespace(t, client)
	factory := informers.NewSharedInformerFactory(client, time.Second)
	maps, nodes, services := factory.Core().V1().ConfigMaps().Lister(), factory.Core().V1().Nodes().Lister(), factory.Core().V1().Services().Lister()
	running, cancel := context.WithCancel(ctx(t))
	defer cancel()
	factory.Start(running.Done())
	for kind, synced := range factory.WaitForCacheSync(running.Done()) {
		holds(t, kind.String()+" is in step", synced)
	}
	_, err := services.Services("default").Get("kubernetes")
	must(t, err)
	all, err := nodes.List(labels.Everything())
	must(t, err)
	holds(t, "there are nodes", len(all) > 0)
	_, err = client.CoreV1().ConfigMaps(ns).Create(ctx(t), configMap("m", nil), metav1.CreateOptions{})
	must(t, err)
	eventually(t, "the lister finds it", func() bool {
		_, err := maps.ConfigMaps(ns).Get("m")
		return err == nil
	})
}

func TestAWaitByWatchEndsWhenItsConditionHolds(t *testing.T) {
	eachFormat(t, func(t *testing.T, client kubernetes.Interface) {
		ns := namespace(t, client)
		pods := client.CoreV1().Pods(ns)
		// Until its namespace has an account, a pod is refused.
		eventually(t, "the namespace has its account", func() bool {
			_, err := client.CoreV1().ServiceAccounts(ns).Get(ctx(t), "default", metav1.GetOptions{})
			return err == nil
		})
		_, err := pods.Create(ctx(t), &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "p"},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx"}}},
		}, metav1.CreateOptions{})
		must(t, err)
		one := fields.OneTermEqualSelector("metadata.name", "p").String()
		source := &cache.ListWatch{
			ListFunc: func(options metav1.ListOptions) (runtime.Object, error) {
				options.FieldSelector = one
				return pods.List(ctx(t), options)
			},
			WatchFunc: func(options metav1.ListOptions) (watch.Interface, error) {
				options.FieldSelector = one
				return pods.Watch(ctx(t), options)
			},
		}
		last, err := watchtools.UntilWithSync(ctx(t), source, &corev1.Pod{}, nil, func(event watch.Event) (bool, error) {
			return event.Object.(*corev1.Pod).Status.Phase == corev1.PodRunning, nil
		})
		must(t, err)
		holds(t, "it runs on a node", last.Object.(*corev1.Pod).Spec.NodeName != "")
	})
}

func TestLeadershipPassesFromOneCandidateToTheNext(t *testing.T) {
	eachFormat(t, func(t *testing.T, client kubernetes.Interface) {
		ns := namespace(t, client)
		leading := make(chan string, 10)
		candidate := func(name string) context.CancelFunc {
			lock, err := resourcelock.New(resourcelock.LeasesResourceLock, ns, "lead", client.CoreV1(), client.CoordinationV1(),
				resourcelock.ResourceLockConfig{Identity: name})
			must(t, err)
			elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
				Lock: lock, LeaseDuration: 3 * time.Second, RenewDeadline: 2 * time.Second, RetryPeriod: 200 * time.Millisecond, ReleaseOnCancel: true,
				Callbacks: leaderelection.LeaderCallbacks{
					OnStartedLeading: func(context.Context) { leading <- name },
					OnStoppedLeading: func() {},
				},
			})
			must(t, err)
			running, cancel := context.WithCancel(ctx(t))
			go elector.Run(running)
			return cancel
		}
		stopFirst := candidate("first")
		equal(t, "the leader", <-leading, "first")
		stopSecond := candidate("second")
		defer stopSecond()
		stopFirst()
		select {
		case name := <-leading:
			equal(t, "the leader", name, "second")
		case <-time.After(patience):
			t.Fatal("nobody took over")
		}
		var lease *coordinationv1.Lease
		lease, err := client.CoordinationV1().Leases(ns).Get(ctx(t), "lead", metav1.GetOptions{})
		must(t, err)
		equal(t, "the holder", *lease.Spec.HolderIdentity, "second")
		equal(t, "the transitions", *lease.Spec.LeaseTransitions, 1)
	})
}

func TestEventsOfBothRecordersAreOneThingInTwoGroups(t *testing.T) {
	config := configuration(t)
	client := clientset(t, config)
	ns := namespace(t, client)
	made, err := client.CoreV1().ConfigMaps(ns).Create(ctx(t), configMap("m", nil), metav1.CreateOptions{})
	must(t, err)
	about, err := client.CoreV1().Events("").Watch(ctx(t), metav1.ListOptions{FieldSelector: "involvedObject.uid=" + string(made.UID)})
	must(t, err)
	defer about.Stop()

	old := record.NewBroadcaster()
	old.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events(ns)})
	defer old.Shutdown()
	recorder := old.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "old"})
	for range 3 {
		recorder.Event(made, corev1.EventTypeNormal, "Repeated", "the same again")
	}
	eventually(t, "the three are one, counted", func() bool {
		list, err := client.CoreV1().Events(ns).List(ctx(t), metav1.ListOptions{FieldSelector: "reason=Repeated,involvedObject.name=m"})
		must(t, err)
		return len(list.Items) == 1 && list.Items[0].Count == 3
	})

	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: client.EventsV1()})
	running, cancel := context.WithCancel(ctx(t))
	defer cancel()
	must(t, broadcaster.StartRecordingToSinkWithContext(running))
	defer broadcaster.Shutdown()
	newer := broadcaster.NewRecorder(scheme.Scheme, "example.com/new")
	for range 2 {
		newer.Eventf(made, nil, corev1.EventTypeWarning, "Serial", "Doing", "note %d", 1)
	}
	var found *eventsv1.EventList
	eventually(t, "the new one is there", func() bool {
		found, err = client.EventsV1().Events(ns).List(ctx(t), metav1.ListOptions{FieldSelector: "reason=Serial"})
		must(t, err)
		return len(found.Items) == 1
	})
	same, err := client.CoreV1().Events(ns).Get(ctx(t), found.Items[0].Name, metav1.GetOptions{})
	must(t, err)
	equal(t, "the message in the old group", same.Message, "note 1")
	equal(t, "who reported", same.ReportingController, "example.com/new")
	kind, object := next(t, about)
	equal(t, "the event", kind, watch.Added)
	equal(t, "its reason", object.(*corev1.Event).Reason, "Repeated")
}

func TestAWatchThatIsResumedMissesAndRepeatsNothing(t *testing.T) {
	eachFormat(t, func(t *testing.T, client kubernetes.Interface) {
		maps := client.CoreV1().ConfigMaps(namespace(t, client))
		list, err := maps.List(ctx(t), metav1.ListOptions{})
		must(t, err)
		var writers sync.WaitGroup
		writers.Add(1)
		go func() {
			defer writers.Done()
			for number := range 60 {
				_, err := maps.Create(ctx(t), configMap(fmt.Sprintf("m-%02d", number), nil), metav1.CreateOptions{})
				if err != nil {
					t.Error(err)
				}
			}
		}()
		version, seen := list.ResourceVersion, 0
		for seen < 60 {
			// Each watch is cut after a few events, and the next goes on where it was.
			events, err := maps.Watch(ctx(t), metav1.ListOptions{ResourceVersion: version, LabelSelector: "app=a", TimeoutSeconds: pointer(int64(20))})
			must(t, err)
			for range min(7, 60-seen) {
				kind, object := next(t, events)
				equal(t, "the event", kind, watch.Added)
				read := object.(*corev1.ConfigMap)
				equal(t, "its object", read.Name, fmt.Sprintf("m-%02d", seen))
				version, seen = read.ResourceVersion, seen+1
			}
			events.Stop()
		}
		writers.Wait()
	})
}

func TestAWatchWithATimeoutEndsCleanly(t *testing.T) {
	eachFormat(t, func(t *testing.T, client kubernetes.Interface) {
		maps := client.CoreV1().ConfigMaps(namespace(t, client))
		events, err := maps.Watch(ctx(t), metav1.ListOptions{TimeoutSeconds: pointer(int64(1)), AllowWatchBookmarks: true})
		must(t, err)
		for event := range events.ResultChan() {
			holds(t, "no error came", event.Type != watch.Error)
		}
	})
}
