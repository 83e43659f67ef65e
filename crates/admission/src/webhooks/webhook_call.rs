use std::sync::Arc;

use bytes::Bytes;
use coracle_expression::{
    Allowance, COST_OF_MATCH_CONDITIONS, COST_OF_ONE_EXPRESSION, Session, Variables, request_schema,
};
use coracle_meta::{Object, Status, names};
use coracle_registry::{OutgoingCall, Review, Subresource, base_name};
use coracle_schema::decode::decode_patched;
use serde_json::Value;

use super::review::{self, Answered, Response};
use super::verdict::WebhookFailure;
use super::webhook::Webhook;
use crate::authorization::Answers;
use crate::refusal::forbidden;
use crate::shown::{Shown, is_whole};

/// A call of a webhook for a request, in the version that the webhook matches.
pub(super) struct WebhookCall {
    pub(super) webhook: Arc<Webhook>,
    shown: Shown,
}

impl WebhookCall {
    /// The call of a webhook for the request; `None` if the webhook does not match.
    ///
    /// # Errors
    /// If its match conditions fail and its failure policy is not Ignore; if the objects cannot be converted for it.
    pub(super) async fn of(
        webhook: &Arc<Webhook>,
        review: &Review<'_>,
        namespace: Option<&Object>,
    ) -> Result<Option<Self>, Status> {
        let Some(found) = webhook.matching.found_for_webhook(review, namespace)? else { return Ok(None) };
        let shown = Shown::of(review, found).await?;
        let invocation = Self { webhook: Arc::clone(webhook), shown };
        Ok(invocation.is_wanted(review).await?.then_some(invocation))
    }

    /// Whether the webhook's match conditions are true. In Kubernetes: `matchconditions.Matcher`.
    async fn is_wanted(&self, review: &Review<'_>) -> Result<bool, Status> {
        if self.webhook.conditions.is_empty() {
            return Ok(true);
        }
        let answers = Arc::new(Answers::default());
        let Shown { object, old, request, .. } = &self.shown;
        let mut variables = Variables::default();
        variables.set("object", object);
        variables.set("oldObject", old);
        variables.set_typed("request", request, request_schema());
        answers.show(review, &mut variables);
        let here = |allowance: &Allowance| self.webhook.unmet(&variables, allowance);
        let copied = || {
            let mut variables = Variables::default();
            variables.set_owned("object", object.clone());
            variables.set_owned("oldObject", old.clone());
            variables.set_owned_typed("request", request.clone(), request_schema());
            answers.show(review, &mut variables);
            let webhook = Arc::clone(&self.webhook);
            move |allowance: &Allowance| webhook.unmet(&variables, allowance)
        };
        let outcome = answers.settled(review, here, copied).await?;
        let Some(errors) = outcome else { return Ok(false) };
        match errors.as_slice() {
            [] => Ok(true),
            _ if self.webhook.ignores_failures => Ok(false),
            [single] => Err(forbidden(review, single)),
            several => Err(forbidden(review, format!("[{}]", several.join(", ")))),
        }
    }

    /// Calls the webhook.
    pub(super) async fn call(&self, review: &Review<'_>, mutates: bool) -> Result<Response, WebhookFailure> {
        let webhook = &self.webhook;
        if review.request.dry_run && !webhook.allows_dry_run {
            let why = format!("admission webhook {:?} does not support dry run", webhook.name);
            return Err(WebhookFailure::Refusal(Status::bad_request(why)));
        }
        let Some(version) = webhook.review_version else {
            let why = "webhook does not accept known AdmissionReview versions (v1, v1beta1)";
            return Err(WebhookFailure::of_no_use(webhook, format!("could not create admission objects: {why}")));
        };
        let config = webhook
            .config
            .clone()
            .map_err(|why| WebhookFailure::of_no_use(webhook, format!("could not get REST client: {why}")))?;
        let base = review.object().or(review.old).map_or("", base_name);
        let purpose = format!("admission review {}", webhook.name);
        let uid = review.request.random(review.registry.ambient(), &purpose, base).uuid();
        let body = review::body(version, &uid, &self.shown.request, &self.shown.object, &self.shown.old);
        let call = OutgoingCall::to(config, Bytes::from(body), webhook.timeout);
        let answer = review.registry.call(review.request, &call).await;
        let answer =
            answer.map_err(|why| WebhookFailure::of_no_use(webhook, format!("failed to call webhook: {why}")))?;
        let answered = Answered::read(version, answer);
        let answered =
            answered.map_err(|why| WebhookFailure::of_no_use(webhook, format!("failed to call webhook: {why}")))?;
        let response = Response::verified(version, &uid, mutates, answered);
        let response = response
            .map_err(|why| WebhookFailure::of_no_use(webhook, format!("received invalid webhook response: {why}")))?;
        response.warnings.iter().for_each(|warning| review.request.warnings.add(warning));
        for (key, value) in &response.annotations {
            let key = format!("{}/{key}", webhook.name);
            // Kubernetes logs such a key and leaves it out.
            if key.matches('/').count() == 1 && names::qualified_name(&key).is_empty() {
                review.request.audit.annotate(key, value);
            }
        }
        if response.is_allowed { Ok(response) } else { Err(WebhookFailure::Refusal(response.refusal(&webhook.name))) }
    }

    /// The object in the request to the webhook.
    pub(super) fn object(&self) -> &Value {
        &self.shown.object
    }

    /// Decodes the patched object, in the version of the request.
    ///
    /// # Errors
    /// The decoding error, in Go's words.
    pub(super) async fn read(&self, review: &Review<'_>, patched: Value) -> Result<Object, String> {
        if !review.object().is_some_and(|object| is_whole(review, object)) {
            let part = review.kind().subresource(&review.request.at.subresource).and_then(Subresource::body);
            return match part {
                Some(body) => decode_patched(patched, &body.gvk, &body.schema).map(|decoded| decoded.object),
                None => Object::from_value(patched).map_err(|error| error.to_string()),
            };
        }
        let kind = self.shown.elsewhere.as_deref().unwrap_or(review.kind());
        let mut object = kind.decode_value(patched)?.object;
        kind.strategy().set_defaults(&mut object);
        match &self.shown.elsewhere {
            Some(elsewhere) => {
                let back = || elsewhere.convert(&object, review.kind());
                let back = review.registry.planned(review.request, review.kind(), back).await;
                back.map_err(|status| status.message)
            }
            None => Ok(object),
        }
    }
}

impl Webhook {
    /// The errors of the match conditions; `None` if one of them is false.
    fn unmet(&self, variables: &Variables<'_>, allowance: &Allowance) -> Option<Vec<String>> {
        let mut session = Session::within(variables, allowance);
        let (mut errors, mut left) = (Vec::new(), COST_OF_MATCH_CONDITIONS);
        for condition in &self.conditions {
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
}
