//! The recommendation of each metric of an autoscaler, and its entry in the status.
//!
//! In Kubernetes: `computeReplicasForMetric`.

use coracle_api::autoscaling_v2::{
    ContainerResourceMetricStatus, ExternalMetricStatus, MetricIdentifier, MetricSpec, MetricStatus, MetricTarget,
    MetricValueStatus, ObjectMetricStatus, PodsMetricStatus, ResourceMetricStatus,
};
use coracle_api::meta_v1::LabelSelector;
use coracle_client::Client;
use coracle_meta::Quantity;
use coracle_release::Release;

use super::metrics;
use super::replicas::{Proposal, Target};
use crate::scaled_kinds::ScaledKinds;

/// The recommendation of a metric.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Recommendation {
    pub(super) replicas: i32,
    /// The metric as events name it.
    pub(super) name: String,
    pub(super) status: MetricStatus,
}

/// Why a metric has no recommendation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MetricFailure {
    /// The reason of the condition.
    pub(super) reason: &'static str,
    pub(super) why: String,
    /// The message if there are several metrics.
    pub(super) message: String,
}

/// Reads metrics for one autoscaler.
#[derive(Clone, Copy, Debug)]
pub(super) struct MetricsReader<'a> {
    pub(super) client: &'a Client,
    pub(super) kinds: &'a ScaledKinds,
    pub(super) namespace: &'a str,
    /// The selector of the target's pods.
    pub(super) selector: &'a str,
    pub(super) release: &'a Release,
}

