// A controller asks its cache whether it has requested a certificate. The answer to the creation of the request is
// lost, the cache does not show the request yet, and the controller creates it again under another generated name.
//
// Found in: cert-manager#6837 (two requests for one revision of a certificate, and neither is approved).
// The faults: `lose: answer` of the creation, and `hang` of the watch that would show the request.
// The fix: a name that follows from the certificate. The second creation is refused, because the object exists.
//
// A certificate is a ConfigMap with a label, and a request is a Secret. The annotation of the certificate names the
// request.
package main

import (
	"context"
	"flag"
	"log"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

const (
	label      = "example.com/certificate"
	annotation = "example.com/request"
)

func main() {
	fixed := flag.Bool("fixed", false, "run the fixed twin")
	flag.Parse()
	ctrl.SetLogger(klog.Background())
	if err := run(ctrl.SetupSignalHandler(), ctrl.GetConfigOrDie(), *fixed); err != nil {
		log.Fatal(err)
	}
}

// run requests certificates until the context ends.
func run(ctx context.Context, configuration *rest.Config, fixed bool) error {
	// A process of a test runs more than one controller of this name.
	repeated := true
	manager, err := ctrl.NewManager(configuration, ctrl.Options{
		Metrics:    server.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: &repeated},
	})
	if err != nil {
		return err
	}
	isCertificate := predicate.NewPredicateFuncs(func(object client.Object) bool {
		return object.GetLabels()[label] != ""
	})
	err = ctrl.NewControllerManagedBy(manager).Named("issuer").
		For(&corev1.ConfigMap{}, builder.WithPredicates(isCertificate)).
		Owns(&corev1.Secret{}).
		Complete(&issuer{manager.GetClient(), fixed})
	if err != nil {
		return err
	}
	return manager.Start(ctx)
}

type issuer struct {
	client.Client
	fixed bool
}

func (i *issuer) Reconcile(ctx context.Context, of ctrl.Request) (ctrl.Result, error) {
	var certificate corev1.ConfigMap
	if err := i.Get(ctx, of.NamespacedName, &certificate); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if certificate.Annotations[annotation] != "" {
		return ctrl.Result{}, nil
	}
	name, err := i.request(ctx, &certificate)
	if err != nil {
		return ctrl.Result{}, err
	}
	requested := certificate.DeepCopy()
	metav1.SetMetaDataAnnotation(&requested.ObjectMeta, annotation, name)
	return ctrl.Result{}, i.Patch(ctx, requested, client.MergeFrom(&certificate))
}

// request returns the name of the request for a certificate, and creates it if the cache shows none.
func (i *issuer) request(ctx context.Context, certificate *corev1.ConfigMap) (string, error) {
	var known corev1.SecretList
	if err := i.List(ctx, &known, client.InNamespace(certificate.Namespace)); err != nil {
		return "", err
	}
	for _, one := range known.Items {
		if metav1.IsControlledBy(&one, certificate) {
			return one.Name, nil
		}
	}
	request := corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: certificate.Namespace}}
	if i.fixed {
		request.Name = certificate.Name + "-1"
	} else {
		request.GenerateName = certificate.Name + "-"
	}
	if err := ctrl.SetControllerReference(certificate, &request, i.Scheme()); err != nil {
		return "", err
	}
	err := i.Create(ctx, &request)
	if i.fixed && apierrors.IsAlreadyExists(err) {
		return request.Name, nil
	}
	return request.Name, err
}
