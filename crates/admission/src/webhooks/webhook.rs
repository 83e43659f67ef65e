use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use coracle_expression::{Error, Expression, admission_environment};
use coracle_meta::fields::Fields;
use coracle_meta::{GroupVersionResource, Object};
use coracle_registry::{ClientConfig, Lists};
use serde_json::Value;

use crate::matching::Matching;

/// A webhook of a configuration, ready to be called.
pub(super) struct Webhook {
    pub(super) name: String,
    /// Unique among all webhooks: its configuration, its name, and its index if the name is a duplicate.
    pub(super) id: String,
    pub(super) matching: Matching,
    pub(super) conditions: Vec<Result<Expression, Error>>,
    /// Whether the failure policy is Ignore.
    pub(super) ignores_failures: bool,
    /// Whether it can be called for a dry run.
    pub(super) allows_dry_run: bool,
    /// Whether it must be called again if the object changes after its call.
    pub(super) is_reinvoked: bool,
    /// The version of `AdmissionReview` that both sides support.
    pub(super) review_version: Option<&'static str>,
    pub(super) config: Result<ClientConfig, &'static str>,
    pub(super) timeout: Duration,
}

/// All webhooks of the configurations of a resource, in the order of calls.
pub(super) fn webhooks(lists: &Lists, configurations: &GroupVersionResource) -> Vec<Arc<Webhook>> {
    let mut configurations: Vec<_> = lists.of(configurations).collect();
    configurations.sort_by(|one, other| one.name().cmp(other.name()));
    configurations.iter().flat_map(|configuration| of_configuration(configuration)).collect()
}

fn of_configuration(configuration: &Object) -> Vec<Arc<Webhook>> {
    let mut all: Vec<Arc<Webhook>> = Vec::new();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for value in configuration.list("webhooks") {
        let count = counts.entry(value.text("name")).or_default();
        let same_name = std::mem::replace(count, *count + 1);
        let id = format!("{}/{}/{same_name}", configuration.name(), value.text("name"));
        all.push(Arc::new(Webhook::read(value, id)));
    }
    all
}

impl Webhook {
    fn read(value: &Value, id: String) -> Self {
        // The first of the webhook's own list counts, not the newest.
        let mut wanted = value.list("admissionReviewVersions").iter().filter_map(Value::as_str);
        let review_version = wanted.find_map(|version| ["v1", "v1beta1"].into_iter().find(|known| *known == version));
        let conditions = value.list("matchConditions").iter();
        let environment = admission_environment(false, true, None);
        Self {
            name: value.text("name").to_owned(),
            id,
            matching: Matching::of_webhook(value),
            conditions: conditions
                .map(|condition| Expression::compile_in(condition.text("expression"), &environment))
                .collect(),
            ignores_failures: value.text("failurePolicy") == "Ignore",
            allows_dry_run: ["None", "NoneOnDryRun"].contains(&value.text("sideEffects")),
            is_reinvoked: value.text("reinvocationPolicy") == "IfNeeded",
            review_version,
            config: ClientConfig::read(value.at("clientConfig")),
            timeout: Duration::from_secs(value.at("timeoutSeconds").as_u64().unwrap_or(10)),
        }
    }
}
