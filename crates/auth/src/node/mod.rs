//! The node authorizer.
//!
//! ```text
//! Attributes --decide--> by a rule for all nodes | by a name or a field selector | by Relations (references of its
//! pods)
//! ```

mod pod_references;
mod relations;

use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use coracle_meta::{ResourcePath, Status};
use coracle_registry::{Attributes, Authorizer, Decision, Registry, Rules, Target, User};
use coracle_release::Release;

use crate::Rule;
use crate::bootstrap::default_cluster_role;
use crate::rule::rules_in;
use relations::{Related, Relations};

/// The namespace of the Leases of nodes.
const NODE_LEASES: &str = "kube-node-lease";

/// Allows a node what a kubelet needs: its own objects, and the objects to which the pods bound to it refer.
///
/// In Kubernetes: the authorization mode `Node` (`plugin/pkg/auth/authorizer/node`), where a graph follows the objects.
/// Unlike Kubernetes: each request reads the objects, so that a new pod takes effect with the next request.
#[derive(Clone, Debug, Default)]
pub struct NodeAuthorizer {
    /// What every node may do, independently of the object: the rules of the role `system:node`, which has no subjects.
    rules: OnceLock<Arc<[Rule]>>,
}

/// How a request is decided.
enum Answer {
    /// By the rules for all nodes.
    ByRules,
    Allow,
    /// Not allowed, with the reason.
    No(String),
    /// Allowed if the node is related to the object.
    IfRelated(Related),
}

impl Answer {
    fn no(why: &str) -> Self {
        Self::No(why.to_owned())
    }

    fn when(allowed: bool, why: &str) -> Self {
        if allowed { Self::Allow } else { Self::no(why) }
    }
}

impl NodeAuthorizer {
    /// An authorizer with Kubernetes' rules for nodes.
    pub fn new() -> Self {
        Self::default()
    }

    /// The rules of the release of a server.
    fn rules_of(&self, release: &Release) -> &[Rule] {
        self.rules.get_or_init(|| {
            let role = default_cluster_role(release, "system:node");
            role.as_ref().map(rules_in).unwrap_or_default().into()
        })
    }

    async fn decide(
        &self,
        registry: &Registry,
        node: &str,
        attributes: &Attributes,
        at: &ResourcePath,
    ) -> Result<Decision, Status> {
        Ok(match answer(node, attributes, at, is_served(registry, at)) {
            Answer::Allow => Decision::Allow(String::new()),
            Answer::No(why) => Decision::NoOpinion(why),
            Answer::ByRules => {
                let allowed = self
                    .rules_of(registry.release())
                    .iter()
                    .any(|rule| rule.allows(&attributes.verb, &attributes.target));
                if allowed { Decision::Allow(String::new()) } else { Decision::NoOpinion(String::new()) }
            }
            Answer::IfRelated(_) if at.name.is_empty() => Decision::NoOpinion("No Object name found".to_owned()),
            Answer::IfRelated(related) => {
                if Relations::of(registry, node).include(related, at).await? {
                    Decision::Allow(String::new())
                } else {
                    Decision::NoOpinion(format!("no relationship found between node '{node}' and this object"))
                }
            }
        })
    }
}

/// Whether the server has a resource or a subresource.
fn is_served(registry: &Registry, at: &ResourcePath) -> bool {
    let kind = registry.kind(&at.resource);
    kind.is_some_and(|kind| at.subresource.is_empty() || kind.row().subresource(&at.subresource).is_some())
}

