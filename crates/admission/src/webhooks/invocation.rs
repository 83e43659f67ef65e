use std::sync::Arc;

use bytes::Bytes;
use coracle_expression::{
    COST_OF_MATCH_CONDITIONS, COST_OF_ONE_EXPRESSION, Error, Expression, Session, Variables, request_schema,
};
use coracle_meta::{GroupVersionKind, GroupVersionResource, Object, Status};
use coracle_registry::{Call, ClientConfig, Kind, Review};
use serde_json::Value;

use super::review::{self, Response};
use super::verdict::Failure;
use super::webhook::Webhook;
use crate::authorization::Answers;
use crate::matching::Found;
use crate::refusal::forbidden;
use crate::request_view::{admission_request, kind_of};

/// A webhook that is asked about a request, in the version in which it is told of it.
pub(super) struct Invocation {
    pub(super) webhook: Arc<Webhook>,
    /// The kind in whose version the objects are shown, if that is not the request's.
    elsewhere: Option<Arc<Kind>>,
    object: Value,
    old: Value,
    request: Value,
}

impl Invocation {
    /// How a webhook is asked about the request; none if it is not.
    ///
    /// # Errors
    /// If its conditions cannot be told, and it does not ignore failures; if the objects cannot be converted for it.
    pub(super) async fn of(
        webhook: &Arc<Webhook>,
        review: &Review<'_>,
        namespace: Option<&Object>,
    ) -> Result<Option<Self>, Status> {
        let Some(found) = webhook.matching.found_for_webhook(review, namespace)? else { return Ok(None) };
        let elsewhere = match found {
            Found::AsAsked => None,
            Found::Elsewhere(kind) => Some(kind),
        };
        let show = |object: Option<&Object>| match (object, &elsewhere) {
            (None, _) => Ok(Value::Null),
            (Some(object), Some(kind)) if is_whole(review, object) => {
                review.kind().convert(object, kind).map(Object::into_value)
            }
            (Some(object), _) => Ok(object.to_value()),
        };
        // Both are tried before either fails, so that one call converts both.
        let both = || {
            let (object, old) = (show(review.object()), show(review.old));
            Ok((object?, old?))
        };
        let (object, old) = review.registry.converted(review.request, review.kind(), both).await?;
        let request =
            admission_request(review, &resource(review, elsewhere.as_deref()), &kind(review, elsewhere.as_deref()));
        let invocation = Self { webhook: Arc::clone(webhook), elsewhere, object, old, request };
        Ok(invocation.is_wanted(review).await?.then_some(invocation))
    }

    /// Whether the webhook's conditions hold. In Kubernetes: `matchconditions.Matcher`.
    async fn is_wanted(&self, review: &Review<'_>) -> Result<bool, Status> {
        if self.webhook.conditions.is_empty() {
            return Ok(true);
        }
        let mut variables = Variables::default();
        variables.set("object", &self.object);
        variables.set("oldObject", &self.old);
        variables.set_typed("request", &self.request, request_schema());
        let answers = Arc::new(Answers::default());
        answers.show(review, &mut variables);
        let conditions = &self.webhook.conditions;
        let outcome = answers.settled(review, || unmet(conditions, &variables)).await;
        let Some(errors) = outcome else { return Ok(false) };
        match errors.as_slice() {
            [] => Ok(true),
            _ if self.webhook.ignores_failures => Ok(false),
            [single] => Err(forbidden(review, single)),
            several => Err(forbidden(review, format!("[{}]", several.join(", ")))),
        }
    }

