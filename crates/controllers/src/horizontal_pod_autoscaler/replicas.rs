//! Computes replicas from metrics: arithmetic alone.
//!
//! In Kubernetes: `ReplicaCalculator`. All amounts are in thousandths.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use coracle_ambient::Timestamp;
use coracle_api::core_v1::Pod;
use coracle_meta::parse_time;
use jiff::SignedDuration;

/// The metric of one pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sample {
    pub(super) value: i64,
    /// The end of the measurement, and its window.
    pub(super) at: Timestamp,
    pub(super) window: SignedDuration,
}

/// Samples by the name of the pod.
pub(super) type Samples = BTreeMap<String, Sample>;

/// The deviations from a ratio that are tolerated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Tolerances {
    pub(super) down: f64,
    pub(super) up: f64,
}

impl Tolerances {
    fn allow(self, ratio: f64) -> bool {
        (1.0 - self.down..=1.0 + self.up).contains(&ratio)
    }
}

/// The target of an autoscaler in its current state.
#[derive(Clone, Debug)]
pub(super) struct Target {
    /// `spec.replicas` and `status.replicas` of its scale.
    pub(super) current: i32,
    pub(super) running: i32,
    /// The pods that its selector matches.
    pub(super) pods: Vec<Arc<Pod>>,
    pub(super) tolerances: Tolerances,
    /// `--horizontal-pod-autoscaler-cpu-initialization-period`
    pub(super) initialization: SignedDuration,
    /// `--horizontal-pod-autoscaler-initial-readiness-delay`
    pub(super) readiness_delay: SignedDuration,
    pub(super) now: Timestamp,
}

/// A recommendation, and the measured value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Proposal {
    pub(super) replicas: i32,
    /// As a percentage of the pods' requests, if the target is one.
    pub(super) utilization: Option<i32>,
    pub(super) usage: i64,
}

const NO_PODS: &str = "no pods returned by selector while calculating replica count";

impl Target {
    /// For an average utilization of the pods' requests, in percent. In Kubernetes: `GetResourceReplicas`.
    pub(super) fn by_utilization(
        &self,
        samples: Samples,
        resource: &str,
        container: &str,
        percent: i32,
    ) -> Result<Proposal, String> {
        let grouped = self.group(samples, resource)?;
        let requests = requests(&self.pods, container, resource)?;
        let (ratio, utilization, usage) = utilization(&grouped.samples, &requests, percent)?;
        let missing = |pod: &str| requests.get(pod).map_or(0, |request| part(*request, percent.max(100)));
        let again = |samples: &Samples| utilization_ratio(samples, &requests, percent);
        let replicas = self.settle(grouped, ratio, missing, again)?;
        Ok(Proposal { replicas, utilization: Some(utilization), usage })
    }

    /// For an average value per pod. In Kubernetes: `calcPlainMetricReplicas`.
    pub(super) fn by_average(&self, samples: Samples, resource: &str, target: i64) -> Result<Proposal, String> {
        let grouped = self.group(samples, resource)?;
        let usage = average(&grouped.samples);
        let replicas =
            self.settle(grouped, ratio(usage, target), |_| target, |samples| Ok(ratio(average(samples), target)))?;
        Ok(Proposal { replicas, utilization: None, usage })
    }

    /// For a total value. In Kubernetes: `getUsageRatioReplicaCount`.
    pub(super) fn by_value(&self, usage: i64, target: i64) -> Result<Proposal, String> {
        let ratio = ratio(usage, target);
        let replicas = if self.current == 0 {
            ratio.ceil() as i32
        } else if self.tolerances.allow(ratio) {
            self.current
        } else if self.pods.is_empty() {
            return Err(format!("unable to calculate ready pods: {NO_PODS}"));
        } else {
            let ready = self.pods.iter().filter(|pod| pod.phase() == "Running" && pod.is_ready()).count();
            (ratio * ready as f64).ceil() as i32
        };
        Ok(Proposal { replicas, utilization: None, usage })
    }

    /// For a total value divided by the number of pods. In Kubernetes: `GetExternalPerPodMetricReplicas`.
    pub(super) fn by_share(&self, usage: i64, target: i64) -> Proposal {
        let ratio = usage as f64 / (target as f64 * f64::from(self.running));
        let needed = (usage as f64 / target as f64).ceil() as i32;
        let replicas = if self.tolerances.allow(ratio) { self.running } else { needed };
        Proposal { replicas, utilization: None, usage: (usage as f64 / f64::from(self.running)).ceil() as i64 }
    }

    /// Decides which samples count.
    fn group(&self, samples: Samples, resource: &str) -> Result<Grouped, String> {
        if self.pods.is_empty() {
            return Err(NO_PODS.to_owned());
        }
        let mut grouped = Grouped { samples, ready: 0, unready: BTreeSet::new(), missing: BTreeSet::new() };
        for pod in &self.pods {
            let name = pod.name();
            if pod.is_terminating() || pod.phase() == "Failed" {
                grouped.samples.remove(name);
            } else if pod.phase() == "Pending" {
                grouped.samples.remove(name);
                grouped.unready.insert(name.to_owned());
            } else if let Some(sample) = grouped.samples.get(name) {
                if resource == "cpu" && self.is_starting(pod, sample) {
                    grouped.samples.remove(name);
                    grouped.unready.insert(name.to_owned());
                } else {
                    grouped.ready += 1;
                }
            } else {
                grouped.missing.insert(name.to_owned());
            }
        }
        if grouped.samples.is_empty() {
            return Err("did not receive metrics for targeted pods (pods might be unready)".to_owned());
        }
        Ok(grouped)
    }

