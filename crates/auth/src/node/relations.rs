use std::sync::Arc;

use coracle_meta::fields::Fields;
use coracle_meta::{FieldRequirement, FieldSelector, GroupVersionResource, Object, ResourcePath, Status};
use coracle_registry::{GetOptions, ListOptions, Registry, Request, Verb};

use super::pod_references::{claims, config_maps, counts, resource_claims, secrets};

/// The relation of a node to an object, by kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Related {
    /// The pod is bound to the node.
    Pod,
    /// A pod of the node refers to the Secret, or a volume of such a pod does.
    Secret,
    /// A pod of the node refers to it.
    ConfigMap,
    /// A pod of the node refers to it.
    Claim,
    /// The volume is bound to the claim of a pod of the node.
    Volume,
    /// A pod of the node runs with the service account.
    Account,
    /// A pod of the node uses the resource claim.
    ResourceClaim,
    /// The attachment is for this node.
    Attachment,
    /// The slice contains devices of the node.
    Slice,
    /// The request is for a pod of the node.
    CertificateRequest,
}

/// The objects that are related to a node: its pods, and the objects to which they refer.
///
/// In Kubernetes: the `Graph` of the node authorizer.
pub(super) struct Relations<'a> {
    registry: &'a Registry,
    node: &'a str,
}

impl<'a> Relations<'a> {
    pub(super) fn of(registry: &'a Registry, node: &'a str) -> Self {
        Self { registry, node }
    }

    /// Whether the node is related to the object.
    pub(super) async fn include(&self, related: Related, at: &ResourcePath) -> Result<bool, Status> {
        Ok(match related {
            Related::Pod | Related::Attachment | Related::Slice | Related::CertificateRequest => {
                let found = self.get(&at.resource, &at.namespace, &at.name).await?;
                found.is_some_and(|found| found.text("spec.nodeName") == self.node)
            }
            Related::Volume => {
                let volume = self.get(&at.resource, "", &at.name).await?;
                let pods = if volume.is_some() { self.pods().await? } else { Vec::new() };
                volume.is_some_and(|volume| is_claimed(&volume, &pods))
            }
            Related::Secret => {
                let pods = self.pods().await?;
                pods_here(&pods, at).any(|pod| secrets(pod).any(|name| name == at.name))
                    || pods.iter().any(|pod| counts(pod) && claims(pod).next().is_some())
                        && self.volumes_use(&pods, at).await?
            }
            Related::ConfigMap => {
                let pods = self.pods().await?;
                pods_here(&pods, at).any(|pod| config_maps(pod).any(|name| name == at.name))
            }
            Related::Claim => {
                let pods = self.pods().await?;
                pods_here(&pods, at).any(|pod| claims(pod).any(|name| name == at.name))
            }
            Related::Account => {
                let pods = self.pods().await?;
                pods_here(&pods, at).any(|pod| pod.text("spec.serviceAccountName") == at.name)
            }
            Related::ResourceClaim => {
                let pods = self.pods().await?;
                pods_here(&pods, at).any(|pod| resource_claims(pod).any(|name| name == at.name))
            }
        })
    }

    /// Whether a volume of one of these pods is mounted with the Secret.
    async fn volumes_use(&self, pods: &[Arc<Object>], secret: &ResourcePath) -> Result<bool, Status> {
        let volumes = self.list("persistentvolumes", ListOptions::default()).await?;
        let mut with_secret = volumes.iter().filter(|volume| {
            secrets_of(volume).any(|(namespace, name)| namespace == secret.namespace && name == secret.name)
        });
        Ok(with_secret.any(|volume| is_claimed(volume, pods)))
    }

    /// The pods that are bound to the node.
    async fn pods(&self) -> Result<Vec<Arc<Object>>, Status> {
        let requirement = FieldRequirement { field: "spec.nodeName".into(), equal: true, value: self.node.to_owned() };
        let field_selector = FieldSelector { requirements: vec![requirement] };
        self.list("pods", ListOptions { field_selector, ..ListOptions::default() }).await
    }

    async fn list(&self, plural: &str, options: ListOptions) -> Result<Vec<Arc<Object>>, Status> {
        let resource = GroupVersionResource::new("", "v1", plural);
        let request = Request::new(Verb::List, resource, self.registry.ambient().clock.now());
        let list = self.registry.list_readable(&request, &options).await?;
        Ok(list.items.iter().map(|item| item.object()).collect())
    }

    async fn get(
        &self,
        resource: &GroupVersionResource,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Arc<Object>>, Status> {
        let request = Request::new(Verb::Get, resource.clone(), self.registry.ambient().clock.now());
        let found = self.registry.find(&request.object(namespace, name), &GetOptions::default()).await?;
        Ok(found.map(|found| found.object()))
    }
}

/// The pods in this namespace whose references count.
fn pods_here<'a>(pods: &'a [Arc<Object>], at: &'a ResourcePath) -> impl Iterator<Item = &'a Object> {
    pods.iter().map(|pod| &**pod).filter(|pod| pod.namespace() == at.namespace && counts(pod))
}

/// Whether one of these pods uses the claim of the volume.
fn is_claimed(volume: &Object, pods: &[Arc<Object>]) -> bool {
    let (namespace, name) = (volume.text("spec.claimRef.namespace"), volume.text("spec.claimRef.name"));
    let here = pods.iter().filter(|pod| pod.namespace() == namespace && counts(pod));
    !name.is_empty() && here.into_iter().any(|pod| claims(pod).any(|claim| claim == name))
}

/// The Secrets with which a node mounts a volume, with their namespaces. In Kubernetes: `VisitPVSecretNames`.
fn secrets_of(volume: &Object) -> impl Iterator<Item = (&str, &str)> {
    let claimed = volume.text("spec.claimRef.namespace");
    let or_claimed = move |namespace| if str::is_empty(namespace) { claimed } else { namespace };
    let of = move |source: &str, is_claimed: bool| {
        let reference = volume.at("spec").at(source);
        let namespace = reference.text("namespace");
        (if is_claimed { or_claimed(namespace) } else { namespace }, reference.text("name"))
    };
    let azure = volume.at("spec.azureFile");
    let azure = (or_claimed(azure.text("secretNamespace")), azure.text("secretName"));
    let with_claim =
        ["cephfs.secretRef", "flexVolume.secretRef", "rbd.secretRef", "scaleIO.secretRef", "iscsi.secretRef"];
    let alone = [
        "cinder.secretRef",
        "storageos.secretRef",
        "csi.nodePublishSecretRef",
        "csi.nodeStageSecretRef",
        "csi.nodeExpandSecretRef",
    ];
    let references = with_claim.into_iter().map(move |source| of(source, true));
    let references = references.chain(alone.into_iter().map(move |source| of(source, false)));
    let references = references.chain([azure]);
    references.filter(|(_, name)| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_volume_is_mounted_by_secrets_of_its_own_namespace_or_the_claims() {
        let volume = Object::from_value(json!({"spec": {
            "claimRef": {"namespace": "shop", "name": "c"},
            "iscsi": {"secretRef": {"name": "chap"}}, "rbd": {"secretRef": {"name": "ring", "namespace": "ceph"}},
            "csi": {
                "nodeStageSecretRef": {"name": "stage", "namespace": "csi"},
                "controllerPublishSecretRef": {"name": "not for nodes", "namespace": "csi"}
            }
        }}))
        .unwrap();
        let mut found: Vec<_> = secrets_of(&volume).collect();
        found.sort_unstable();
        assert_eq!(found, [("ceph", "ring"), ("csi", "stage"), ("shop", "chap")]);
    }
}
