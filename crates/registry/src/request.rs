use std::collections::BTreeSet;
use std::sync::Arc;

use coracle_ambient::{Ambient, Random, Timestamp};
use coracle_journal::EntryId;
use coracle_meta::{GroupResource, GroupVersionResource, ResourcePath, Status};
use parking_lot::Mutex;

use crate::{AsOf, AuditNotes, User};

/// The verb of a request. In Kubernetes: the verbs of `authorizer.Attributes`.
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
    /// The verb in RBAC rules and discovery.
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

/// How unknown fields are handled. In Kubernetes: `?fieldValidation=`.
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
///
/// It keeps what a response can carry: 4,096 characters. If there are more, each warning is truncated to 256
/// characters, up to 4,096 in total. In Kubernetes: `filters.WithWarningRecorder`.
#[derive(Clone, Debug, Default)]
pub struct Warnings {
    recorded: Arc<Mutex<Recorded>>,
}

/// The maximum number of characters of warnings in a response.
const MOST_SIGNS: usize = 4 * 1024;
/// The maximum number of characters of each warning if there are more.
const MOST_OF_EACH: usize = 256;

#[derive(Debug, Default)]
struct Recorded {
    seen: BTreeSet<String>,
    in_order: Vec<String>,
    /// The number of characters so far.
    signs: usize,
    /// Whether each warning is truncated.
    is_cut: bool,
}

impl Warnings {
    /// Adds a warning, unless it is a duplicate, empty, invalid in a header, or the limit is reached.
    pub fn add(&self, text: impl Into<String>) {
        self.recorded.lock().add(text.into());
    }

    /// Whether the limit is reached.
    pub fn is_full(&self) -> bool {
        self.recorded.lock().is_full()
    }

    /// The warnings in order.
    pub fn texts(&self) -> Vec<String> {
        self.recorded.lock().in_order.clone()
    }
}

impl Recorded {
    fn is_full(&self) -> bool {
        self.is_cut && self.signs >= MOST_SIGNS
    }

    fn add(&mut self, text: String) {
        if text.is_empty() || self.is_full() || text.contains(char::is_control) || !self.seen.insert(text.clone()) {
            return;
        }
        let signs = text.chars().count();
        self.in_order.push(text);
        if !self.is_cut && self.signs + signs <= MOST_SIGNS {
            self.signs += signs;
            return;
        }
        // The first warning beyond the limit truncates all earlier ones, too.
        let from = if std::mem::replace(&mut self.is_cut, true) { self.in_order.len() - 1 } else { 0 };
        if from == 0 {
            self.signs = 0;
        }
        for text in &mut self.in_order[from..] {
            if let Some((end, _)) = text.char_indices().nth(MOST_OF_EACH) {
                text.truncate(end);
            }
            self.signs += text.chars().count();
        }
    }
}

/// The client's own write options; empty if it relies on the defaults.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriteParameters {
    /// `?fieldManager=`
    pub field_manager: String,
    /// `?fieldValidation=`
    pub field_validation: String,
}

/// One request after authentication: user, verb, object and options.
///
/// In Kubernetes: `RequestInfo`, `admission.Attributes` and the options of the verbs, in one.
#[derive(Clone, Debug)]
pub struct Request {
    /// The user.
    pub user: Arc<User>,
    /// The verb.
    pub verb: Verb,
    /// The path of the object. Clones of the request share it.
    pub at: Arc<ResourcePath>,
    /// Whether it is a dry run (`?dryRun=All`).
    pub dry_run: bool,
    /// The field manager: `?fieldManager=`, or the user agent up to its first slash.
    pub field_manager: String,
    /// How unknown fields are handled.
    pub field_validation: FieldValidation,
    /// The client's own values of both, for webhooks.
    pub said: WriteParameters,
    /// The request's id in the audit log.
    pub audit_id: String,
    /// The `User-Agent`.
    pub user_agent: String,
    /// The entry of this request in the event log, which is the cause of its effects.
    pub cause: Option<EntryId>,
    /// Whether a read is answered as of an older revision.
    pub as_of: Option<AsOf>,
    /// The time of the request.
    pub now: Timestamp,
    /// The warnings for the client.
    pub warnings: Warnings,
    /// The notes for the audit log.
    pub audit: AuditNotes,
}

