//go:build !twoyears

package client

import (
	"testing"
	"time"

	"k8s.io/client-go/informers"
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
