use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::ready;
use std::sync::Arc;

use super::conditions::is_established;
use super::definition::{Definition, resource};
use crate::{Derived, Lists, Registry};

/// The established definitions by name.
type Defined = BTreeMap<String, Established>;

/// A definition whose kinds must be served.
struct Established {
    resource_version: String,
    /// `None` if its names are not accepted (yet): served kinds do not change.
    definition: Option<Definition>,
}

fn defined(lists: &Lists, _before: &Defined) -> Defined {
    let read = |object: Arc<coracle_meta::Object>| {
        let definition = is_established(&object).then(|| Definition::read(&object));
        (object.name().to_owned(), Established { resource_version: object.resource_version().to_owned(), definition })
    };
    lists.of(&resource()).map(read).collect()
}

impl Registry {
    /// Serves the kinds that other API servers define in the same store, and stops serving those that they delete. Runs
    /// until it is dropped. In Kubernetes: the informer of `customresource_handler.go`.
    pub async fn follow_custom_kinds(&self) -> Infallible {
        let mut before = Arc::new(Defined::new());
        let serve = |registry: Registry, now: Arc<Defined>| {
            let gone = before.iter().filter(|(name, _)| !now.contains_key(*name));
            for definition in gone.filter_map(|(_, established)| established.definition.as_ref()) {
                registry.stop_serving(definition);
            }
            for (name, Established { resource_version, definition }) in &*now {
                let is_known = before.get(name).is_some_and(|before| before.resource_version == *resource_version);
                if let Some(definition) = definition.as_ref().filter(|_| !is_known) {
                    registry.serve(definition);
                }
            }
            before = now;
            ready(Ok(()))
        };
        Derived::new(|_| vec![resource()], defined).follow(self, serve).await
    }
}
