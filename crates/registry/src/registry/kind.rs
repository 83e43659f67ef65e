use std::sync::Arc;

use coracle_meta::{GroupVersionKind, GroupVersionResource, Object, ObjectKey, Scope, Status};
use coracle_schema::decode::{self, Decoded};
use coracle_schema::{KindSchema, ResourceRow};
use coracle_storage::Resource;
use futures_util::future::BoxFuture;
use serde_json::Value;

use super::conversion::Conversions;
use super::verdicts::Verdicts;
use crate::{Computed, KindSpec, MemoryForm, Offers, Planned, Questions, Request, Strategy, Subresource};

/// A kind in one served version: its strategy, and values that are looked up once.
#[derive(Clone)]
pub struct Kind {
    strategy: Arc<dyn Strategy>,
    hub: Option<Arc<dyn Strategy>>,
    pub(crate) store: Arc<Resource>,
    pub(crate) subresources: Vec<Subresource>,
    pub(crate) computed: Option<Arc<dyn Computed>>,
    /// The conversions of the current request, if a webhook converts objects.
    pub(crate) conversions: Option<Arc<Conversions>>,
    /// The verdicts of costly rules for the current request, if the pool evaluates them.
    pub(crate) verdicts: Option<Arc<Verdicts>>,
}

impl std::fmt::Debug for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kind").field("kind", self.gvk()).finish_non_exhaustive()
    }
}

impl Kind {
    pub(crate) fn new(strategy: Arc<dyn Strategy>, hub: Option<Arc<dyn Strategy>>, store: Arc<Resource>) -> Self {
        let subresources = strategy.spec().subresources.clone();
        Self { strategy, hub, store, subresources, computed: None, conversions: None, verdicts: None }
    }

    /// The kind for one request, which remembers its conversions and, with `asks_rules`, the verdicts of costly rules.
    pub(crate) fn for_request(self: Arc<Self>, asks_rules: bool) -> Arc<Self> {
        let webhook = self.strategy.conversion_webhook();
        let asks_rules = asks_rules && self.strategy.has_rules();
        if webhook.is_none() && !asks_rules {
            return self;
        }
        let conversions = webhook.map(|webhook| Arc::new(Conversions::new(Arc::clone(webhook))));
        let verdicts = asks_rules.then(Arc::default);
        Arc::new(Self { conversions, verdicts, ..Self::clone(&self) })
    }

    /// The same kind in another version, for the same request.
    pub(crate) fn beside(self: Arc<Self>, other: &Self) -> Arc<Self> {
        match &other.conversions {
            Some(conversions) => Arc::new(Self { conversions: Some(Arc::clone(conversions)), ..Self::clone(&self) }),
            None => self,
        }
    }

    /// Whether code that decides about objects of this kind may need answers, and so runs again.
    pub(crate) fn may_ask(&self) -> bool {
        self.conversions.is_some() || self.verdicts.is_some()
    }

    /// The object for one run of code that may need answers: a copy if the code may run again.
    pub(crate) fn for_run(&self, object: &mut Object) -> Object {
        if self.may_ask() { object.clone() } else { std::mem::take(object) }
    }

    /// Gets the answers, and remembers them for this request.
    ///
    /// # Errors
    /// The refusal of the conversion webhook; 429 if the expression pool has no room.
    pub(crate) fn ask<'a>(
        &'a self,
        registry: &'a crate::Registry,
        request: &'a Request,
        questions: Questions,
    ) -> BoxFuture<'a, Result<(), Status>> {
        // Boxed, so that its code is compiled once, and not in each crate that awaits it.
        Box::pin(async move {
            if let Some(conversions) = &self.conversions {
                conversions.ask(registry, request, questions.conversions).await?;
            }
            if let (Some(verdicts), Some(check)) = (&self.verdicts, questions.rules) {
                verdicts.ask(registry, Arc::clone(self.ruling()), *check).await?;
            }
            Ok(())
        })
    }

    /// The strategy of the served version: defaults, conversion, table.
    pub fn strategy(&self) -> &Arc<dyn Strategy> {
        &self.strategy
    }

    /// The strategy of the stored version, whose rules apply; for most kinds the same.
    pub fn hub(&self) -> &Arc<dyn Strategy> {
        self.hub.as_ref().unwrap_or(&self.strategy)
    }

    /// Whether the served version is not the stored one.
    pub fn is_converted(&self) -> bool {
        self.hub.is_some()
    }

    /// The description of the served version.
    pub fn spec(&self) -> &KindSpec {
        self.strategy.spec()
    }

    /// The schema.
    pub fn schema(&self) -> &KindSchema {
        &self.spec().schema
    }

    /// What the kind offers to clients.
    pub fn offers(&self) -> &Offers {
        &self.spec().offers
    }

    /// Decodes a JSON document as an object of the kind, in the served version. Unknown fields are dropped and
    /// reported.
    ///
    /// # Errors
    /// The decoding error, in Go's words.
    pub fn decode_value(&self, value: Value) -> Result<Decoded, String> {
        decode::decode_value(value, self.schema())
    }

    /// An object in the form in which it is stored, as Kubernetes prints it; `before` is the stored one. The object is
    /// then checked, if the kind is built in: the schemas of other kinds may change.
    pub(crate) fn normalize(&self, object: Object, before: Option<&Object>) -> Planned<Object> {
        let hub = self.hub().spec();
        match hub.offers.form {
            MemoryForm::Structs => {
                let known = before.filter(|before| before.is_checked());
                let normal = decode::normalize_change(object, known, &hub.schema).map_err(Status::internal)?;
                Ok(normal.object.checked())
            }
            MemoryForm::Maps => self.to_stored(object),
        }
    }

    /// The row of the served version.
    pub fn row(&self) -> &ResourceRow {
        &self.spec().row
    }

    /// Group, version and kind.
    pub fn gvk(&self) -> &GroupVersionKind {
        &self.row().kind
    }

    /// Group, version and plural.
    pub fn gvr(&self) -> GroupVersionResource {
        self.row().resource()
    }

    /// The key of the object of a request.
    pub(crate) fn key(&self, request: &Request) -> ObjectKey {
        ObjectKey::new(if self.is_namespaced() { request.at.namespace.as_str() } else { "" }, request.at.name.as_str())
    }

    /// The key in the store of the object of a request.
    pub fn store_key(&self, request: &Request) -> String {
        String::from_utf8_lossy(&self.store.key(&self.key(request))).into_owned()
    }

    /// Whether objects are namespaced.
    pub fn is_namespaced(&self) -> bool {
        self.row().scope == Scope::Namespaced
    }

    /// Whether the row lists `verb`.
    pub fn serves(&self, verb: crate::Verb) -> bool {
        self.row().verbs.iter().any(|own| own == verb.as_str())
    }

    /// The subresource called `name`, other than `status`.
    pub fn subresource(&self, name: &str) -> Option<&Subresource> {
        self.subresources.iter().find(|subresource| subresource.name() == name)
    }

    /// The handler of a computed kind, if the kind is not stored.
    pub(crate) fn computed(&self) -> Option<&dyn Computed> {
        self.computed.as_deref().or(self.hub().spec().computed.as_deref())
    }

    /// Whether there is a `/status`.
    pub fn has_status(&self) -> bool {
        self.row().subresource("status").is_some()
    }
}
