//go:build !twoyears

package client

import (
	"context"
	"maps"
	"testing"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
)

// Client-go asks for a streaming list first, and falls back to a list if the server does not have it.
func TestAnInformerStreamsItsListAndNeverFallsBack(t *testing.T) {
	seen := &requests{}
	client := clientset(t, seen.over(configuration(t)))
	factory := informers.NewSharedInformerFactory(client, time.Minute)
	factory.Core().V1().ConfigMaps().Informer()
	factory.Apps().V1().Deployments().Informer()
	running := ctx(t)
	factory.Start(running.Done())
	for kind, synced := range factory.WaitForCacheSync(running.Done()) {
		holds(t, kind.String()+" is in step", synced)
	}
	equal(t, "the number of requests", seen.with("GET"), 2)
	equal(t, "the number of streaming lists", seen.with("sendInitialEvents=true"), 2)
}

func TestAnInformerThatStartsAtAStaleServerIsInStepOnlyWithTheNewestState(t *testing.T) {
	withFaults(t, func(t *testing.T, program string, operator, other kubernetes.Interface) {
		space := namespace(t, other)
		writes(t, other, space, "before")
		fault := cause(t, other, "{do: {stale: "+program+"}}")
		writes(t, other, space, "after")
		informer := informers.NewSharedInformerFactoryWithOptions(operator, 0, informers.WithNamespace(space)).
			Core().V1().Secrets().Informer()
		seen := &follower{known: map[string]int64{}}
		_, err := informer.AddEventHandler(seen.handler())
		must(t, err)
		running, cancel := context.WithCancel(ctx(t))
		defer cancel()
		go informer.Run(running.Done())
		fault.struck(1)
		// A list that ends in the past ends sooner.
		time.Sleep(time.Second)
		holds(t, "a list that is a consistent read does not end in the past", !informer.HasSynced())
		fault.heal()
		eventually(t, "the informer has its list", informer.HasSynced)
		wanted := revisions(t, other, space)
		eventually(t, "the handler knows the list, and all was in order", func() bool {
			seen.lock.Lock()
			defer seen.lock.Unlock()
			return maps.Equal(seen.known, wanted) && len(seen.wrong) == 0
		})
	})
}