impl Request {
    /// A request of the API server itself for `resource`, without options.
    pub fn new(verb: Verb, resource: GroupVersionResource, now: Timestamp) -> Self {
        Self {
            user: Arc::new(User::system()),
            verb,
            at: Arc::new(ResourcePath::new(resource)),
            dry_run: false,
            field_manager: "kube-apiserver".to_owned(),
            field_validation: FieldValidation::default(),
            said: WriteParameters::default(),
            audit_id: String::new(),
            user_agent: String::new(),
            cause: None,
            as_of: None,
            now,
            warnings: Warnings::default(),
            audit: AuditNotes::default(),
        }
    }

    /// A request with the same user, time, cause and dry run for another object, as a part of a verb.
    #[must_use]
    pub fn about(&self, verb: Verb, resource: GroupVersionResource, namespace: &str, name: &str) -> Self {
        let at = ResourcePath::new(resource).object(namespace, name);
        Self { verb, at: Arc::new(at), as_of: None, ..self.clone() }
    }

    /// The request for the object `name` in `namespace`.
    #[must_use]
    pub fn object(mut self, namespace: &str, name: &str) -> Self {
        let at = Arc::make_mut(&mut self.at);
        namespace.clone_into(&mut at.namespace);
        name.clone_into(&mut at.name);
        self
    }

    /// The request for a subresource.
    #[must_use]
    pub fn subresource(mut self, subresource: &str) -> Self {
        subresource.clone_into(&mut Arc::make_mut(&mut self.at).subresource);
        self
    }

    /// The random numbers for something that this request makes: `purpose` says what, and `base` is the name that it is
    /// for, or its prefix.
    ///
    /// With a seed they depend only on the user, the program (the user agent up to its first slash), the resource, the
    /// namespace, and the number of earlier draws for exactly these: requests of others change no uid and no name.
    pub fn random(&self, ambient: &Ambient, purpose: &str, base: &str) -> Random {
        let program = self.user_agent.split('/').next().unwrap_or_default();
        let ResourcePath { resource, namespace, subresource, .. } = &*self.at;
        let key =
            [purpose, &self.user.name, program, &resource.group, &resource.resource, subresource, namespace, base];
        ambient.random.keyed(&key)
    }

    /// 404 for the object.
    pub fn not_found(&self) -> Status {
        Status::not_found(&self.group_resource(), &self.at.name)
    }

    /// The resource without its version, for messages.
    pub fn group_resource(&self) -> GroupResource {
        self.at.group_resource()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(texts: impl IntoIterator<Item = String>) -> Vec<String> {
        let warnings = Warnings::default();
        texts.into_iter().for_each(|text| warnings.add(text));
        warnings.texts()
    }

    #[test]
    fn a_million_warnings_are_limited_to_the_size_of_headers() {
        let warnings = Warnings::default();
        for at in 0..1_000_000 {
            warnings.add(format!("warning {at}"));
        }
        assert!(warnings.is_full());
        let texts = warnings.texts();
        let signs: usize = texts.iter().map(String::len).sum();
        assert!((4_096..4_096 + 256).contains(&signs), "{signs}");
        assert_eq!(texts[300], "warning 300");
    }

    #[test]
    fn warnings_are_sent_once_and_whole_where_they_fit() {
        let odd = ["a\nb", "\u{7f}", "", "caf\u{e9} \\", "caf\u{e9} \\"].map(str::to_owned);
        assert_eq!(sent(odd), ["caf\u{e9} \\"]);
        assert_eq!(sent(["x".repeat(4_096)])[0].len(), 4_096);
        assert_eq!(sent([2_000, 2_096].map(|count| "\u{e9}".repeat(count))).len(), 2);
    }

    #[test]
    fn from_the_first_that_does_not_fit_on_each_is_cut() {
        let many = (0..40).map(|number| format!("{number:0>300}"));
        let cut = sent(many);
        assert_eq!((cut.len(), cut[0].len(), cut[15].len()), (16, 256, 256));
        let lengths: Vec<_> = sent(["a".repeat(4_096), "b".to_owned()]).iter().map(String::len).collect();
        assert_eq!(lengths, [256, 1]);
    }
}
