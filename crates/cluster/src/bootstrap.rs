use std::sync::Arc;

use coracle_admission::Configurations;
use coracle_auth::{Reconciled, reconciled};
use coracle_meta::{GroupVersionKind, Object, Status};
use coracle_registry::{DeleteOptions, GetOptions, Preconditions, Registry, Request, Verb};
use coracle_release::Release;
use coracle_resources::{API_SERVER_MANAGER, Config, create, create_if_missing};
use coracle_store::Revision;
use serde_json::{Value, json};

use crate::prepared_objects::{PreparedStep, PreparedWrites, prepared_steps};
use crate::{ApiServerOptions, Error, RuntimeConfig};

/// The system namespaces. In Kubernetes: the controller `systemnamespaces`.
const NAMESPACES: [&str; 4] = ["default", "kube-system", "kube-public", "kube-node-lease"];

/// The port of an API server without an external address.
const DEFAULT_PORT: u16 = 6443;

/// The default objects of an API server: the options from which they follow.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct DefaultObjects {
    served: RuntimeConfig,
    kinds: Config,
    port: u16,
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
    fn of(options: &ApiServerOptions, kinds: &Config) -> Self {
        Self { served: options.runtime_config.clone(), kinds: kinds.clone(), port: port(options) }
    }

    /// Those that are neither namespaces nor default roles.
    fn others(&self, release: &Release) -> Vec<Object> {
        let has_pod_certificates = release.enabled("PodCertificateRequest");
        let mut others = simulated_nodes(has_pod_certificates).to_vec();
        if has_pod_certificates {
            others.extend(pod_certificate_signer());
        }
        others.extend(coracle_resources::bootstrap(&self.kinds));
        others.push(self.kubernetes_service());
        others
    }

    fn kubernetes_service(&self) -> Object {
        coracle_resources::kubernetes_service(&self.kinds, self.port)
    }

    /// The object that depends on the options, by its plural.
    fn by_options(&self, plural: &str) -> Option<Object> {
        match plural {
            "servicecidrs" => Some(coracle_resources::service_cidr(&self.kinds)),
            "services" => Some(self.kubernetes_service()),
            _ => None,
        }
    }

    /// Creates missing ones, and reconciles the default roles and bindings.
    async fn write_missing(&self, registry: &Registry) -> Result<(), Status> {
        // `--runtime-config` may have disabled the kind.
        let is_served = |object: &&Object| {
            let kind = object.group_version_kind().unwrap_or_default();
            registry.kinds().kind(&kind).is_some()
        };
        for namespace in NAMESPACES {
            unless_unreadable(create_if_missing(registry, self::namespace(namespace)).await)?;
        }
        for role in coracle_auth::bootstrap_policy(registry.release()).iter().filter(is_served) {
            unless_unreadable(reconcile(registry, role).await)?;
        }
        for object in self.others(registry.release()).iter().filter(is_served) {
            unless_unreadable(create_if_missing(registry, object.clone()).await)?;
        }
        Ok(())
    }

    /// Writes all of them to an empty store in the form in which their creates would store them; false if another
    /// server has written one of them, or if the store has refused one. Then some may be missing.
    async fn write_prepared(&self, registry: &Registry) -> bool {
        let mut prepared = PreparedWrites::new(registry);
        let steps = prepared_steps(registry.release());
        if steps.is_empty() {
            return false;
        }
        for step in steps {
            let is_written = match step {
                PreparedStep::Create(object) => prepared.create(&object).await,
                PreparedStep::Replace(object) => prepared.replace(&object).await,
                PreparedStep::ByOptions(plural) => match self.by_options(plural) {
                    Some(object) => create_if_missing(registry, object).await.is_ok(),
                    None => false,
                },
            };
            if !is_written {
                return false;
            }
        }
        true
    }
}

/// Writes what is missing of the default objects, unless the store was kept by a cluster that wrote the same objects: it
/// continues, and is not asked for each of them.
pub(crate) async fn write(
    registry: &Registry,
    options: &ApiServerOptions,
    kinds: &Config,
    kept: Option<&Arc<DefaultObjects>>,
    is_empty: bool,
) -> Result<Arc<DefaultObjects>, Error> {
    let objects = DefaultObjects::of(options, kinds);
    if let Some(kept) = kept.filter(|kept| ***kept == objects) {
        return Ok(Arc::clone(kept));
    }
    let is_written = is_empty && are_prepared(options) && objects.write_prepared(registry).await;
    if !is_written {
        objects.write_missing(registry).await?;
    }
    Ok(Arc::new(objects))
}

/// Whether a create of a default object stores the prepared one: the served kinds, the feature gates and the admission
/// plug-ins are those of the release.
fn are_prepared(options: &ApiServerOptions) -> bool {
    options.runtime_config == RuntimeConfig::default()
        && options.release.switched().next().is_none()
        && options.enable_admission_plugins.is_empty()
        && options.disable_admission_plugins.is_empty()
        && options.admission_configurations == Configurations::default()
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
