use std::sync::Arc;

use coracle_ambient::Timestamp;
use coracle_journal::EntryId;
use coracle_meta::{GroupResource, GroupVersionResource, ResourcePath, Status};
use parking_lot::Mutex;

use crate::{AuditNotes, User};

/// What a request asks to be done. In Kubernetes: the verbs of `authorizer.Attributes`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verb {
    /// `get`
    Get,
    /// `list`
    List,
    /// `watch`
    Watch,
    /// `create`
    Create,
    /// `update`
    Update,
    /// `patch`
    Patch,
    /// `delete`
    Delete,
    /// `deletecollection`
    DeleteCollection,
}

impl Verb {
    /// The word, as RBAC rules and discovery spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
        }
    }
}

/// What to do about fields that nobody knows. In Kubernetes: `?fieldValidation=`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FieldValidation {
    /// Drop them silently.
    Ignore,
    /// Drop them and warn.
    #[default]
    Warn,
    /// Refuse the request.
    Strict,
}

/// The sink of the `Warning` headers of one request; clones share it.
#[derive(Clone, Debug, Default)]
pub struct Warnings {
    texts: Arc<Mutex<Vec<String>>>,
}

impl Warnings {
    /// Adds a warning, unless the same one is there already.
    pub fn add(&self, text: impl Into<String>) {
        let text = text.into();
        let mut texts = self.texts.lock();
        if !texts.contains(&text) {
            texts.push(text);
        }
    }

    /// The warnings so far, in order.
    pub fn texts(&self) -> Vec<String> {
        self.texts.lock().clone()
    }
}

/// What a client has said of how it writes; empty where it leaves that to the server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// `?fieldManager=`
    pub field_manager: String,
    /// `?fieldValidation=`
    pub field_validation: String,
}

/// One request, after authentication: who asks for what, and how.
///
/// In Kubernetes: `RequestInfo`, `admission.Attributes` and the options of the verbs, in one.
#[derive(Clone, Debug)]
pub struct Request {
    /// Who is asking.
    pub user: Arc<User>,
    /// For what.
    pub verb: Verb,
    /// Of what. Clones of the request share it.
    pub at: Arc<ResourcePath>,
    /// Whether everything happens but the write (`?dryRun=All`).
    pub dry_run: bool,
    /// Under which name fields are owned: `?fieldManager=`, or the user agent up to its first slash.
    pub field_manager: String,
    /// What to do about unknown fields.
    pub field_validation: FieldValidation,
    /// What the client has said of both: webhooks are shown that.
    pub said: Said,
    /// The request's id in the audit log.
    pub audit_id: String,
    /// The `User-Agent`.
    pub user_agent: String,
    /// The log entry of this request, to be named as the cause of what it does.
    pub cause: Option<EntryId>,
    /// When the request came.
    pub now: Timestamp,
    /// Where warnings go.
    pub warnings: Warnings,
    /// What is noted for the audit log.
    pub audit: AuditNotes,
}

impl Request {
    /// A request of the server itself about `resource`, with nothing optional set.
    pub fn new(verb: Verb, resource: GroupVersionResource, now: Timestamp) -> Self {
        Self {
            user: Arc::new(User::system()),
            verb,
            at: Arc::new(ResourcePath::new(resource)),
            dry_run: false,
            field_manager: "kube-apiserver".to_owned(),
            field_validation: FieldValidation::default(),
            said: Said::default(),
            audit_id: String::new(),
            user_agent: String::new(),
            cause: None,
            now,
            warnings: Warnings::default(),
            audit: AuditNotes::default(),
        }
    }

    /// The same asker, time, cause and dry run, about something else: what a verb asks on the way.
    #[must_use]
    pub fn about(&self, verb: Verb, resource: GroupVersionResource, namespace: &str, name: &str) -> Self {
        let at = ResourcePath::new(resource).object(namespace, name);
        Self { verb, at: Arc::new(at), ..self.clone() }
    }

    /// Of the object called `name` in `namespace`.
    #[must_use]
    pub fn object(mut self, namespace: &str, name: &str) -> Self {
        let at = Arc::make_mut(&mut self.at);
        namespace.clone_into(&mut at.namespace);
        name.clone_into(&mut at.name);
        self
    }

    /// Of a part of the object.
    #[must_use]
    pub fn subresource(mut self, subresource: &str) -> Self {
        subresource.clone_into(&mut Arc::make_mut(&mut self.at).subresource);
        self
    }

    /// 404 about the object.
    pub fn not_found(&self) -> Status {
        Status::not_found(&self.group_resource(), &self.at.name)
    }

    /// The resource without its version, as messages name it.
    pub fn group_resource(&self) -> GroupResource {
        self.at.group_resource()
    }
}
