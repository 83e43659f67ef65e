use std::collections::{BTreeMap, BTreeSet};

use coracle_meta::ObjectKey;

use crate::node_info::NodeInfo;

/// A volume as its driver knows it: the driver, and the volume's handle there.
pub(crate) type Handle = (String, String);

/// How many volumes of a driver each node takes, and which ones pods and attachments put there.
///
/// In Kubernetes: what `CSILimits` asks its listers for.
#[derive(Debug, Default)]
pub(crate) struct Attachable {
    /// By node and driver.
    limits: BTreeMap<String, BTreeMap<String, i64>>,
    /// What each claim is bound to, and its class.
    claims: BTreeMap<ObjectKey, (String, String)>,
    volumes: BTreeMap<String, Option<Handle>>,
    /// The provisioner of each class.
    classes: BTreeMap<String, String>,
    /// By node and name: the driver and the volume.
    attachments: BTreeMap<String, BTreeMap<String, Handle>>,
    nodes_of_attachments: BTreeMap<String, String>,
}

/// Puts something in, or takes it out.
fn set<V>(map: &mut BTreeMap<String, V>, name: &str, value: Option<V>) {
    match value {
        Some(value) => map.insert(name.to_owned(), value),
        None => map.remove(name),
    };
}

impl Attachable {
    /// How many volumes of each driver a node takes; none if it says nothing.
    pub(crate) fn set_limits(&mut self, node: &str, limits: Option<BTreeMap<String, i64>>) {
        set(&mut self.limits, node, limits.filter(|limits| !limits.is_empty()));
    }

    /// The volume and the class of a claim; none if it is gone.
    pub(crate) fn set_claim(&mut self, key: ObjectKey, claim: Option<(String, String)>) {
        match claim {
            Some(claim) => self.claims.insert(key, claim),
            None => self.claims.remove(&key),
        };
    }

    /// A volume is there, with its handle if a driver looks after it; none if it is gone.
    pub(crate) fn set_volume(&mut self, name: &str, volume: Option<Option<Handle>>) {
        set(&mut self.volumes, name, volume);
    }

    /// The provisioner of a class; none if it is gone.
    pub(crate) fn set_class(&mut self, name: &str, provisioner: Option<String>) {
        set(&mut self.classes, name, provisioner);
    }

    /// A volume is being attached to a node by a driver, or is; none if no longer.
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

    /// Whether any node limits anything.
    pub(crate) fn limits_something(&self) -> bool {
        !self.limits.is_empty()
    }

    /// The volumes of these claims, as far as drivers look after them.
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
            // It is still to be made: it counts as one of its class's driver, and as the same for all pods that share it.
            None => Some((self.classes.get(class)?.clone(), format!("made for {namespace}/{claim}"))),
        }
    }

    /// Whether so many volumes more are too many for the node.
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
