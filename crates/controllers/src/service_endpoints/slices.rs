use std::collections::BTreeMap;
use std::sync::Arc;

use coracle_api::core_v1::ObjectReference;
use coracle_api::discovery_v1::{Endpoint, EndpointPort, EndpointSlice};
use coracle_client::DeleteParams;
use coracle_controller_runtime::{Pass, ReconcileError};
use coracle_informer::{Lister, SharedInformer};
use coracle_meta::{ObjectKey, Resource};

use super::labels::{MANAGED_BY, SERVICE_NAME};
use super::tracker::SliceTracker;

/// The identity of an endpoint: addresses, host name, namespace and name of its target.
pub(crate) type EndpointKey = (Vec<String>, Option<String>, Option<(String, String)>);
/// The ports that slices are grouped by, in a fixed order.
pub(crate) type PortsKey = Vec<(Option<String>, Option<i32>, Option<String>, Option<String>)>;

/// The identity of an endpoint, whatever its state.
pub(crate) fn key_of_endpoint(endpoint: &Endpoint) -> EndpointKey {
    let mut addresses = endpoint.addresses.clone();
    addresses.sort();
    let target = endpoint.target_ref.as_ref().map(|target| (target.namespace.clone(), target.name.clone()));
    (addresses, endpoint.hostname.clone().filter(|name| !name.is_empty()), target)
}

/// The ports of a slice, in a fixed order.
pub(crate) fn key_of_ports(ports: &[EndpointPort]) -> PortsKey {
    let key = |port: &EndpointPort| (port.name.clone(), port.port, port.protocol.clone(), port.app_protocol.clone());
    let mut key: PortsKey = ports.iter().map(key).collect();
    key.sort();
    key
}

/// Whether an existing endpoint has the wanted state. In Kubernetes: `EndpointsEqualBeyondHash`.
pub(crate) fn is_as_wanted(wanted: &Endpoint, there: &Endpoint) -> bool {
    let target = |endpoint: &Endpoint| {
        let target = endpoint.target_ref.as_deref();
        target.map(|target| ObjectReference { resource_version: String::new(), ..target.clone() })
    };
    (&wanted.node_name, &wanted.zone, &wanted.conditions) == (&there.node_name, &there.zone, &there.conditions)
        && target(wanted) == target(there)
}

/// How many slices a manager has for a Service.
pub(crate) fn count_of(slices: &Lister<EndpointSlice>, manager: &str, service: &ObjectKey) -> usize {
    slices.count_by_index(BY_SERVICE, &format!("{manager}/{}/{}", service.namespace, service.name))
}

/// The index of slices by manager and Service.
const BY_SERVICE: &str = "service";

/// Indexes slices by their manager and Service.
pub(crate) fn index_by_service(slices: &SharedInformer<EndpointSlice>) {
    slices.add_index(BY_SERVICE, |slice| {
        let label = |name| slice.metadata.labels.get(name);
        let (Some(manager), Some(service)) = (label(MANAGED_BY), label(SERVICE_NAME)) else { return Vec::new() };
        let namespace = slice.metadata.namespace.as_deref().unwrap_or_default();
        vec![format!("{manager}/{namespace}/{service}")]
    });
}

/// The slices that `manager` keeps for a Service, without those being deleted.
pub(crate) fn slices_of(slices: &Lister<EndpointSlice>, manager: &str, service: &ObjectKey) -> Vec<Arc<EndpointSlice>> {
    let mut found = slices.by_index(BY_SERVICE, &format!("{manager}/{}/{}", service.namespace, service.name));
    found.retain(|slice| !slice.metadata.is_terminating());
    found
}

/// The pending writes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SliceWrites {
    /// Slices without a name.
    pub(crate) create: Vec<EndpointSlice>,
    pub(crate) update: Vec<EndpointSlice>,
    pub(crate) delete: Vec<Arc<EndpointSlice>>,
}

impl SliceWrites {
    /// Reuses slices to delete, if `may_take` allows it, for slices to create.
    pub(crate) fn recycle(&mut self, may_take: impl Fn(&EndpointSlice) -> bool) {
        let mut kept = Vec::new();
        for old in std::mem::take(&mut self.delete) {
            let fits = |new: &EndpointSlice| new.address_type == old.address_type && may_take(&old);
            match self.create.iter().rposition(fits) {
                Some(place) => {
                    let mut new = self.create.remove(place);
                    new.metadata.name.clone_from(&old.metadata.name);
                    self.update.push(new);
                }
                None => kept.push(old),
            }
        }
        self.delete = kept;
    }

    /// Whether there is nothing to write.
    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.create.is_empty() && self.update.is_empty() && self.delete.is_empty()
    }

    /// The writes as a sentence, for the event log.
    pub(crate) fn sentence(&self) -> String {
        match (self.create.len(), self.update.len(), self.delete.len()) {
            (0, 0, 0) => "nothing to do".to_owned(),
            (create, update, delete) => format!("create {create}, update {update}, delete {delete}"),
        }
    }

    /// Carries out the writes. `of` names the owner of the slices in errors: `Service default/web`. In a terminating
    /// namespace nothing is created, which is not an error.
    pub(crate) async fn carry_out(self, pass: &Pass, tracker: &SliceTracker, of: &str) -> Result<(), ReconcileError> {
        let slices = pass.api::<EndpointSlice>();
        for slice in self.create {
            match slices.create(&slice).await {
                Ok(created) => tracker.wrote(&created),
                Err(error) if error.is_namespace_terminating() => return Ok(()),
                Err(error) => return Err(failure(format!("failed to create EndpointSlice for {of}: {error}"))),
            }
        }
        for slice in self.update {
            match slices.update(&slice).await {
                Ok(updated) => tracker.wrote(&updated),
                Err(error) => {
                    let name = slice.key().name;
                    return Err(failure(format!("failed to update {name} EndpointSlice for {of}: {error}")));
                }
            }
        }
        for slice in self.delete {
            tracker.deleted(&slice);
            match slices.delete(&slice.key(), &DeleteParams::default()).await {
                Err(error) if !error.is_not_found() => {
                    let name = slice.key().name;
                    return Err(failure(format!("failed to delete {name} EndpointSlice for {of}: {error}")));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

fn failure(message: String) -> ReconcileError {
    ReconcileError::Object(message)
}

/// Groups slices by their ports.
pub(crate) fn by_ports(slices: &[Arc<EndpointSlice>]) -> BTreeMap<PortsKey, Vec<Arc<EndpointSlice>>> {
    let mut groups: BTreeMap<PortsKey, Vec<Arc<EndpointSlice>>> = BTreeMap::new();
    for slice in slices {
        groups.entry(key_of_ports(&slice.ports)).or_default().push(slice.clone());
    }
    groups
}