    /// Asks the webhook.
    pub(super) async fn call(&self, review: &Review<'_>, mutates: bool) -> Result<Response, Failure> {
        let webhook = &self.webhook;
        if review.request.dry_run && !webhook.allows_dry_run {
            let why = format!("admission webhook {:?} does not support dry run", webhook.name);
            return Err(Failure::Refusal(Status::bad_request(why)));
        }
        let Some(version) = webhook.review_version else {
            let why = "webhook does not accept known AdmissionReview versions (v1, v1beta1)";
            return Err(Failure::of_no_use(webhook, format!("could not create admission objects: {why}")));
        };
        let ClientConfig { to, authorities } = webhook
            .config
            .clone()
            .map_err(|why| Failure::of_no_use(webhook, format!("could not get REST client: {why}")))?;
        let uid = review.registry.ambient().random.uuid();
        let body = review::body(version, &uid, &self.request, &self.object, &self.old);
        let call = Call { to, authorities, body: Bytes::from(body), timeout: webhook.timeout };
        let answer = review.registry.call(review.request, &call).await;
        let answer = answer.map_err(|why| Failure::of_no_use(webhook, format!("failed to call webhook: {why}")))?;
        let response = Response::read(version, &uid, mutates, answer);
        let response =
            response.map_err(|why| Failure::of_no_use(webhook, format!("received invalid webhook response: {why}")))?;
        response.warnings.iter().for_each(|warning| review.request.warnings.add(warning));
        for (key, value) in &response.annotations {
            review.request.audit.annotate(format!("{}/{key}", webhook.name), value);
        }
        match response.is_allowed {
            true => Ok(response),
            false => Err(Failure::Refusal(response.refusal(&webhook.name))),
        }
    }

    /// The object as the webhook was shown it.
    pub(super) fn object(&self) -> &Value {
        &self.object
    }

    /// Reads what a patch made of the object: as it is in the version of the request.
    ///
    /// # Errors
    /// What is wrong with it, in Go's words.
    pub(super) async fn read(&self, review: &Review<'_>, patched: Value) -> Result<Object, String> {
        if !review.object().is_some_and(|object| is_whole(review, object)) {
            return Object::from_value(patched).map_err(|error| error.to_string());
        }
        let kind = self.elsewhere.as_deref().unwrap_or(review.kind());
        let mut object = kind.decode_value(patched)?.object;
        kind.strategy().set_defaults(&mut object);
        match &self.elsewhere {
            Some(elsewhere) => {
                let back = || elsewhere.convert(&object, review.kind());
                let back = review.registry.converted(review.request, review.kind(), back).await;
                back.map_err(|status| status.message)
            }
            None => Ok(object),
        }
    }
}

/// Why conditions cannot be told; `None` if one of them does not hold.
fn unmet(conditions: &[Result<Expression, Error>], variables: &Variables<'_>) -> Option<Vec<String>> {
    let mut session = Session::new(variables);
    let (mut errors, mut left) = (Vec::new(), COST_OF_MATCH_CONDITIONS);
    for condition in conditions {
        let result = condition.as_ref().map_err(Clone::clone).and_then(|condition| {
            let run = session.decide(condition, COST_OF_ONE_EXPRESSION.min(left));
            left = left.saturating_sub(run.cost);
            run.result
        });
        match result {
            Ok(true) => {}
            Ok(false) => return None,
            Err(error) => errors.push(error.to_string()),
        }
    }
    Some(errors)
}

/// Whether this is an object of the request's kind, and not the body of a subresource.
fn is_whole(review: &Review<'_>, object: &Object) -> bool {
    let kind = review.kind().gvk();
    review.request.at.subresource.is_empty()
        || object.api_version() == kind.api_version() && object.text("kind") == kind.kind
}

fn resource(review: &Review<'_>, elsewhere: Option<&Kind>) -> GroupVersionResource {
    elsewhere.map_or_else(|| review.request.at.resource.clone(), Kind::gvr)
}

fn kind(review: &Review<'_>, elsewhere: Option<&Kind>) -> GroupVersionKind {
    let asked = kind_of(review);
    match elsewhere {
        Some(elsewhere) if asked == *review.kind().gvk() => elsewhere.gvk().clone(),
        _ => asked,
    }
}