/// How a request of a node for a resource is decided. In Kubernetes: `NodeAuthorizer.Authorize`.
/// The resource is served or not: what a release lacks has no rules.
fn answer(node: &str, attributes: &Attributes, at: &ResourcePath, is_served: bool) -> Answer {
    let verb = attributes.verb.as_str();
    let selects_itself = attributes.field_selector.exact("spec.nodeName") == Some(node);
    match (at.resource.group.as_str(), at.resource.resource.as_str()) {
        ("", "secrets") => read_in_namespace(verb, at, Related::Secret),
        ("", "configmaps") => read_in_namespace(verb, at, Related::ConfigMap),
        ("", "persistentvolumeclaims") if at.subresource == "status" => match verb {
            "update" | "patch" => Answer::IfRelated(Related::Claim),
            _ => Answer::no("can only get/update/patch this type"),
        },
        ("", "persistentvolumeclaims") => get(verb, at, Related::Claim),
        ("", "persistentvolumes") => get(verb, at, Related::Volume),
        ("resource.k8s.io", "resourceclaims") => get(verb, at, Related::ResourceClaim),
        ("storage.k8s.io", "volumeattachments") => get(verb, at, Related::Attachment),
        ("", "serviceaccounts") => service_account(verb, at),
        ("coordination.k8s.io", "leases") => lease(node, verb, at),
        ("storage.k8s.io", "csinodes") if at.subresource == "status" && is_served => {
            Answer::no("CSINode status access requires CSIVolumeHealth feature")
        }
        ("storage.k8s.io", "csinodes") => csi_node(node, verb, at),
        ("resource.k8s.io", "resourceslices") => resource_slice(verb, at, selects_itself),
        ("", "nodes") => own_node(node, verb, at),
        ("", "pods") => pod(verb, at, selects_itself),
        ("certificates.k8s.io", "podcertificaterequests") if is_served => certificate_request(verb, at, selects_itself),
        ("certificates.k8s.io", "podcertificaterequests") => Answer::no(""),
        _ => Answer::ByRules,
    }
}

fn get(verb: &str, at: &ResourcePath, related: Related) -> Answer {
    match (verb, at.subresource.as_str()) {
        ("get", "") => Answer::IfRelated(related),
        ("get", _) => Answer::no("cannot get subresource"),
        _ => Answer::no("can only get individual resources of this type"),
    }
}

fn read_in_namespace(verb: &str, at: &ResourcePath, related: Related) -> Answer {
    if !matches!(verb, "get" | "list" | "watch") {
        return Answer::no("can only read resources of this type");
    }
    if !at.subresource.is_empty() {
        return Answer::no("cannot read subresource");
    }
    if at.namespace.is_empty() {
        Answer::no("can only read namespaced object of this type")
    } else {
        Answer::IfRelated(related)
    }
}

fn service_account(verb: &str, at: &ResourcePath) -> Answer {
    match (verb, at.subresource.as_str()) {
        ("get", "") => read_in_namespace(verb, at, Related::Account),
        ("create", "token") if !at.name.is_empty() => Answer::IfRelated(Related::Account),
        ("create", _) if !at.name.is_empty() => Answer::no("can only create token subresource of serviceaccount"),
        _ => Answer::no("can only create tokens for individual service accounts"),
    }
}

fn lease(node: &str, verb: &str, at: &ResourcePath) -> Answer {
    if !matches!(verb, "get" | "create" | "update" | "patch" | "delete") {
        return Answer::no("can only get, create, update, patch, or delete a node lease");
    }
    if at.namespace != NODE_LEASES {
        return Answer::No(format!("can only access leases in the {NODE_LEASES:?} system namespace"));
    }
    // A created object has no name in the path; the plug-in NodeRestriction checks the name.
    let own = verb == "create" || at.name == node;
    Answer::when(own, "can only access node lease with the same name as the requesting node")
}

fn csi_node(node: &str, verb: &str, at: &ResourcePath) -> Answer {
    if !matches!(verb, "get" | "create" | "update" | "patch" | "delete") {
        return Answer::no("can only get, create, update, patch, or delete a CSINode");
    }
    if !at.subresource.is_empty() {
        return Answer::no("cannot authorize CSINode subresources");
    }
    let own = verb == "create" || at.name == node;
    Answer::when(own, "can only access CSINode with the same name as the requesting node")
}

fn certificate_request(verb: &str, at: &ResourcePath, selects_itself: bool) -> Answer {
    if !at.subresource.is_empty() {
        return Answer::no("nodes may not access the status subresource of PodCertificateRequests");
    }
    match verb {
        // The plug-in NodeRestriction ensures that the request is for a pod of the node.
        "create" => Answer::Allow,
        "get" => Answer::IfRelated(Related::CertificateRequest),
        "list" | "watch" => {
            Answer::when(selects_itself, "can only list/watch podcertificaterequests with nodeName field selector")
        }
        _ => Answer::No(format!("nodes may not {verb} podcertificaterequests")),
    }
}

