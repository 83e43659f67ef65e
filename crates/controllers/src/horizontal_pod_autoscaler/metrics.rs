//! Reads metrics from the metrics APIs, if they are served.
//!
//! In Kubernetes: `podautoscaler/metrics`, with the clients of `metrics.k8s.io/v1beta1` (in every release),
//! `custom.metrics.k8s.io` and `external.metrics.k8s.io`.

use coracle_ambient::Timestamp;
use coracle_api::autoscaling_v2::CrossVersionObjectReference;
use coracle_client::{Client, Error};
use coracle_meta::fields::Fields;
use coracle_meta::{GroupVersion, Quantity, parse_duration, parse_time, percent};
use jiff::SignedDuration;
use serde::Deserialize;
use serde_json::Value;

use super::replicas::{Sample, Samples};
use crate::scaled_kinds::ScaledKinds;

const CUSTOM: &str = "custom.metrics.k8s.io";
/// The default window of a custom metric. In Kubernetes: `metricServerDefaultMetricWindow`.
const DEFAULT_WINDOW: SignedDuration = SignedDuration::from_mins(1);

/// A list of metrics of any kind.
#[derive(Debug, Deserialize)]
struct List {
    #[serde(default)]
    items: Vec<Value>,
}

/// The resource usage of the pods of a selector: of all their containers, or of the one with this name.
pub(super) async fn of_resource(
    client: &Client,
    namespace: &str,
    resource: &str,
    selector: &str,
    container: &str,
) -> Result<Samples, String> {
    let path = format!("/apis/metrics.k8s.io/v1beta1/namespaces/{namespace}/pods");
    let listed = list(client, &path, &[("labelSelector", selector)]).await;
    let metrics = listed.map_err(|error| unable("resource", &said(&error, "get pods.metrics.k8s.io")))?;
    if metrics.items.is_empty() {
        return Err("no metrics returned from resource metrics API".to_owned());
    }
    let sample = |metrics: &Value| {
        let value = usage(metrics, resource, container)?;
        Some((metrics.text("metadata.name").to_owned(), measured(metrics, value, window(metrics.text("window")))))
    };
    Ok(metrics.items.iter().filter_map(sample).collect())
}

/// A custom metric of the pods of a selector.
pub(super) async fn of_pods(
    client: &Client,
    namespace: &str,
    metric: &str,
    selector: &str,
    metric_selector: &str,
) -> Result<Samples, String> {
    let queries = [("labelSelector", selector), ("metricLabelSelector", metric_selector)];
    let listed = custom(client, &format!("namespaces/{namespace}/pods/*/{metric}"), &queries).await;
    let values = listed.map_err(|why| unable("custom", &why))?;
    if values.items.is_empty() {
        return Err("no metrics returned from custom metrics API".to_owned());
    }
    let sample = |value: &Value| {
        let window = value.int_if_set("windowSeconds").map(SignedDuration::from_secs);
        let name = value.text("describedObject.name").to_owned();
        Some((name, measured(value, milli(value.at("value"))?, window.unwrap_or(DEFAULT_WINDOW))))
    };
    Ok(values.items.iter().filter_map(sample).collect())
}

/// A custom metric of one object.
pub(super) async fn of_object(
    client: &Client,
    kinds: &ScaledKinds,
    namespace: &str,
    metric: &str,
    object: &CrossVersionObjectReference,
    metric_selector: &str,
) -> Result<i64, String> {
    let group = GroupVersion::parse(&object.api_version).map(|version| version.group).unwrap_or_default();
    let place = if group.is_empty() && object.kind == "Namespace" {
        format!("namespaces/{namespace}/metrics/{metric}")
    } else {
        let served = kinds.of(client, &group, &object.kind).await;
        let served = served.map_err(|error| unable("custom", &error.to_string()))?;
        let Some(kind) = served.first() else {
            let why = format!("no matches for kind {:?} in group {group:?}", object.kind);
            return Err(unable("custom", &format!("unable to map kind {}.{group} to resource: {why}", object.kind)));
        };
        format!("namespaces/{namespace}/{}/{}/{metric}", kind.resource.group_resource(), object.name)
    };
    let values = custom(client, &place, &[("metricLabelSelector", metric_selector)]).await;
    let values = values.map_err(|why| unable("custom", &why))?;
    match values.items.as_slice() {
        [value] => milli(value.at("value")).ok_or_else(|| unable("custom", "the value is no quantity")),
        items => Err(unable(
            "custom",
            &format!("the custom metrics API server returned {} results when we asked for exactly one", items.len()),
        )),
    }
}