    /// Whether the usage of a pod is not meaningful yet, because the pod is starting.
    fn is_starting(&self, pod: &Pod, sample: &Sample) -> bool {
        let started = pod.status.start_time.as_deref().and_then(parse_time);
        let (Some(ready), Some(started)) = (pod.condition("Ready"), started) else { return true };
        let is_unready = ready.status == "False";
        let since = ready.last_transition_time.as_deref().and_then(parse_time).unwrap_or(Timestamp::UNIX_EPOCH);
        if self.now.duration_since(started) < self.initialization {
            is_unready || sample.at.duration_since(since) < sample.window
        } else {
            is_unready && since.duration_since(started) < self.readiness_delay
        }
    }

    /// The number of replicas for a ratio. For pods without metrics a value is assumed that counteracts the change;
    /// if that reverses the direction, nothing is changed.
    fn settle(
        &self,
        mut grouped: Grouped,
        ratio: f64,
        of_missing: impl Fn(&str) -> i64,
        again: impl Fn(&Samples) -> Result<f64, String>,
    ) -> Result<i32, String> {
        let grows_beside_unready = !grouped.unready.is_empty() && ratio > 1.0;
        if !grows_beside_unready && grouped.missing.is_empty() {
            let all = (ratio * grouped.ready as f64).ceil() as i32;
            return Ok(if self.tolerances.allow(ratio) { self.current } else { all });
        }
        let assumed = |value| Sample { value, at: self.now, window: SignedDuration::ZERO };
        if ratio != 1.0 {
            for pod in std::mem::take(&mut grouped.missing) {
                let value = if ratio < 1.0 { of_missing(&pod) } else { 0 };
                grouped.samples.insert(pod, assumed(value));
            }
        }
        if grows_beside_unready {
            for pod in std::mem::take(&mut grouped.unready) {
                grouped.samples.insert(pod, assumed(0));
            }
        }
        let now = again(&grouped.samples)?;
        if self.tolerances.allow(now) || (ratio < 1.0 && now > 1.0) || (ratio > 1.0 && now < 1.0) {
            return Ok(self.current);
        }
        let replicas = (now * grouped.samples.len() as f64).ceil() as i32;
        let turns = (now < 1.0 && replicas > self.current) || (now > 1.0 && replicas < self.current);
        Ok(if turns { self.current } else { replicas })
    }
}

struct Grouped {
    samples: Samples,
    ready: usize,
    unready: BTreeSet<String>,
    missing: BTreeSet<String>,
}

fn sum(values: impl Iterator<Item = i64>) -> i64 {
    values.fold(0, i64::saturating_add)
}

fn average(samples: &Samples) -> i64 {
    let count = i64::try_from(samples.len()).unwrap_or(i64::MAX).max(1);
    sum(samples.values().map(|sample| sample.value)) / count
}

fn ratio(usage: i64, target: i64) -> f64 {
    usage as f64 / target as f64
}

fn part(whole: i64, percent: i32) -> i64 {
    whole.saturating_mul(i64::from(percent)) / 100
}

fn utilization_ratio(samples: &Samples, requests: &BTreeMap<String, i64>, percent: i32) -> Result<f64, String> {
    utilization(samples, requests, percent).map(|(ratio, ..)| ratio)
}

/// The ratio to the target, the utilization in percent, and the average usage of a pod.
fn utilization(samples: &Samples, requests: &BTreeMap<String, i64>, percent: i32) -> Result<(f64, i32, i64), String> {
    let known: Vec<_> = samples.iter().filter_map(|(pod, sample)| Some((sample.value, *requests.get(pod)?))).collect();
    let used = sum(known.iter().map(|(value, _)| *value));
    let requested = sum(known.iter().map(|(_, request)| *request));
    if requested == 0 {
        return Err("no metrics returned matched known pods".to_owned());
    }
    let utilization = i32::try_from(used.saturating_mul(100) / requested).unwrap_or(i32::MAX);
    let average = used / i64::try_from(known.len()).unwrap_or(i64::MAX).max(1);
    Ok((f64::from(utilization) / f64::from(percent), utilization, average))
}

/// The pods' requests of a resource, by pod name: pod-level requests if they exist, else the sum of all containers or
/// the requested container.
fn requests(pods: &[Arc<Pod>], container: &str, resource: &str) -> Result<BTreeMap<String, i64>, String> {
    let of_pod = |pod: &Arc<Pod>| Ok((pod.name().to_owned(), request(pod, container, resource)?));
    pods.iter().map(of_pod).collect()
}

fn request(pod: &Pod, container: &str, resource: &str) -> Result<i64, String> {
    let name = pod.name();
    let has_own = pod.spec.resources.as_ref().is_some_and(|own| !own.requests.is_empty());
    if has_own && container.is_empty() {
        let own = pod.requests().get(resource).map(|amount| amount.milli_value());
        return own.ok_or_else(|| format!("missing pod-level request for {resource} in Pod {name}"));
    }
    let is_sidecar = |one: &&coracle_api::core_v1::Container| one.restart_policy.as_deref() == Some("Always");
    let sidecars = pod.spec.init_containers.iter().filter(is_sidecar);
    let mut asked = pod.spec.containers.iter().chain(sidecars);
    let of = |one: &coracle_api::core_v1::Container| {
        let amount = one.resources.requests.get(resource).map(|amount| amount.milli_value());
        amount.ok_or_else(|| format!("missing request for {resource} in container {} of Pod {name}", one.name))
    };
    if container.is_empty() {
        return asked.try_fold(0_i64, |sum, one| Ok(sum.saturating_add(of(one)?)));
    }
    let one = asked.find(|one| one.name == container);
    of(one.ok_or_else(|| format!("container {container} not found in Pod {name}"))?)
}

#[cfg(test)]
#[path = "replicas_tests.rs"]
mod tests;
