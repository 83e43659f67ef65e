use std::sync::Arc;

use async_trait::async_trait;
use coracle_ambient::Timestamp;
use coracle_meta::{FieldError, Object, Status};
use serde_json::Value;

use crate::{BodyKind, Column, Registry, Request, Verb};

/// A subresource, such as `pods/binding`. `status` is not one of these: it is in the row.
#[derive(Clone)]
pub enum Subresource {
    /// The object itself with other rules for changes: `ephemeralcontainers`, `resize`, `approval`, `finalize`.
    View(Arc<dyn View>),
    /// Another kind that represents a part of the object: `scale`.
    Projection(Arc<dyn Projection>),
    /// An action that is started by creating a body: `binding`, `eviction`, `token`.
    Action(Arc<dyn Action>),
    /// A connection: `log`, `exec`, `attach`, `portforward`, `proxy`.
    Connect(Arc<dyn Connect>),
}

impl Subresource {
    /// The last step of the path.
    pub fn name(&self) -> &str {
        match self {
            Self::View(view) => view.name(),
            Self::Projection(projection) => projection.name(),
            Self::Action(action) => action.name(),
            Self::Connect(connect) => connect.name(),
        }
    }

    /// The served verbs, as in discovery.
    pub fn verbs(&self) -> Vec<Verb> {
        match self {
            Self::View(view) => view.verbs().to_vec(),
            Self::Projection(_) => vec![Verb::Get, Verb::Patch, Verb::Update],
            Self::Action(_) => vec![Verb::Create],
            Self::Connect(connect) => connect.verbs().to_vec(),
        }
    }

    /// The kind of its bodies, if they are not objects of the parent's kind.
    pub fn body(&self) -> Option<BodyKind> {
        match self {
            Self::Projection(projection) => Some(projection.body()),
            Self::Action(action) => Some(action.body()),
            Self::View(_) | Self::Connect(_) => None,
        }
    }
}

impl std::fmt::Debug for Subresource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Subresource").field(&self.name()).finish()
    }
}

/// The object itself, with other rules for changes.
pub trait View: Send + Sync + 'static {
    /// The last step of the path.
    fn name(&self) -> &str;

    /// The verbs served.
    fn verbs(&self) -> &[Verb] {
        &[Verb::Get, Verb::Patch, Verb::Update]
    }

    /// Restores the fields that an update through this path cannot change.
    fn prepare_update(&self, new: &mut Object, old: &Object, request: &Request);

    /// The errors of the change.
    fn validate_update(&self, _new: &Object, _old: &Object) -> Vec<FieldError> {
        Vec::new()
    }

    /// The warnings for the client.
    fn warnings(&self, _new: &Object, _old: &Object) -> Vec<String> {
        Vec::new()
    }

    /// The fields that a write through this path resets and does not own.
    fn reset_fields(&self) -> Vec<Vec<String>> {
        Vec::new()
    }

    /// The only fields that a write through this path can own, as patterns in which `*` matches any step.
    fn only_fields(&self) -> Option<Vec<Vec<String>>> {
        None
    }
}

/// Another kind that represents a part of an object.
pub trait Projection: Send + Sync + 'static {
    /// The last step of the path.
    fn name(&self) -> &str;

    /// The kind of the body.
    fn body(&self) -> BodyKind;

    /// The part of `object`, with its metadata (name, namespace, uid, resource version, creation time).
    fn show(&self, object: &Object) -> Result<Object, Status>;

    /// The errors of a body.
    fn validate(&self, _body: &Object) -> Vec<FieldError> {
        Vec::new()
    }

    /// Writes the part back into the object.
    fn write(&self, object: &mut Object, body: &Object) -> Result<(), Status>;

    /// The columns of its table.
    fn columns(&self) -> Vec<Column>;

    /// The cells of its row.
    fn cells(&self, shown: &Object, now: Timestamp) -> Vec<Value>;

    /// The path in the object of `spec.replicas` in the body, so that both have the same owner.
    fn replicas_path(&self) -> Vec<String> {
        vec!["spec".to_owned(), "replicas".to_owned()]
    }
}

/// An action that is started by creating a body.
#[async_trait]
pub trait Action: Send + Sync + 'static {
    /// The last step of the path.
    fn name(&self) -> &str;

    /// The kind of the body.
    fn body(&self) -> BodyKind;

    /// Whether the body keeps its uid, because that identifies the object.
    /// In Kubernetes: `PreserveRequestObjectMetaSystemFieldsOnSubresourceCreate`.
    fn keeps_system_fields(&self) -> bool {
        false
    }

    /// Sets the defaults of a body.
    fn set_defaults(&self, _body: &mut Object) {}

    /// Checks whether a body matches the object of the request. Called before validating plug-ins.
    ///
    /// # Errors
    /// The error for the client, for example if the name in the body is not that in the URL.
    fn check(&self, _request: &Request, _body: &Object) -> Result<(), Status> {
        Ok(())
    }

    /// Runs the action on the object of the request; returns the response (an object or a `Status`). `body` has been
    /// decoded, checked and admitted, and its namespace is the request's.
    async fn create(&self, registry: &Registry, request: &Request, body: Object) -> Result<Object, Status>;
}

/// The destination of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    /// The node.
    pub node: String,
    /// Path and query of the kubelet API.
    pub path_and_query: String,
    /// Whether it has several streams in both directions ([`coracle_meta::channels`]).
    pub is_stream: bool,
}

/// A connection.
#[async_trait]
pub trait Connect: Send + Sync + 'static {
    /// The last step of the path.
    fn name(&self) -> &str;

    /// The served verbs: get for `log`; get and create for `exec`.
    fn verbs(&self) -> &[Verb] {
        &[Verb::Get]
    }

    /// The options of the connection for plug-ins, decoded from `path` and `query`; `None` if plug-ins are not called
    /// (`log`). In Kubernetes: `Connecter.NewConnectOptions`.
    fn options(&self, _request: &Request, _path: &str, _query: &[(String, String)]) -> Option<Value> {
        None
    }

    /// The destination of the connection. `query` is that of the request, decoded; `path` is the part after the
    /// subresource (for `proxy`).
    async fn connect(
        &self,
        registry: &Registry,
        request: &Request,
        path: &str,
        query: &[(String, String)],
    ) -> Result<Destination, Status>;
}

/// A kind that is computed on request and not stored: reviews.
#[async_trait]
pub trait Computed: Send + Sync + 'static {
    /// Serves a create.
    async fn create(&self, registry: &Registry, request: &Request, body: Object) -> Result<Object, Status>;

    /// Serves a get, if the row has it.
    async fn get(&self, _registry: &Registry, request: &Request) -> Result<Object, Status> {
        Err(Status::method_not_supported(&request.group_resource(), "get"))
    }

    /// Serves a list, if the row has it.
    async fn list(&self, _registry: &Registry, request: &Request) -> Result<Vec<Object>, Status> {
        Err(Status::method_not_supported(&request.group_resource(), "list"))
    }
}
