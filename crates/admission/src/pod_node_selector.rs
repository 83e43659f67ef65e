use std::collections::BTreeMap;

use async_trait::async_trait;
use coracle_meta::fields::{Fields, edit_spec};
use coracle_meta::{GroupResource, Object, Status};
use coracle_registry::{Admission, Operation, Review};
use serde_json::{Map, Value};

use crate::lookup::{core, get};
use crate::refusal::forbidden;

/// `PodNodeSelector`: the pods of a namespace run only on nodes that its annotation or the configuration selects.
#[derive(Default)]
pub(crate) struct PodNodeSelector {
    /// The allowed selectors by namespace, and the default selector.
    configured: BTreeMap<String, String>,
}

type Labels = BTreeMap<String, String>;

const ANNOTATION: &str = "scheduler.alpha.kubernetes.io/node-selector";
const DEFAULT: &str = "clusterDefaultNodeSelector";

impl PodNodeSelector {
    /// Reads `podNodeSelectorPluginConfig`.
    pub(crate) fn new(configuration: &Value) -> Self {
        let entries = configuration.entries("podNodeSelectorPluginConfig");
        let texts = entries.filter_map(|(name, selector)| Some((name.clone(), selector.as_str()?.to_owned())));
        Self { configured: texts.collect() }
    }

    /// The merged node selectors of the namespace and the pod.
    ///
    /// # Errors
    /// If they conflict.
    async fn agreed(&self, review: &Review<'_>) -> Result<(Labels, Labels), Status> {
        let wanted = self.of_namespace(review).await?;
        let own = review.object().map(own).unwrap_or_default();
        if conflict(&wanted, &own) { Err(forbidden(review, CONFLICT)) } else { Ok((wanted, own)) }
    }

    async fn of_namespace(&self, review: &Review<'_>) -> Result<Labels, Status> {
        let name = review.request.at.namespace.as_str();
        let Some(namespace) = get(review, core("namespaces"), "", name).await? else {
            return Err(Status::not_found(&GroupResource::new("", "namespaces"), name));
        };
        let configured = self.configured.get(DEFAULT).map_or("", String::as_str);
        labels(namespace.annotation(ANNOTATION).unwrap_or(configured)).map_err(Status::internal)
    }
}

#[async_trait]
impl Admission for PodNodeSelector {
    fn name(&self) -> &'static str {
        "PodNodeSelector"
    }

    fn handles(&self, operation: Operation) -> bool {
        operation == Operation::Create
    }

    async fn mutate(&self, review: &mut Review<'_>) -> Result<(), Status> {
        if !review.is_about("", "pods") {
            return Ok(());
        }
        let (wanted, own) = self.agreed(review).await?;
        if wanted.iter().any(|(key, _)| !own.contains_key(key))
            && let Some(pod) = review.object_mut()
        {
            let all: Map<_, _> = wanted.into_iter().chain(own).map(|(key, value)| (key, value.into())).collect();
            edit_spec(pod, |spec| {
                spec.insert("nodeSelector".to_owned(), all.into());
            });
        }
        Ok(())
    }

    async fn validate(&self, review: &Review<'_>) -> Result<(), Status> {
        if !review.is_about("", "pods") {
            return Ok(());
        }
        let (_, own) = self.agreed(review).await?;
        let allowed = self.configured.get(&review.request.at.namespace).map_or("", String::as_str);
        let allowed = labels(allowed).map_err(Status::internal)?;
        let is_allowed = |(key, value): (&String, &String)| allowed.get(key) == Some(value);
        if !allowed.is_empty() && !own.iter().all(is_allowed) {
            return Err(forbidden(review, "pod node label selector labels conflict with its namespace whitelist"));
        }
        Ok(())
    }
}

const CONFLICT: &str = "pod node label selector conflicts with its namespace node label selector";

fn own(pod: &Object) -> Labels {
    let entries = pod.entries("spec.nodeSelector");
    entries.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
}

fn conflict(one: &Labels, other: &Labels) -> bool {
    one.iter().any(|(key, value)| other.get(key).is_some_and(|other| other != value))
}

/// Parses `a=b,c=d`. In Kubernetes: `labels.ConvertSelectorToLabelsMap`.
fn labels(text: &str) -> Result<Labels, String> {
    let terms = text.split(',').map(str::trim).filter(|_| !text.is_empty());
    terms
        .map(|term| match term.split('=').collect::<Vec<_>>()[..] {
            [key, value] => Ok((key.trim().to_owned(), value.trim().to_owned())),
            _ => Err(format!("invalid selector: {term}")),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selector_is_a_list_of_labels() {
        let read = labels("a=b, c = d").unwrap();
        assert_eq!(read, Labels::from([("a".into(), "b".into()), ("c".into(), "d".into())]));
        assert!(labels("").unwrap().is_empty());
        assert_eq!(labels("a in (b)"), Err("invalid selector: a in (b)".to_owned()));
        assert!(conflict(&read, &Labels::from([("a".into(), "x".into())])));
        assert!(!conflict(&read, &Labels::from([("e".into(), "x".into())])));
    }
}