fn resource_slice(verb: &str, at: &ResourcePath, selects_itself: bool) -> Answer {
    if !at.subresource.is_empty() {
        return Answer::no("cannot authorize ResourceSlice subresources");
    }
    match verb {
        "create" => Answer::Allow,
        "get" | "update" | "patch" | "delete" => Answer::IfRelated(Related::Slice),
        "watch" | "list" | "deletecollection" => Answer::when(
            selects_itself,
            "can only list/watch/deletecollection resourceslices with nodeName field selector",
        ),
        _ => Answer::no(
            "only the following verbs are allowed for a ResourceSlice: get, watch, list, create, update, patch, delete, deletecollection",
        ),
    }
}

fn own_node(node: &str, verb: &str, at: &ResourcePath) -> Answer {
    match (at.subresource.as_str(), verb) {
        // The plug-in NodeRestriction ensures that a node changes only itself.
        ("", "create" | "update" | "patch") | ("status", "update" | "patch") => Answer::Allow,
        ("", "get" | "list" | "watch") => match at.name.as_str() {
            "" => Answer::No(format!("node '{node}' cannot read all nodes, only its own Node object")),
            name if name == node => Answer::Allow,
            name => Answer::No(format!("node '{node}' cannot read '{name}', only its own Node object")),
        },
        _ => Answer::no(""),
    }
}

fn pod(verb: &str, at: &ResourcePath, selects_itself: bool) -> Answer {
    match (at.subresource.as_str(), verb) {
        ("", "get") => Answer::IfRelated(Related::Pod),
        ("", "list" | "watch") if selects_itself => Answer::Allow,
        ("", "list" | "watch") if !at.name.is_empty() => Answer::IfRelated(Related::Pod),
        ("", "list" | "watch") => Answer::no("can only list/watch pods with spec.nodeName field selector"),
        // The plug-in NodeRestriction ensures that these are mirror pods and pods of the node.
        ("", "create" | "delete") | ("status", "update" | "patch") | ("eviction", "create") => Answer::Allow,
        _ => Answer::no(""),
    }
}

#[async_trait]
impl Authorizer for NodeAuthorizer {
    async fn authorize(&self, registry: &Registry, attributes: &Attributes) -> Result<Decision, Status> {
        let Some(node) = node_of(&attributes.user) else { return Ok(Decision::NoOpinion(String::new())) };
        match &attributes.target {
            Target::Resource(at) => self.decide(registry, node, attributes, at).await,
            Target::Path(_) => Ok(Decision::NoOpinion(String::new())),
        }
    }

    async fn rules(&self, _registry: &Registry, user: &User, _namespace: &str) -> Result<Rules, Status> {
        let mut rules = Rules::default();
        if node_of(user).is_some() {
            rules.incomplete = true;
            rules.evaluation_error = "node authorizer does not support user rule resolution".to_owned();
        }
        Ok(rules)
    }
}

/// The node name of a user.
fn node_of(user: &User) -> Option<&str> {
    let node = user.name.strip_prefix("system:node:")?;
    (user.is_in("system:nodes") && !node.is_empty()).then_some(node)
}

#[cfg(test)]
mod tests {
    use super::*;
    use coracle_meta::{FieldSelector, GroupVersionResource};

    fn asked(verb: &str, group: &str, resource: &str, name: &str, fields: &str) -> Answer {
        let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
        let at = ResourcePath::new(GroupVersionResource::new(group, "v1", resource));
        let at = at.object("shop", name).subresource(subresource);
        let user = Arc::new(User::new("system:node:a", ["system:nodes"]));
        let field_selector = FieldSelector::parse(fields).unwrap();
        let attributes = Attributes { field_selector, ..Attributes::of_resource(&user, verb, at.clone()) };
        answer("a", &attributes, &at, true)
    }

    fn why(answer: Answer) -> String {
        match answer {
            Answer::Allow => "allowed".to_owned(),
            Answer::ByRules => "by rules".to_owned(),
            Answer::IfRelated(related) => format!("if related: {related:?}"),
            Answer::No(why) => why,
        }
    }

    #[test]
    fn a_node_is_a_user_of_its_name_in_the_group_of_nodes() {
        assert_eq!(node_of(&User::new("system:node:a", ["system:nodes"])), Some("a"));
        assert_eq!(node_of(&User::new("system:node:a", ["system:authenticated"])), None);
        assert_eq!(node_of(&User::new("system:node:", ["system:nodes"])), None);
        assert_eq!(node_of(&User::new("ann", ["system:nodes"])), None);
    }

