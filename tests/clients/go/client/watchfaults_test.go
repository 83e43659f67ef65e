package client

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/retry"
)

// follower knows the revision of each object that an informer has reported, and what was reported wrongly.
type follower struct {
	lock  sync.Mutex
	known map[string]int64
	wrong []string
}

func (f *follower) note(what, key string, change func() bool) {
	f.lock.Lock()
	defer f.lock.Unlock()
	if !change() {
		f.wrong = append(f.wrong, what+" "+key)
	}
}

func (f *follower) handler() cache.ResourceEventHandler {
	revision := func(object any) (string, int64) {
		found := object.(*corev1.Secret)
		revision, _ := strconv.ParseInt(found.ResourceVersion, 10, 64)
		return found.Name, revision
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) {
			name, revision := revision(object)
			f.note("added twice:", name, func() bool {
				_, known := f.known[name]
				f.known[name] = revision
				return !known
			})
		},
		UpdateFunc: func(_, object any) {
			name, revision := revision(object)
			f.note("updated out of order:", name, func() bool {
				before, known := f.known[name]
				f.known[name] = revision
				return known && before <= revision
			})
		},
		DeleteFunc: func(object any) {
			key, _ := cache.DeletionHandlingMetaNamespaceKeyFunc(object)
			_, name, _ := cache.SplitMetaNamespaceKey(key)
			f.note("deleted, and not known:", name, func() bool {
				_, known := f.known[name]
				delete(f.known, name)
				return known
			})
		},
	}
}

func (f *follower) holds(name string) bool {
	f.lock.Lock()
	defer f.lock.Unlock()
	_, holds := f.known[name]
	return holds
}

// revisions are the objects of the newest state.
func revisions(t *testing.T, client kubernetes.Interface, space string) map[string]int64 {
	t.Helper()
	list, err := client.CoreV1().Secrets(space).List(ctx(t), metav1.ListOptions{})
	must(t, err)
	found := map[string]int64{}
	for _, one := range list.Items {
		revision, err := strconv.ParseInt(one.ResourceVersion, 10, 64)
		must(t, err)
		found[one.Name] = revision
	}
	return found
}

// writes creates, updates and deletes secrets whose names begin in this way.
func writes(t *testing.T, client kubernetes.Interface, space, begin string) {
	t.Helper()
	secrets := client.CoreV1().Secrets(space)
	for number := range 9 {
		made, err := secrets.Create(ctx(t), secret(fmt.Sprintf("%s-%d", begin, number)), metav1.CreateOptions{})
		must(t, err)
		if number%3 > 0 {
			made.StringData = map[string]string{"number": strconv.Itoa(number)}
			_, err = secrets.Update(ctx(t), made, metav1.UpdateOptions{})
			must(t, err)
		}
		if number%3 > 1 {
			must(t, secrets.Delete(ctx(t), made.Name, metav1.DeleteOptions{}))
		}
	}
}

