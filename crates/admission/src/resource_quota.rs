use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use coracle_api::pod_resources::{Amounts, amounts};
use coracle_api::quota_usage::{is_in_scope, tracks, unsaid, usage};
use coracle_meta::fields::Fields;
use coracle_meta::{GroupResource, Object, Quantity, Status};
use coracle_registry::{Admission, Operation, Request, Review, Verb};
use serde_json::Value;

use crate::lookup::{core, list, own};
use crate::refusal::forbidden;

/// `ResourceQuota`: refuses objects beyond the quotas of their namespace. New objects are counted at once, and the
/// controller recounts after deletions.
pub(crate) struct ResourceQuota;

/// The maximum number of attempts after conflicts.
const ATTEMPTS: usize = 10;

#[async_trait]
impl Admission for ResourceQuota {
    fn name(&self) -> &'static str {
        "ResourceQuota"
    }

    fn handles(&self, operation: Operation) -> bool {
        matches!(operation, Operation::Create | Operation::Update)
    }

    async fn validate(&self, review: &Review<'_>) -> Result<(), Status> {
        if !is_counted(review) {
            return Ok(());
        }
        for _ in 0..ATTEMPTS {
            let quotas = list(review, core("resourcequotas"), &review.request.at.namespace).await?;
            let changed = charge(review, &quotas)?;
            if review.request.dry_run || write(review, changed).await? {
                return Ok(());
            }
        }
        Err(Status::conflict(
            &GroupResource::new("", "resourcequotas"),
            "",
            "the quotas of the namespace are changing too fast to be counted",
        ))
    }
}

fn is_counted(review: &Review<'_>) -> bool {
    let request = review.request;
    if request.at.namespace.is_empty() || review.is_about_any_part("", "namespaces") {
        return false;
    }
    let is_pod = review.is_about_any_part("", "pods");
    match (request.at.subresource.as_str(), review.operation) {
        ("", Operation::Create) => true,
        ("", Operation::Update) => {
            let has_amounts = review.is_about("", "services") || review.is_about("", "persistentvolumeclaims");
            has_amounts || is_pod || review.is_about("resource.k8s.io", "resourceclaims")
        }
        ("resize", Operation::Update) => is_pod,
        _ => false,
    }
}

/// The changed quotas after the object is counted, or the reason for a refusal.
/// In Kubernetes: `resourcequota.CheckRequest`.
fn charge(review: &Review<'_>, quotas: &[Arc<Object>]) -> Result<Vec<Object>, Status> {
    let Some(object) = review.object().filter(|_| !quotas.is_empty()) else { return Ok(Vec::new()) };
    let resource = review.request.group_resource();
    let now = review.request.now;
    let used_now = usage(&resource, object, now);
    let used_before = review.old.map(|old| usage(&resource, old, now)).unwrap_or_default();
    let mut changed = Vec::new();
    for quota in quotas.iter().filter(|quota| is_in_scope(&resource, object, quota.as_ref())) {
        let hard = amounts(quota.at("status.hard"));
        let limited: BTreeSet<String> = hard.keys().filter(|name| tracks(&resource, name)).cloned().collect();
        if limited.is_empty() {
            continue;
        }
        if resource == GroupResource::new("", "pods") {
            say_all(review, quota, object, &limited)?;
        }
        let used = amounts(quota.at("status.used"));
        if let Some(unknown) = limited.iter().find(|name| !used.contains_key(*name)) {
            let why = format!("status unknown for quota: {}, resources: {unknown}", quota.name());
            return Err(forbidden(review, why));
        }
        let was_counted = review.old.is_some_and(|old| is_in_scope(&resource, old, quota.as_ref()));
        let added = difference(&used_now, was_counted.then_some(&used_before), &limited);
        if added.is_empty() {
            continue;
        }
        let sum = |name: &str| used.get(name).copied().unwrap_or_default() + added[name];
        let exceeded: Vec<&String> = added.keys().filter(|name| sum(name) > hard[*name]).collect();
        if !exceeded.is_empty() {
            let print = |amounts: &Amounts| -> String {
                let parts = exceeded.iter().filter_map(|name| Some(format!("{name}={}", amounts.get(*name)?)));
                parts.collect::<Vec<_>>().join(",")
            };
            return Err(forbidden(
                review,
                format!(
                    "exceeded quota: {}, requested: {}, used: {}, limited: {}",
                    quota.name(),
                    print(&added),
                    print(&used),
                    print(&hard)
                ),
            ));
        }
        let mut counted = Object::clone(quota);
        for name in added.keys() {
            counted.set(&["status", "used", name], Value::from(sum(name).to_string()));
        }
        changed.push(counted);
    }
    Ok(changed)
}

fn say_all(review: &Review<'_>, quota: &Object, pod: &Object, limited: &BTreeSet<String>) -> Result<(), Status> {
    let unsaid = unsaid(pod, limited);
    if unsaid.is_empty() {
        return Ok(());
    }
    let parts: Vec<String> = unsaid
        .iter()
        .map(|(name, containers)| {
            let containers: Vec<&str> = containers.iter().map(String::as_str).collect();
            format!("{name} for: {}", containers.join(","))
        })
        .collect();
    Err(forbidden(review, format!("failed quota: {}: must specify {}", quota.name(), parts.join("; "))))
}

/// The additional usage of limited resources.
fn difference(now: &Amounts, before: Option<&Amounts>, limited: &BTreeSet<String>) -> Amounts {
    let of_limited = now.iter().filter(|(name, _)| limited.contains(*name));
    let added = of_limited.map(|(name, amount)| {
        let before = before.and_then(|before| before.get(name)).copied().unwrap_or_default();
        (name.clone(), *amount - before)
    });
    added.filter(|(_, amount)| *amount > Quantity::default()).collect()
}

/// Writes the counts; returns whether there was no conflict.
async fn write(review: &Review<'_>, quotas: Vec<Object>) -> Result<bool, Status> {
    for quota in quotas {
        let about = review.request.about(Verb::Update, core("resourcequotas"), quota.namespace(), quota.name());
        let request = Request { field_manager: "kube-apiserver".to_owned(), ..own(about.subresource("status")) };
        match review.registry.update(&request, quota).await {
            Ok(_) => {}
            Err(status) if status.is_conflict() => return Ok(false),
            Err(status) => return Err(status),
        }
    }
    Ok(true)
}