impl MetricsReader<'_> {
    /// The recommendation of a metric for a target.
    pub(super) async fn ask(&self, target: &Target, spec: &MetricSpec) -> Result<Recommendation, MetricFailure> {
        let failure = |reason, what: String| {
            move |why: String| MetricFailure { reason, message: format!("failed to get {what}: {why}"), why }
        };
        match spec.type_.as_str() {
            "Resource" => {
                let name = spec.resource.as_ref().map(|resource| resource.name.as_str()).unwrap_or_default();
                let failed = failure("FailedGetResourceMetric", format!("{name} resource metric value"));
                self.resource(target, spec).await.map_err(failed)
            }
            "ContainerResource" => {
                let container = spec.container_resource.as_ref().map(|one| one.container.as_str()).unwrap_or_default();
                let failed = failure("FailedGetContainerResourceMetric", format!("{container} container metric value"));
                self.container(target, spec).await.map_err(failed)
            }
            "Pods" => {
                let failed = failure("FailedGetPodsMetric", "pods metric value".to_owned());
                self.pods(target, spec).await.map_err(failed)
            }
            "Object" => {
                let failed = failure("FailedGetObjectMetric", "object metric value".to_owned());
                self.object(target, spec).await.map_err(failed)
            }
            "External" => {
                let name = spec.external.as_ref().map(|one| one.metric.name.as_str()).unwrap_or_default();
                let failed = failure("FailedGetExternalMetric", format!("{name} external metric value"));
                self.external(target, spec).await.map_err(failed)
            }
            other => {
                let why = format!("unknown metric source type {other:?}");
                Err(MetricFailure { reason: "InvalidMetricSourceType", message: why.clone(), why })
            }
        }
    }

    async fn resource(&self, target: &Target, spec: &MetricSpec) -> Result<Recommendation, String> {
        let resource = spec.resource.as_deref().ok_or_else(no_target)?;
        let (replicas, name, current) =
            self.usage(target, &resource.target, &resource.name, "", "resource utilization").await?;
        let status = ResourceMetricStatus { name: resource.name.clone(), current, ..Default::default() };
        Ok(Recommendation { replicas, name, status: MetricStatus { resource: Some(Box::new(status)), ..typed(spec) } })
    }

    async fn container(&self, target: &Target, spec: &MetricSpec) -> Result<Recommendation, String> {
        let of = spec.container_resource.as_deref().ok_or_else(no_target)?;
        let what = "container resource utilization";
        let (replicas, name, current) = self.usage(target, &of.target, &of.name, &of.container, what).await?;
        let (container, of_name) = (of.container.clone(), of.name.clone());
        let status = ContainerResourceMetricStatus { container, name: of_name, current, ..Default::default() };
        Ok(Recommendation {
            replicas,
            name,
            status: MetricStatus { container_resource: Some(Box::new(status)), ..typed(spec) },
        })
    }

    /// The resource usage of the pods, against an amount or against their requests.
    async fn usage(
        &self,
        target: &Target,
        wanted: &MetricTarget,
        resource: &str,
        container: &str,
        what: &str,
    ) -> Result<(i32, String, MetricValueStatus), String> {
        let read = async || {
            let read = metrics::of_resource(self.client, self.namespace, resource, self.selector, container).await;
            read.map_err(|why| format!("unable to get metrics for resource {resource}: {why}"))
        };
        if let Some(average) = wanted.average_value {
            let proposal = match read().await {
                Ok(samples) => target.by_average(samples, resource, average.milli_value()),
                Err(why) => Err(why),
            };
            let proposal = proposal.map_err(|why| format!("failed to get {resource} usage: {why}"))?;
            return Ok((proposal.replicas, format!("{resource} resource"), shown(proposal, resource)));
        }
        let percent = wanted.average_utilization.ok_or_else(no_target)?;
        let proposal = match read().await {
            Ok(samples) => target.by_utilization(samples, resource, container, percent),
            Err(why) => Err(why),
        };
        let proposal = proposal.map_err(|why| format!("failed to get {resource} utilization: {why}"))?;
        let name = format!("{resource} {what} (percentage of request)");
        Ok((proposal.replicas, name, shown(proposal, resource)))
    }

    async fn pods(&self, target: &Target, spec: &MetricSpec) -> Result<Recommendation, String> {
        let pods = spec.pods.as_deref().ok_or("invalid pods metric source")?;
        let average = pods.target.average_value.ok_or("invalid pods metric source: no average value target was set")?;
        let (metric, selector) = (&pods.metric, selector_of(&pods.metric)?);
        let samples = metrics::of_pods(self.client, self.namespace, &metric.name, self.selector, &selector).await;
        let samples = samples.map_err(|why| format!("unable to get metric {}: {why}", metric.name))?;
        let proposal = target.by_average(samples, "", average.milli_value())?;
        let status = PodsMetricStatus { metric: metric.clone(), current: shown(proposal, ""), ..Default::default() };
        let name = format!("pods metric {}", metric.name);
        let status = MetricStatus { pods: Some(Box::new(status)), ..typed(spec) };
        Ok(Recommendation { replicas: proposal.replicas, name, status })
    }

    async fn object(&self, target: &Target, spec: &MetricSpec) -> Result<Recommendation, String> {
        let invalid = "invalid object metric source: neither a value target nor an average value target was set";
        let object = spec.object.as_deref().ok_or(invalid)?;
        let (metric, described) = (&object.metric, &object.described_object);
        let value = object.target.value.filter(|_| object.target.type_ == "Value");
        let average = object.target.average_value.filter(|_| object.target.type_ == "AverageValue");
        if value.is_none() && average.is_none() {
            return Err(invalid.to_owned());
        }
        let selector = selector_of(metric)?;
        let read =
            metrics::of_object(self.client, self.kinds, self.namespace, &metric.name, described, &selector).await;
        let (kind, namespace, of) = (&described.kind, self.namespace, &described.name);
        let read = read.map_err(|why| {
            if self.release.has("HPAMetricErrorNamesTheObjectFirst") {
                format!("unable to get metric {} on {kind} {namespace}/{of}: {why}", metric.name)
            } else {
                format!("unable to get metric {}: {kind} on {namespace} {of}/{why}", metric.name)
            }
        });
        let (proposal, name, current) = match value {
            Some(value) => {
                let proposal = target.by_value(read?, value.milli_value())?;
                (proposal, format!("{kind} metric {}", metric.name), shown_value(proposal))
            }
            None => {
                let read = read.map_err(|why| format!("failed to get {} object metric: {why}", metric.name))?;
                let proposal = target.by_share(read, average.unwrap_or_default().milli_value());
                (proposal, external_name(metric), shown(proposal, ""))
            }
        };
        let (described_object, metric) = (described.clone(), metric.clone());
        let status = ObjectMetricStatus { described_object, metric, current, ..Default::default() };
        let status = MetricStatus { object: Some(Box::new(status)), ..typed(spec) };
        Ok(Recommendation { replicas: proposal.replicas, name, status })
    }

    async fn external(&self, target: &Target, spec: &MetricSpec) -> Result<Recommendation, String> {
        let invalid = "invalid external metric source: neither a value target nor an average value target was set";
        let external = spec.external.as_deref().ok_or(invalid)?;
        let metric = &external.metric;
        let read = metrics::external(self.client, self.namespace, &metric.name, &selector_of(metric)?).await;
        let of = format!("{}/{}/{}", self.namespace, metric.name, LabelSelector::print(metric.selector.as_deref()));
        let read = read.map_err(|why| format!("unable to get external metric {of}: {why}"));
        let (proposal, current) = match (external.target.average_value, external.target.value) {
            (Some(average), _) => {
                let read = read.map_err(|why| format!("failed to get {} external metric: {why}", metric.name))?;
                let proposal = target.by_share(read, average.milli_value());
                (proposal, shown(proposal, ""))
            }
            (None, Some(value)) => {
                let proposal = read.and_then(|read| target.by_value(read, value.milli_value()));
                let proposal =
                    proposal.map_err(|why| format!("failed to get external metric {}: {why}", metric.name))?;
                (proposal, shown_value(proposal))
            }
            (None, None) => return Err(invalid.to_owned()),
        };
        let status = ExternalMetricStatus { metric: metric.clone(), current, ..Default::default() };
        let status = MetricStatus { external: Some(Box::new(status)), ..typed(spec) };
        Ok(Recommendation { replicas: proposal.replicas, name: external_name(metric), status })
    }
}

fn no_target() -> String {
    "invalid resource metric source: neither an average utilization target nor an average value (usage) target was set"
        .to_owned()
}

fn typed(spec: &MetricSpec) -> MetricStatus {
    MetricStatus { type_: spec.type_.clone(), ..MetricStatus::default() }
}

fn external_name(metric: &MetricIdentifier) -> String {
    format!("external metric {}({})", metric.name, LabelSelector::print(metric.selector.as_deref()))
}

fn selector_of(metric: &MetricIdentifier) -> Result<String, String> {
    let Some(selector) = metric.selector.as_deref() else { return Ok(String::new()) };
    selector.to_selector().map(|selector| selector.to_string()).map_err(|error| error.to_string())
}

/// The measured value; memory in binary units.
fn shown(proposal: Proposal, resource: &str) -> MetricValueStatus {
    let mut amount = Quantity::of_milli(proposal.usage);
    if resource == "memory" {
        amount = amount.in_binary();
    }
    let average_utilization = proposal.utilization;
    MetricValueStatus { average_utilization, average_value: Some(amount), ..MetricValueStatus::default() }
}

fn shown_value(proposal: Proposal) -> MetricValueStatus {
    MetricValueStatus { value: Some(Quantity::of_milli(proposal.usage)), ..MetricValueStatus::default() }
}