func TestAnInformerEqualsTheListAfterEachFaultOfItsWatch(t *testing.T) {
	for word, argument := range map[string]string{
		"gone": "{}", "close": "{}", "hang": "{}", "bookmark-only": "{}", "lag": "700ms", "stale": "PROGRAM", "cut": "PROGRAM",
	} {
		t.Run(word, func(t *testing.T) {
			withFaults(t, func(t *testing.T, program string, operator, other kubernetes.Interface) {
				space := namespace(t, other)
				writes(t, other, space, "before")
				informer := informers.NewSharedInformerFactoryWithOptions(operator, 0, informers.WithNamespace(space)).
					Core().V1().Secrets().Informer()
				seen := &follower{known: map[string]int64{}}
				_, err := informer.AddEventHandler(seen.handler())
				must(t, err)
				running, cancel := context.WithCancel(ctx(t))
				defer cancel()
				go informer.Run(running.Done())
				follows := func(name string) {
					t.Helper()
					_, err := other.CoreV1().Secrets(space).Create(ctx(t), secret(name), metav1.CreateOptions{})
					must(t, err)
					eventually(t, "the informer has "+name, func() bool { return seen.holds(name) })
				}
				eventually(t, "the informer has its list", informer.HasSynced)
				// Later than the list, so that the watch is open.
				follows("watched")

				action := fmt.Sprintf(`%s: %s, kind: Secret, to: %s`, word, argument, program)
				if argument == "PROGRAM" {
					action = fmt.Sprintf(`%s: %s`, word, program)
				}
				fault := cause(t, other, "{do: {"+action+"}}")
				writes(t, other, space, "during")
				fault.struck(1)
				fault.heal()
				writes(t, other, space, "after")
				follows("last")
				wanted := revisions(t, other, space)
				equal(t, "the number of secrets", len(wanted), 20)
				seen.lock.Lock()
				defer seen.lock.Unlock()
				holds(t, fmt.Sprintf("the handler knows %v, and the list has %v", seen.known, wanted), maps.Equal(seen.known, wanted))
				holds(t, fmt.Sprintf("all was in order, and not %v", seen.wrong), len(seen.wrong) == 0)
				equal(t, "the number in the cache", len(informer.GetStore().ListKeys()), len(wanted))
				for _, object := range informer.GetStore().List() {
					found := object.(*corev1.Secret)
					equal(t, "the revision of "+found.Name, found.ResourceVersion, strconv.FormatInt(wanted[found.Name], 10))
				}
			})
		})
	}
}

func TestAWatchThatHangsDeliversWhatItHeldAndAClosedOneEndsWithoutAnError(t *testing.T) {
	withFaults(t, func(t *testing.T, program string, operator, other kubernetes.Interface) {
		space := namespace(t, other)
		watched, err := operator.CoreV1().Secrets(space).Watch(ctx(t), metav1.ListOptions{})
		must(t, err)
		defer watched.Stop()
		fault := cause(t, other, fmt.Sprintf(`{"do": {"hang": {}, "kind": "Secret", "to": %q}}`, program))
		for _, name := range []string{"b", "a"} {
			_, err = other.CoreV1().Secrets(space).Create(ctx(t), secret(name), metav1.CreateOptions{})
			must(t, err)
		}
		fault.struck(1)
		select {
		case event := <-watched.ResultChan():
			t.Fatalf("%v", event)
		case <-time.After(time.Second):
		}
		fault.heal()
		for _, name := range []string{"b", "a"} {
			kind, object := next(t, watched)
			equal(t, "the event", kind, watch.Added)
			equal(t, "the secret", object.(*corev1.Secret).Name, name)
		}
		fault = cause(t, other, fmt.Sprintf(`{"do": {"close": {}, "kind": "Secret", "to": %q}}`, program))
		select {
		case event, open := <-watched.ResultChan():
			holds(t, fmt.Sprintf("the watch ends without an event, and not with %v", event), !open)
		case <-time.After(patience):
			t.Fatal("the watch has not ended")
		}
		fault.heal()
	})
}

func TestAStormOfConflictsIsSurvivedByRetriesAndNotByANaiveWriter(t *testing.T) {
	withFaults(t, func(t *testing.T, program string, operator, other kubernetes.Interface) {
		secrets := operator.CoreV1().Secrets(namespace(t, other))
		_, err := secrets.Create(ctx(t), secret("web"), metav1.CreateOptions{})
		must(t, err)
		write := func(key string) error {
			found, err := secrets.Get(ctx(t), "web", metav1.GetOptions{})
			must(t, err)
			found.StringData = map[string]string{key: "written"}
			_, err = secrets.Update(ctx(t), found, metav1.UpdateOptions{})
			return err
		}
		fault := cause(t, other, fmt.Sprintf(
			`{"when": {"by": %q, "verb": "update", "resource": "secrets"}, "do": {"refuse": 409}, "for": 4}`, program))
		err = write("naive")
		holds(t, fmt.Sprintf("the naive writer has a conflict, and not %v", err), apierrors.IsConflict(err))
		must(t, retry.RetryOnConflict(retry.DefaultRetry, func() error { return write("patient") }))
		fault.struck(4)
		fault.heal()
		found, err := secrets.Get(ctx(t), "web", metav1.GetOptions{})
		must(t, err)
		equal(t, "what the patient writer has written", string(found.Data["patient"]), "written")
		equal(t, "what the naive writer has written", len(found.Data["naive"]), 0)
		holds(t, "another writer has changed the secret", found.Annotations["coracle.dev/conflict"] != "")
	})
}

