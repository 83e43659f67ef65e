use std::collections::{BTreeMap, BTreeSet};

use coracle_meta::ObjectKey;

use crate::node_info::NodeInfo;

/// The identity of a CSI volume: the driver, and the volume handle.
pub(crate) type Handle = (String, String);

/// How many volumes of a driver each node takes, and which ones pods and VolumeAttachments put there.
///
/// In Kubernetes: the listers of `CSILimits`.
#[derive(Debug, Default)]
pub(crate) struct Attachable {
    /// By node and driver.
    limits: BTreeMap<String, BTreeMap<String, i64>>,
    /// The bound volume of each claim, and its class.
    claims: BTreeMap<ObjectKey, (String, String)>,
    volumes: BTreeMap<String, Option<Handle>>,
    /// The provisioner of each class.
    classes: BTreeMap<String, String>,
    /// By node and name: the driver and the volume.
    attachments: BTreeMap<String, BTreeMap<String, Handle>>,
    nodes_of_attachments: BTreeMap<String, String>,
}

/// Sets or removes an entry.
fn set<V>(map: &mut BTreeMap<String, V>, name: &str, value: Option<V>) {
    match value {
        Some(value) => map.insert(name.to_owned(), value),
        None => map.remove(name),
    };
}

impl Attachable {
    /// Sets how many volumes of each driver a node takes; `None` if the node reports nothing.
    pub(crate) fn set_limits(&mut self, node: &str, limits: Option<BTreeMap<String, i64>>) {
        set(&mut self.limits, node, limits.filter(|limits| !limits.is_empty()));
    }

    /// Sets the volume and the class of a claim; `None` if the claim is deleted.
    pub(crate) fn set_claim(&mut self, key: ObjectKey, claim: Option<(String, String)>) {
        match claim {
            Some(claim) => self.claims.insert(key, claim),
            None => self.claims.remove(&key),
        };
    }

    /// Sets a volume, with its handle if it is a CSI volume; `None` if the volume is deleted.
    pub(crate) fn set_volume(&mut self, name: &str, volume: Option<Option<Handle>>) {
        set(&mut self.volumes, name, volume);
    }

    /// Sets the provisioner of a class; `None` if the class is deleted.
    pub(crate) fn set_class(&mut self, name: &str, provisioner: Option<String>) {
        set(&mut self.classes, name, provisioner);
    }

    /// Sets an attachment of a volume to a node; `None` if it is deleted.
    pub(crate) fn set_attachment(&mut self, name: &str, attachment: Option<(String, Handle)>) {
        if let Some(node) = self.nodes_of_attachments.remove(name)
            && let Some(on_node) = self.attachments.get_mut(&node)
        {
            on_node.remove(name);
            if on_node.is_empty() {
                self.attachments.remove(&node);
            }
        }
        if let Some((node, attachment)) = attachment {
            self.nodes_of_attachments.insert(name.to_owned(), node.clone());
            self.attachments.entry(node).or_default().insert(name.to_owned(), attachment);
        }
    }

    /// Whether any node has a limit.
    pub(crate) fn limits_something(&self) -> bool {
        !self.limits.is_empty()
    }

    /// The CSI volumes of these claims.
    pub(crate) fn of_claims<'a>(
        &self,
        namespace: &str,
        claims: impl IntoIterator<Item = &'a String>,
    ) -> BTreeSet<Handle> {
        claims.into_iter().filter_map(|claim| self.of_claim(namespace, claim)).collect()
    }

    fn of_claim(&self, namespace: &str, claim: &str) -> Option<Handle> {
        let (volume, class) = self.claims.get(&ObjectKey::new(namespace, claim))?;
        match self.volumes.get(volume) {
            Some(known) => known.clone(),
            // It is not provisioned yet: it counts for the class's driver, and once for all pods that share the
            // claim.
            None => Some((self.classes.get(class)?.clone(), format!("made for {namespace}/{claim}"))),
        }
    }

    /// Whether this many more volumes exceed a limit of the node.
    pub(crate) fn is_too_much(&self, wanted: &BTreeSet<Handle>, node: &NodeInfo) -> bool {
        let Some(limits) = self.limits.get(&*node.name) else { return false };
        if !wanted.iter().any(|(driver, _)| limits.contains_key(driver)) {
            return false;
        }
        let mut there = BTreeSet::new();
        for pod in node.pods.iter().filter(|pod| !pod.claims.is_empty()) {
            there.extend(self.of_claims(&pod.key.namespace, &pod.claims));
        }
        for (driver, volume) in self.attachments.get(&*node.name).into_iter().flat_map(BTreeMap::values) {
            if let Some(Some((_, handle))) = self.volumes.get(volume) {
                there.insert((driver.clone(), handle.clone()));
            }
        }
        limits.iter().any(|(driver, limit)| {
            let of_driver = |all: &BTreeSet<Handle>, new: bool| {
                let counted = all.iter().filter(|one| one.0 == *driver && !(new && there.contains(*one)));
                counted.count() as i64
            };
            let more = of_driver(wanted, true);
            more > 0 && of_driver(&there, false) + more > *limit
        })
    }
}
