use std::sync::Arc;

use coracle_auth::{Reconciled, reconciled};
use coracle_meta::{GroupVersionKind, Object, Status};
use coracle_registry::{DeleteOptions, GetOptions, Preconditions, Registry, Request, Verb};
use coracle_resources::{API_SERVER_MANAGER, Config, create, create_if_missing};
use coracle_store::Revision;
use serde_json::{Value, json};

use crate::{ApiServerOptions, Error, RuntimeConfig};

/// The system namespaces. In Kubernetes: the controller `systemnamespaces`.
const NAMESPACES: [&str; 4] = ["default", "kube-system", "kube-public", "kube-node-lease"];

/// The port of an API server without an external address.
const DEFAULT_PORT: u16 = 6443;

/// The default objects of an API server.
#[derive(Debug)]
pub(crate) struct DefaultObjects {
    origin: Origin,
    namespaces: Vec<Object>,
    roles: Vec<Object>,
    others: Vec<Object>,
}

/// The options from which the default objects follow.
#[derive(Debug, PartialEq, Eq)]
struct Origin {
    served: RuntimeConfig,
    kinds: Config,
    port: u16,
}

impl Origin {
    fn of(options: &ApiServerOptions, kinds: &Config) -> Self {
        Self { served: options.runtime_config.clone(), kinds: kinds.clone(), port: port(options) }
    }
}

/// The default objects that a cluster has written to its store.
#[derive(Clone)]
pub(crate) struct Bootstrapped {
    pub(crate) objects: Arc<DefaultObjects>,
    /// Whether those of the simulated CSI driver are among them.
    pub(crate) csi_driver: bool,
    /// The revision at which all of them existed.
    pub(crate) at: Revision,
}

impl DefaultObjects {
    fn of(registry: &Registry, origin: Origin) -> Self {
        // `--runtime-config` may have disabled the kind.
        let is_served = |object: &Object| {
            let kind = object.group_version_kind().unwrap_or_default();
            registry.kinds().kind(&kind).is_some()
        };
        let has_pod_certificates = registry.release().enabled("PodCertificateRequest");
        let mut others = simulated_nodes(has_pod_certificates).to_vec();
        if has_pod_certificates {
            others.extend(pod_certificate_signer());
        }
        others.extend(coracle_resources::bootstrap(&origin.kinds));
        others.push(coracle_resources::kubernetes_service(&origin.kinds, origin.port));
        others.retain(is_served);
        let policy = coracle_auth::bootstrap_policy(registry.release());
        let roles = policy.iter().filter(|role| is_served(role)).cloned().collect();
        Self { origin, namespaces: NAMESPACES.map(namespace).to_vec(), roles, others }
    }
}

/// Creates missing default objects, and reconciles the default roles and bindings, unless the store was kept by a
/// cluster that wrote the same objects: it continues, and is not asked for each of them.
pub(crate) async fn write(
    registry: &Registry,
    options: &ApiServerOptions,
    kinds: &Config,
    kept: Option<&Arc<DefaultObjects>>,
) -> Result<Arc<DefaultObjects>, Error> {
    let origin = Origin::of(options, kinds);
    if let Some(kept) = kept.filter(|kept| kept.origin == origin) {
        return Ok(Arc::clone(kept));
    }
    let objects = Arc::new(DefaultObjects::of(registry, origin));
    for namespace in &objects.namespaces {
        unless_unreadable(create_if_missing(registry, namespace.clone()).await)?;
    }
    for role in &objects.roles {
        unless_unreadable(reconcile(registry, role).await)?;
    }
    for object in &objects.others {
        unless_unreadable(create_if_missing(registry, object.clone()).await)?;
    }
    Ok(objects)
}

/// Ignores an error because of a stored value that cannot be decoded: the cluster starts without the object.
fn unless_unreadable(written: Result<(), Status>) -> Result<(), Status> {
    match written {
        Err(status) if status.is_store_read_error() => Ok(()),
        written => written,
    }
}

/// Creates the missing objects of an installed component.
pub(crate) async fn install(registry: &Registry, manifests: Vec<Object>) -> Result<(), Status> {
    for object in manifests {
        unless_unreadable(create_if_missing(registry, object).await)?;
    }
    Ok(())
}

