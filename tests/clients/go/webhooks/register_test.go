package webhooks

import (
	ctrl "sigs.k8s.io/controller-runtime"

	"k8s.io/apimachinery/pkg/runtime"

	"coracle.test/clients/webhooks/api/v2"
)

// register lets the manager serve what mutates, what validates and what converts.
func register(manager ctrl.Manager) error {
	return ctrl.NewWebhookManagedBy[runtime.Object](manager, &v2.Peer{}).
		WithCustomDefaulter(defaulter{}).
		WithCustomValidator(validator{}).
		Complete()
}