func TestARefusedRequestIsTheErrorOfItsCodeAndATooManyIsRetriedByTheClient(t *testing.T) {
	withFaults(t, func(t *testing.T, program string, operator, other kubernetes.Interface) {
		secrets := operator.CoreV1().Secrets(namespace(t, other))
		refuse := func(code, times int) caused {
			return cause(t, other, fmt.Sprintf(
				`{"when": {"by": %q, "verb": "create", "resource": "secrets"}, "do": {"refuse": %d}, "for": %d}`, program, code, times))
		}
		for code, is := range map[int]func(error) bool{
			500: apierrors.IsInternalError, 503: apierrors.IsServiceUnavailable, 504: apierrors.IsTimeout,
		} {
			fault := refuse(code, 1)
			_, err := secrets.Create(ctx(t), secret("refused"), metav1.CreateOptions{})
			holds(t, fmt.Sprintf("%d is the error of its code, and not %v", code, err), is(err))
			fault.struck(1)
			fault.heal()
			_, err = secrets.Get(ctx(t), "refused", metav1.GetOptions{})
			holds(t, fmt.Sprintf("nothing is written, and not %v", err), apierrors.IsNotFound(err))
		}
		fault := refuse(429, 2)
		_, err := secrets.Create(ctx(t), secret("repeated"), metav1.CreateOptions{})
		must(t, err)
		fault.struck(2)
		fault.heal()
	})
}

func TestABookmarkThatOvertakesAHeldEventDoesNotLetAClientMissIt(t *testing.T) {
	withFaults(t, func(t *testing.T, program string, operator, other kubernetes.Interface) {
		space, seconds := namespace(t, other), int64(5)
		theirs, ours := other.CoreV1().Secrets(space), operator.CoreV1().Secrets(space)
		list, err := ours.List(ctx(t), metav1.ListOptions{})
		must(t, err)
		// The API server sends a bookmark before a watch ends.
		watched, err := ours.Watch(ctx(t), metav1.ListOptions{
			ResourceVersion: list.ResourceVersion, AllowWatchBookmarks: true, TimeoutSeconds: &seconds,
		})
		must(t, err)
		defer watched.Stop()
		seen, err := theirs.Create(ctx(t), secret("seen"), metav1.CreateOptions{})
		must(t, err)
		kind, _ := next(t, watched)
		equal(t, "the event", kind, watch.Added)
		fault := cause(t, other, fmt.Sprintf(`{"do": {"bookmark-only": {}, "kind": "Secret", "to": %q}}`, program))
		_, err = theirs.Create(ctx(t), secret("held"), metav1.CreateOptions{})
		must(t, err)
		kind, object := next(t, watched)
		equal(t, "the event", kind, watch.Bookmark)
		bookmark := object.(*corev1.Secret).ResourceVersion
		equal(t, "the revision of the bookmark", bookmark, seen.ResourceVersion)
		fault.struck(1)
		fault.heal()
		again, err := ours.Watch(ctx(t), metav1.ListOptions{ResourceVersion: bookmark})
		must(t, err)
		defer again.Stop()
		kind, object = next(t, again)
		equal(t, "the event after the bookmark", kind, watch.Added)
		equal(t, "the secret of the event", object.(*corev1.Secret).Name, "held")
	})
}