/// The sum of all values of an external metric.
pub(super) async fn external(
    client: &Client,
    namespace: &str,
    metric: &str,
    metric_selector: &str,
) -> Result<i64, String> {
    let path = format!("/apis/external.metrics.k8s.io/v1beta1/namespaces/{namespace}/{metric}");
    let listed = list(client, &path, &[("labelSelector", metric_selector)]).await;
    let values =
        listed.map_err(|error| unable("external", &said(&error, &format!("get {metric}.external.metrics.k8s.io"))))?;
    if values.items.is_empty() {
        return Err("no metrics returned from external metrics API".to_owned());
    }
    let values = values.items.iter().filter_map(|value| milli(value.at("value")));
    Ok(values.fold(0, i64::saturating_add))
}

fn unable(which: &str, why: &str) -> String {
    format!("unable to fetch metrics from {which} metrics API: {why}")
}

/// The error, in the wording of Kubernetes' client if the metrics API is not served.
fn said(error: &Error, what: &str) -> String {
    match error.status() {
        Some(status) if status.code == 404 && status.reason.is_empty() => {
            format!("the server could not find the requested resource ({what})")
        }
        Some(status) if status.message == "the server could not find the requested resource" => {
            format!("{} ({what})", status.message)
        }
        _ => error.to_string(),
    }
}

/// Reads values from the served version of the custom metrics API.
async fn custom(client: &Client, place: &str, queries: &[(&str, &str)]) -> Result<List, String> {
    let group: Value = match client.get_path(&format!("/apis/{CUSTOM}")).await {
        Ok(group) => group,
        Err(error) if error.is_not_found() || error.status().is_some_and(|status| status.code == 404) => {
            return Err(format!("no custom metrics API ({CUSTOM}) registered"));
        }
        Err(error) => return Err(error.to_string()),
    };
    let version = Some(group.text("preferredVersion.version")).filter(|version| !version.is_empty());
    let path = format!("/apis/{CUSTOM}/{}/{place}", version.unwrap_or("v1beta2"));
    list(client, &path, queries).await.map_err(|error| said(&error, &format!("get {CUSTOM}")))
}

async fn list(client: &Client, path: &str, queries: &[(&str, &str)]) -> Result<List, Error> {
    let queries: Vec<_> = queries
        .iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| format!("{name}={}", percent::component(value)))
        .collect();
    let separator = if queries.is_empty() { "" } else { "?" };
    client.get_path(&format!("{path}{separator}{}", queries.join("&"))).await
}

/// The usage of a pod; `None` if it is not known for all its containers, or for the requested one.
fn usage(metrics: &Value, resource: &str, container: &str) -> Option<i64> {
    let containers = metrics.list("containers");
    let mut chosen = containers.iter().filter(|one| container.is_empty() || one.text("name") == container).peekable();
    chosen.peek()?;
    chosen.try_fold(0_i64, |sum, one| Some(sum.saturating_add(milli(one.at("usage").at(resource))?)))
}

fn milli(amount: &Value) -> Option<i64> {
    Quantity::parse(amount.as_str()?).ok().map(Quantity::milli_value)
}

fn window(text: &str) -> SignedDuration {
    parse_duration(text).and_then(|window| SignedDuration::try_from(window).ok()).unwrap_or(SignedDuration::ZERO)
}

fn measured(of: &Value, value: i64, window: SignedDuration) -> Sample {
    Sample { value, at: parse_time(of.text("timestamp")).unwrap_or(Timestamp::UNIX_EPOCH), window }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_pod_is_measured_only_as_a_whole_or_by_the_container_that_is_asked_for() {
        let metrics = json!({
            "metadata": {"name": "p"}, "timestamp": "2026-01-01T00:00:00Z", "window": "30s",
            "containers": [
                {"name": "a", "usage": {"cpu": "100m", "memory": "1Ki"}}, {"name": "b", "usage": {"cpu": "1"}},
            ],
        });
        assert_eq!(usage(&metrics, "cpu", ""), Some(1100));
        assert_eq!(usage(&metrics, "cpu", "a"), Some(100));
        assert_eq!(usage(&metrics, "memory", ""), None);
        assert_eq!(usage(&metrics, "cpu", "c"), None);
        assert_eq!(window("30s"), SignedDuration::from_secs(30));
    }

    #[test]
    fn selectors_travel_in_queries() {
        assert_eq!(percent::component("app in (a,b),!c").to_string(), "app%20in%20%28a%2Cb%29%2C%21c");
    }
}
