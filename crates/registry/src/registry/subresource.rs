use std::sync::Arc;

use async_trait::async_trait;
use coracle_ambient::Timestamp;
use coracle_meta::{FieldError, Object, Status};
use serde_json::Value;

use crate::{BodyKind, Column, Registry, Request, Verb};

/// A part of an object with a path of its own, such as `pods/binding`. `status` is not listed: the row says it.
#[derive(Clone)]
pub enum Subresource {
    /// The object itself under another rule of what may change: `ephemeralcontainers`, `resize`, `approval`, `finalize`.
    View(Arc<dyn View>),
    /// Another kind that shows a part of the object, and writes it: `scale`.
    Projection(Arc<dyn Projection>),
    /// Something that is asked for by creating a body: `binding`, `eviction`, `token`.
    Action(Arc<dyn Action>),
    /// A connection to somewhere else: `log`, `exec`, `attach`, `portforward`, `proxy`.
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

    /// The verbs that it serves, as discovery lists them.
    pub fn verbs(&self) -> Vec<Verb> {
        match self {
            Self::View(view) => view.verbs().to_vec(),
            Self::Projection(_) => vec![Verb::Get, Verb::Patch, Verb::Update],
            Self::Action(_) => vec![Verb::Create],
            Self::Connect(connect) => connect.verbs().to_vec(),
        }
    }

    /// The kind of its bodies, where they are not objects of the parent's kind.
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

/// The object itself, under another rule of what may change.
pub trait View: Send + Sync + 'static {
    /// The last step of the path.
    fn name(&self) -> &str;

    /// The verbs served.
    fn verbs(&self) -> &[Verb] {
        &[Verb::Get, Verb::Patch, Verb::Update]
    }

    /// Restores what an update through this path may not change.
    fn prepare_update(&self, new: &mut Object, old: &Object, request: &Request);

    /// What is wrong with the change.
    fn validate_update(&self, _new: &Object, _old: &Object) -> Vec<FieldError> {
        Vec::new()
    }

    /// What the client should know.
    fn warnings(&self, _new: &Object, _old: &Object) -> Vec<String> {
        Vec::new()
    }

    /// The fields that a write through this path resets, and does not own.
    fn reset_fields(&self) -> Vec<Vec<String>> {
        Vec::new()
    }

    /// The only fields that a write through this path can own, as patterns in which `*` stands for any step.
    fn only_fields(&self) -> Option<Vec<Vec<String>>> {
        None
    }
}

/// Another kind that shows a part of an object, and writes it.
pub trait Projection: Send + Sync + 'static {
    /// The last step of the path.
    fn name(&self) -> &str;

    /// The kind of the body.
    fn body(&self) -> BodyKind;

    /// Shows the part of `object`, with its metadata (name, namespace, uid, resource version, creation time).
    fn show(&self, object: &Object) -> Result<Object, Status>;

    /// What is wrong with a body.
    fn validate(&self, _body: &Object) -> Vec<FieldError> {
        Vec::new()
    }

    /// Writes the part back into the object.
    fn write(&self, object: &mut Object, body: &Object) -> Result<(), Status>;

    /// The columns of its table.
    fn columns(&self) -> Vec<Column>;

    /// The cells of its row.
    fn cells(&self, shown: &Object, now: Timestamp) -> Vec<Value>;

    /// Where the object has what `spec.replicas` of the body is, so that its owner is known on both sides.
    fn replicas_path(&self) -> Vec<String> {
        vec!["spec".to_owned(), "replicas".to_owned()]
    }
}

/// Something that is asked for by creating a body.
#[async_trait]
pub trait Action: Send + Sync + 'static {
    /// The last step of the path.
    fn name(&self) -> &str;

    /// The kind of the body.
    fn body(&self) -> BodyKind;

    /// Whether the body's uid says which object is meant, and so is left in it.
    /// In Kubernetes: `PreserveRequestObjectMetaSystemFieldsOnSubresourceCreate`.
    fn keeps_system_fields(&self) -> bool {
        false
    }

    /// Fills in the defaults of a body.
    fn set_defaults(&self, _body: &mut Object) {}

    /// Why a body cannot be about the object that the request names. It is asked before the plug-ins that validate.
    ///
    /// # Errors
    /// What the client gets: the name in the body is not that in the URL, say.
    fn check(&self, _request: &Request, _body: &Object) -> Result<(), Status> {
        Ok(())
    }

    /// Does it to the object that the request names; answers with what the client gets (an object or a `Status`).
    /// `body` has been decoded, checked and admitted, and its namespace is the request's.
    async fn create(&self, registry: &Registry, request: &Request, body: Object) -> Result<Object, Status>;
}

/// Where a connection goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    /// The node whose API it goes to.
    pub node: String,
    /// Path and query there.
    pub path_and_query: String,
    /// Whether it carries several streams in both directions ([`coracle_meta::channels`]).
    pub is_stream: bool,
}

/// A connection to somewhere else.
#[async_trait]
pub trait Connect: Send + Sync + 'static {
    /// The last step of the path.
    fn name(&self) -> &str;

    /// The verbs served: get for `log`; get and create for `exec`.
    fn verbs(&self) -> &[Verb] {
        &[Verb::Get]
    }

    /// What plug-ins are shown of the connection before it is made, decoded from `path` and `query`; `None` where they are
    /// not asked (`log`). In Kubernetes: `Connecter.NewConnectOptions`.
    fn options(&self, _request: &Request, _path: &str, _query: &[(String, String)]) -> Option<Value> {
        None
    }

    /// Where the connection goes. `query` is that of the request, decoded; `path` is what follows the subresource
    /// (for `proxy`).
    async fn connect(
        &self,
        registry: &Registry,
        request: &Request,
        path: &str,
        query: &[(String, String)],
    ) -> Result<Destination, Status>;
}

/// A kind that is computed when asked and not stored: reviews.
#[async_trait]
pub trait Computed: Send + Sync + 'static {
    /// Answers a create.
    async fn create(&self, registry: &Registry, request: &Request, body: Object) -> Result<Object, Status>;

    /// Answers a get, where the row has one.
    async fn get(&self, _registry: &Registry, request: &Request) -> Result<Object, Status> {
        Err(Status::method_not_supported(&request.group_resource(), "get"))
    }

    /// Answers a list, where the row has one.
    async fn list(&self, _registry: &Registry, request: &Request) -> Result<Vec<Object>, Status> {
        Err(Status::method_not_supported(&request.group_resource(), "list"))
    }
}