    #[test]
    fn pods_are_listed_by_the_nodes_own_name_alone() {
        for (fields, said) in [
            ("spec.nodeName=a", "allowed"),
            ("spec.nodeName=a,status.phase=Running", "allowed"),
            ("", "can only list/watch pods with spec.nodeName field selector"),
            ("spec.nodeName=b", "can only list/watch pods with spec.nodeName field selector"),
            ("spec.nodeName!=a", "can only list/watch pods with spec.nodeName field selector"),
        ] {
            for verb in ["list", "watch"] {
                assert_eq!(why(asked(verb, "", "pods", "", fields)), said, "{verb} {fields}");
            }
        }
        assert_eq!(why(asked("watch", "", "pods", "p", "")), "if related: Pod");
        assert_eq!(why(asked("deletecollection", "", "pods", "", "spec.nodeName=a")), "");
        assert_eq!(why(asked("update", "", "pods", "p", "")), "");
    }

    #[test]
    fn a_node_reads_no_other_node_and_writes_no_others_lease() {
        assert_eq!(why(asked("get", "", "nodes", "a", "")), "allowed");
        assert_eq!(why(asked("get", "", "nodes", "b", "")), "node 'a' cannot read 'b', only its own Node object");
        assert_eq!(why(asked("list", "", "nodes", "", "")), "node 'a' cannot read all nodes, only its own Node object");
        assert_eq!(why(asked("delete", "", "nodes", "a", "")), "");
        let other = "can only access CSINode with the same name as the requesting node";
        assert_eq!(why(asked("get", "storage.k8s.io", "csinodes", "b", "")), other);
        let elsewhere = "can only access leases in the \"kube-node-lease\" system namespace";
        assert_eq!(why(asked("update", "coordination.k8s.io", "leases", "a", "")), elsewhere);
    }

    #[test]
    fn references_of_pods_allow_single_reads_and_no_writes() {
        assert_eq!(why(asked("get", "", "secrets", "s", "")), "if related: Secret");
        assert_eq!(why(asked("update", "", "secrets", "s", "")), "can only read resources of this type");
        let single = "can only get individual resources of this type";
        for (group, resource) in [
            ("", "persistentvolumes"),
            ("", "persistentvolumeclaims"),
            ("storage.k8s.io", "volumeattachments"),
            ("resource.k8s.io", "resourceclaims"),
        ] {
            assert_eq!(why(asked("list", group, resource, "", "")), single, "{resource}");
            assert!(matches!(asked("get", group, resource, "x", ""), Answer::IfRelated(_)), "{resource}");
        }
        assert_eq!(why(asked("create", "", "serviceaccounts/token", "robot", "")), "if related: Account");
        assert_eq!(
            why(asked("list", "", "serviceaccounts", "", "")),
            "can only create tokens for individual service accounts"
        );
    }

    #[test]
    fn slices_are_listed_by_the_nodes_own_name_alone() {
        let listed = |fields| why(asked("list", "resource.k8s.io", "resourceslices", "", fields));
        assert_eq!(listed("spec.nodeName=a"), "allowed");
        assert!(listed("").starts_with("can only list/watch/deletecollection resourceslices"));
        assert!(listed("spec.nodeName=b").starts_with("can only list/watch/deletecollection resourceslices"));
    }

    #[test]
    fn a_node_asks_for_certificates_and_sees_its_own_requests() {
        let certificates = |verb, fields| why(asked(verb, "certificates.k8s.io", "podcertificaterequests", "", fields));
        assert_eq!(certificates("create", ""), "allowed");
        assert_eq!(certificates("get", ""), "if related: CertificateRequest");
        assert_eq!(certificates("watch", "spec.nodeName=a"), "allowed");
        let selector = "can only list/watch podcertificaterequests with nodeName field selector";
        assert_eq!(certificates("list", "spec.nodeName=b"), selector);
        assert_eq!(certificates("delete", ""), "nodes may not delete podcertificaterequests");
        let status = why(asked("update", "certificates.k8s.io", "podcertificaterequests/status", "r", ""));
        assert_eq!(status, "nodes may not access the status subresource of PodCertificateRequests");
    }

    #[test]
    fn the_role_of_nodes_is_found() {
        assert!(NodeAuthorizer::new().rules_of(&Release::default()).len() > 10);
    }
}
