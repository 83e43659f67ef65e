use std::sync::Arc;

use coracle_informer::{Lister, SharedInformer};
use coracle_meta::ApiObject;

const CONTROLLER_UID: &str = "controllerUID";

/// Lets [`by_controller`] and [`without_controller`] find objects; asked for by several, made once.
///
/// In Kubernetes: `controller.AddPodControllerUIDIndexer`.
pub fn index_by_controller<T: ApiObject>(informer: &SharedInformer<T>) {
    informer.add_index(CONTROLLER_UID, |object: &T| {
        let controller = object.owner_references().into_iter().find(|owner| owner.controller == Some(true));
        vec![controller.map_or_else(|| orphans_of(&object.object_key().namespace), |owner| owner.uid)]
    });
}

/// The objects that the controller with this uid manages, in the order of their keys.
pub fn by_controller<T: ApiObject>(lister: &Lister<T>, uid: &str) -> Vec<Arc<T>> {
    lister.by_index(CONTROLLER_UID, uid)
}

/// The objects of a namespace that no controller manages, in the order of their names.
pub fn without_controller<T: ApiObject>(lister: &Lister<T>, namespace: &str) -> Vec<Arc<T>> {
    lister.by_index(CONTROLLER_UID, &orphans_of(namespace))
}

/// No uid looks like this.
fn orphans_of(namespace: &str) -> String {
    format!("orphans of {namespace}")
}
