// A controller publishes the address of each Service in a ConfigMap. Its watch ends while a Service is deleted. The list
// that follows shows only that the Service is missing, and the handler gets a tombstone instead of a Service. The
// handler expects a Service and skips what it does not know, so the ConfigMap stays.
//
// Found in: many handlers that do not expect `cache.DeletedFinalStateUnknown`, for example calico#12793 and
// antrea#7568, which panic.
// The fault: `gone` (410) for the watch, which holds the deletion at that moment (`hang`).
// The fix: a tombstone has a key, and a reconcile needs no more.
package main

import (
	"context"
	"flag"
	"log"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
)

const namespace = "default"

func main() {
	fixed := flag.Bool("fixed", false, "run the fixed twin")
	flag.Parse()
	loaded := clientcmd.NewDefaultClientConfigLoadingRules()
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(loaded, nil).ClientConfig()
	if err == nil {
		err = run(ctrl.SetupSignalHandler(), config, *fixed)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// run publishes addresses until the context ends.
func run(ctx context.Context, config *rest.Config, fixed bool) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(namespace))
	services := factory.Core().V1().Services()
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
	_, err = services.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { queue.Add(object.(*corev1.Service).Name) },
		DeleteFunc: func(object any) { deleted(queue, object, fixed) },
	})
	if err != nil {
		return err
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	context.AfterFunc(ctx, queue.ShutDown)
	for {
		name, ends := queue.Get()
		if ends {
			return nil
		}
		service, err := services.Lister().Services(namespace).Get(name)
		if err == nil {
			err = publish(ctx, client, service)
		} else if apierrors.IsNotFound(err) {
			err = withdraw(ctx, client, name)
		}
		if err != nil {
			log.Printf("%s: %v", name, err)
			queue.AddRateLimited(name)
		} else {
			queue.Forget(name)
		}
		queue.Done(name)
	}
}

func deleted(queue workqueue.TypedRateLimitingInterface[string], object any, fixed bool) {
	switch object := object.(type) {
	case *corev1.Service:
		queue.Add(object.Name)
	case cache.DeletedFinalStateUnknown:
		if _, name, err := cache.SplitMetaNamespaceKey(object.Key); err == nil && fixed {
			queue.Add(name)
		}
	}
}

func publish(ctx context.Context, client kubernetes.Interface, service *corev1.Service) error {
	address := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: service.Name},
		Data:       map[string]string{"address": service.Spec.ClusterIP},
	}
	_, err := client.CoreV1().ConfigMaps(namespace).Create(ctx, address, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

func withdraw(ctx context.Context, client kubernetes.Interface, name string) error {
	err := client.CoreV1().ConfigMaps(namespace).Delete(ctx, name, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
