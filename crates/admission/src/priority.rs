use std::sync::Arc;

use async_trait::async_trait;
use coracle_meta::fields::{Fields, edit_spec};
use coracle_meta::{GroupVersionResource, Object, Status};
use coracle_registry::{Admission, Operation, Review};
use serde_json::Value;

use crate::lookup::{get, list};
use crate::refusal::forbidden;

/// `Priority`: sets a pod's priority from its class.
pub(crate) struct Priority;

#[async_trait]
impl Admission for Priority {
    fn name(&self) -> &'static str {
        "Priority"
    }

    fn handles(&self, operation: Operation) -> bool {
        matches!(operation, Operation::Create | Operation::Update)
    }

    async fn mutate(&self, review: &mut Review<'_>) -> Result<(), Status> {
        match review.operation {
            _ if !review.is_about("", "pods") => Ok(()),
            Operation::Create => resolve(review).await,
            _ => {
                keep(review);
                Ok(())
            }
        }
    }

    async fn validate(&self, review: &Review<'_>) -> Result<(), Status> {
        if !review.is_about("scheduling.k8s.io", "priorityclasses") {
            return Ok(());
        }
        let Some(class) = review.object() else { return Ok(()) };
        if !class.flag("globalDefault") {
            return Ok(());
        }
        match default_class(review).await? {
            Some(other) if review.operation == Operation::Create || other.name() != class.name() => Err(forbidden(
                review,
                format!("PriorityClass {} is already marked as default. Only one default can exist", other.name()),
            )),
            _ => Ok(()),
        }
    }
}

fn classes() -> GroupVersionResource {
    GroupVersionResource::new("scheduling.k8s.io", "v1", "priorityclasses")
}

/// The default class; the one with the lowest priority of several.
async fn default_class(review: &Review<'_>) -> Result<Option<Arc<Object>>, Status> {
    let all = list(review, classes(), "").await?;
    Ok(all.into_iter().filter(|class| class.flag("globalDefault")).min_by_key(|class| class.int("value")))
}

/// Keeps the values that were resolved at creation if an update does not set them.
fn keep(review: &mut Review<'_>) {
    let Some(old) = review.old else { return };
    for field in ["priority", "preemptionPolicy"] {
        let before = old.at("spec").at(field);
        let is_missing = review.object().is_some_and(|new| new.at("spec").at(field).is_null());
        if is_missing
            && !before.is_null()
            && let Some(new) = review.object_mut()
        {
            new.set(&["spec", field], before.clone());
        }
    }
}

async fn resolve(review: &mut Review<'_>) -> Result<(), Status> {
    let Some(pod) = review.object() else { return Ok(()) };
    let asked = pod.text("spec.priorityClassName").to_owned();
    let class = if asked.is_empty() {
        default_class(review).await?
    } else {
        let class = get(review, classes(), "", &asked).await?;
        Some(class.ok_or_else(|| forbidden(review, format!("no PriorityClass with name {asked} was found")))?)
    };
    let priority = class.as_ref().map_or(0, |class| class.int("value"));
    let policy = match &class {
        None => Some("PreemptLowerPriority".to_owned()),
        Some(class) => class.at("preemptionPolicy").as_str().map(str::to_owned),
    };
    if let Some(given) = pod.int_if_set("spec.priority").filter(|given| *given != priority) {
        return Err(forbidden(
            review,
            format!(
                "the integer value of priority ({given}) must not be provided in pod spec; priority admission controller computed {priority} from the given PriorityClass name"
            ),
        ));
    }
    if let (Some(given), Some(policy)) = (pod.at("spec.preemptionPolicy").as_str(), &policy)
        && given != policy
    {
        return Err(forbidden(
            review,
            format!(
                "the string value of PreemptionPolicy ({given}) must not be provided in pod spec; priority admission controller computed {policy} from the given PriorityClass name"
            ),
        ));
    }
    if let Some(pod) = review.object_mut() {
        edit_spec(pod, |spec| {
            if let Some(class) = &class {
                spec.insert("priorityClassName".to_owned(), class.name().into());
            }
            spec.insert("priority".to_owned(), priority.into());
            if let Some(policy) = policy {
                spec.insert("preemptionPolicy".to_owned(), Value::from(policy));
            }
        });
    }
    Ok(())
}