/// Creates a role or binding, or adds its missing parts. In Kubernetes: `rbac/bootstrap-roles`.
async fn reconcile(registry: &Registry, expected: &Object) -> Result<(), Status> {
    let kind = expected.group_version_kind().unwrap_or_default();
    let kinds = registry.kinds();
    let known = kinds.kind(&kind).ok_or_else(|| Status::internal(format!("no kind {kind}")))?;
    let about = |verb: Verb| {
        let request = Request::new(verb, known.gvr(), registry.ambient().clock.now());
        Request {
            field_manager: API_SERVER_MANAGER.to_owned(),
            ..request.object(expected.namespace(), expected.name())
        }
    };
    // Another API server may start on the same store and write first.
    for _ in 0..ATTEMPTS {
        let existing = match registry.get(&about(Verb::Get), &GetOptions::default()).await {
            Ok(found) => found.object(),
            Err(status) if status.is_not_found() => return create(registry, expected.clone()).await,
            Err(status) => return Err(status),
        };
        let written = match reconciled(&existing, expected) {
            Reconciled::AsItIs => return Ok(()),
            Reconciled::Changed(object) => match registry.update(&about(Verb::Update), object).await {
                Ok(_) => return Ok(()),
                Err(status) => Err(status),
            },
            Reconciled::Anew => {
                let preconditions = Preconditions { uid: Some(existing.uid().to_owned()), ..Preconditions::default() };
                let options = DeleteOptions { preconditions, ..DeleteOptions::default() };
                registry.delete(&about(Verb::Delete), &options).await.map(|_| ())
            }
        };
        match written {
            Err(status) if !status.is_conflict() && !status.is_not_found() => return Err(status),
            _ => {}
        }
    }
    Err(Status::internal(format!("{kind} {}: another client changes it at each attempt", expected.name())))
}

/// The maximum number of attempts for a role that other clients change at the same time.
const ATTEMPTS: usize = 5;

/// The Service through which pods reach the API.
pub(crate) fn kubernetes_service(options: &ApiServerOptions, kinds: &Config) -> Object {
    coracle_resources::kubernetes_service(kinds, port(options))
}

/// The port of the API server in that Service.
fn port(options: &ApiServerOptions) -> u16 {
    options.advertised.map_or(DEFAULT_PORT, |address| address.port())
}

/// The role and binding of a process that acts for all nodes that it simulates; Kubernetes has no such role.
fn simulated_nodes(has_pod_certificates: bool) -> [Object; 2] {
    let mut rules = json!([
        {"apiGroups": [""], "resources": ["nodes", "nodes/status", "pods", "pods/status"], "verbs": ["*"]},
        {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["*"]},
        {"apiGroups": ["", "events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch", "update"]},
        {"apiGroups": [""], "resources": ["configmaps", "secrets", "services"], "verbs": ["get", "list", "watch"]},
        {"apiGroups": ["authentication.k8s.io"], "resources": ["tokenreviews"], "verbs": ["create"]},
        {"apiGroups": ["authorization.k8s.io"], "resources": ["subjectaccessreviews"], "verbs": ["create"]},
    ]);
    if let (true, Some(rules)) = (has_pod_certificates, rules.as_array_mut()) {
        let group = "certificates.k8s.io";
        let requests = ["podcertificaterequests"];
        rules.extend([
            json!({"apiGroups": [group], "resources": requests, "verbs": ["create", "get", "list", "watch"]}),
            json!({"apiGroups": [group], "resources": ["clustertrustbundles"], "verbs": ["get", "list", "watch"]}),
            json!({"apiGroups": [""], "resources": ["serviceaccounts"], "verbs": ["get"]}),
        ]);
    }
    grant(crate::SIMULATED_NODES_USER, crate::SIMULATED_NODES_USER, rules)
}

/// The role and binding of the controller that signs for `coracle.dev/pod-certificate`; Kubernetes has no such signer.
fn pod_certificate_signer() -> [Object; 2] {
    const GROUP: &str = "certificates.k8s.io";
    const SIGNER: [&str; 1] = ["coracle.dev/pod-certificate"];
    let rules = json!([
        {"apiGroups": [GROUP], "resources": ["podcertificaterequests"], "verbs": ["get", "list", "watch"]},
        {"apiGroups": [GROUP], "resources": ["podcertificaterequests/status"], "verbs": ["patch", "update"]},
        {"apiGroups": [GROUP], "resources": ["clustertrustbundles"], "verbs": ["create", "get", "update"]},
        {"apiGroups": [GROUP], "resources": ["signers"], "resourceNames": SIGNER, "verbs": ["attest", "sign"]},
    ]);
    let user = "system:serviceaccount:kube-system:podcertificaterequest-signer";
    grant("system:coracle:podcertificaterequest-signer", user, rules)
}

/// A ClusterRole with these rules, bound to a user.
fn grant(name: &str, user: &str, rules: Value) -> [Object; 2] {
    const GROUP: &str = "rbac.authorization.k8s.io";
    let mut role = Object::of_kind(&GroupVersionKind::new(GROUP, "v1", "ClusterRole"));
    role.set("metadata.name", name);
    role.set("rules", rules);
    let mut binding = Object::of_kind(&GroupVersionKind::new(GROUP, "v1", "ClusterRoleBinding"));
    binding.set("metadata.name", name);
    binding.set("roleRef", json!({"apiGroup": GROUP, "kind": "ClusterRole", "name": name}));
    binding.set("subjects", json!([{"apiGroup": GROUP, "kind": "User", "name": user}]));
    [role, binding]
}

fn namespace(name: &str) -> Object {
    let mut object = Object::of_kind(&GroupVersionKind::new("", "v1", "Namespace"));
    object.set("metadata", json!({"name": name}));
    object
}
