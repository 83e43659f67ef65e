//! The state and the history of rollouts.
//!
//! In Kubernetes: `kubectl/pkg/polymorphichelpers`.

use std::collections::BTreeMap;

use coracle_meta::go_quote;
use serde_json::Value;

use crate::describe::{newest, replica_sets, selector};
use crate::failure::Failure;
use crate::manifests::Info;
use crate::session::CommandSession;
use crate::values::{list, name, namespace, number, text};

/// The annotation with the revision of a ReplicaSet.
const REVISION: &str = "deployment.kubernetes.io/revision";

/// A revision of an object's template.
#[derive(Clone, Debug)]
pub(crate) struct Revision {
    pub(crate) template: Value,
    pub(crate) cause: String,
    /// The ReplicaSet or ControllerRevision.
    pub(crate) object: Value,
}

/// The revision of a Deployment or ReplicaSet.
pub(crate) fn revision(object: &Value) -> Option<i64> {
    object["metadata"]["annotations"][REVISION].as_str()?.parse().ok()
}

/// The revisions of an object's template, by their numbers.
pub(crate) async fn history(session: &mut CommandSession<'_>, info: &Info) -> Result<BTreeMap<i64, Revision>, Failure> {
    match (info.kind.group.as_str(), info.kind.kind.as_str()) {
        ("apps", "Deployment") => {
            let sets = replica_sets(session, &info.object).await?;
            let entry = |set: Value| Some((revision(&set)?, of(set["spec"]["template"].clone(), set)));
            Ok(sets.into_iter().filter_map(entry).collect())
        }
        ("apps", "DaemonSet" | "StatefulSet") => {
            let kind = session.built_in("apps", "ControllerRevision").await?;
            let labels = selector(&info.object["spec"]["selector"]);
            let all = session.list(&kind, namespace(&info.object), &labels, "").await?;
            let uid = &info.object["metadata"]["uid"];
            let is_own = |revision: &Value| {
                let owners = list(revision, "/metadata/ownerReferences");
                owners.iter().any(|owner| owner["controller"] == true && owner["uid"] == *uid)
            };
            let entry = |revision: Value| {
                let mut template = revision["data"]["spec"]["template"].clone();
                template.as_object_mut().map(|template| template.remove("$patch"));
                Some((number(&revision, "/revision")?, of(template, revision)))
            };
            Ok(all.into_iter().filter(is_own).filter_map(entry).collect())
        }
        _ => {
            let kind = go_quote(&with_group(&info.kind.kind, &info.kind.group));
            Err(Failure::text(format!("no history viewer has been implemented for {kind}")))
        }
    }
}

/// `Deployment.apps`.
pub(crate) fn with_group(kind: &str, group: &str) -> String {
    if group.is_empty() { kind.to_owned() } else { format!("{kind}.{group}") }
}

fn of(template: Value, object: Value) -> Revision {
    let cause = object["metadata"]["annotations"]["kubernetes.io/change-cause"].as_str().unwrap_or_default();
    Revision { template, cause: cause.to_owned(), object }
}

/// What a rollout is waiting for, and whether it is done.
pub(crate) fn status(object: &Value, wanted: i64) -> Result<(String, bool), Failure> {
    match text(object, "/kind") {
        "Deployment" => deployment(object, wanted),
        "DaemonSet" => daemon_set(object),
        "StatefulSet" => stateful_set(object),
        kind => {
            let group = text(object, "/apiVersion").split_once('/').map_or("", |(group, _)| group);
            let kind = go_quote(&with_group(kind, group));
            Err(Failure::text(format!("no status viewer has been implemented for {kind}")))
        }
    }
}

fn count(object: &Value, pointer: &str) -> i64 {
    number(object, pointer).unwrap_or_default()
}

fn is_observed(object: &Value) -> bool {
    count(object, "/metadata/generation") <= count(object, "/status/observedGeneration")
}

fn deployment(object: &Value, wanted: i64) -> Result<(String, bool), Failure> {
    let quoted = go_quote(name(object));
    if wanted > 0 {
        let own = revision(object).unwrap_or_default();
        if own != wanted {
            return Err(Failure::text(format!(
                "desired revision ({wanted}) is different from the running revision ({own})"
            )));
        }
    }
    if !is_observed(object) {
        return Ok(("Waiting for deployment spec update to be observed...\n".to_owned(), false));
    }
    let is_late =
        |condition: &Value| condition["type"] == "Progressing" && condition["reason"] == "ProgressDeadlineExceeded";
    if list(object, "/status/conditions").iter().any(is_late) {
        return Err(Failure::text(format!("deployment {quoted} exceeded its progress deadline")));
    }
    let waiting = |what: String| Ok((format!("Waiting for deployment {quoted} rollout to finish: {what}...\n"), false));
    let replicas = count(object, "/spec/replicas");
    let status = |field: &str| count(object, &format!("/status/{field}"));
    let (updated, total, available) = (status("updatedReplicas"), status("replicas"), status("availableReplicas"));
    if updated < replicas {
        return waiting(format!("{updated} out of {replicas} new replicas have been updated"));
    }
    if total > updated {
        return waiting(format!("{} old replicas are pending termination", total - updated));
    }
    if available < updated {
        return waiting(format!("{available} of {updated} updated replicas are available"));
    }
    Ok((format!("deployment {quoted} successfully rolled out\n"), true))
}

const ONLY_ROLLING: &str = "rollout status is only available for RollingUpdate strategy type";

fn daemon_set(object: &Value) -> Result<(String, bool), Failure> {
    if text(object, "/spec/updateStrategy/type") != "RollingUpdate" {
        return Err(Failure::text(ONLY_ROLLING));
    }
    if !is_observed(object) {
        return Ok(("Waiting for daemon set spec update to be observed...\n".to_owned(), false));
    }
    let quoted = go_quote(name(object));
    let status = |field: &str| count(object, &format!("/status/{field}"));
    let (updated, desired) = (status("updatedNumberScheduled"), status("desiredNumberScheduled"));
    let available = status("numberAvailable");
    let waiting = |what: String| Ok((format!("Waiting for daemon set {quoted} rollout to finish: {what}...\n"), false));
    if updated < desired {
        return waiting(format!("{updated} out of {desired} new pods have been updated"));
    }
    if available < desired {
        return waiting(format!("{available} of {desired} updated pods are available"));
    }
    Ok((format!("daemon set {quoted} successfully rolled out\n"), true))
}

fn stateful_set(object: &Value) -> Result<(String, bool), Failure> {
    if text(object, "/spec/updateStrategy/type") != "RollingUpdate" {
        return Err(Failure::text(ONLY_ROLLING));
    }
    if count(object, "/status/observedGeneration") == 0 || !is_observed(object) {
        return Ok(("Waiting for statefulset spec update to be observed...\n".to_owned(), false));
    }
    let (replicas, ready) = (count(object, "/spec/replicas"), count(object, "/status/readyReplicas"));
    if ready < replicas {
        return Ok((format!("Waiting for {} pods to be ready...\n", replicas - ready), false));
    }
    let updated = count(object, "/status/updatedReplicas");
    let rolling = &object["spec"]["updateStrategy"]["rollingUpdate"];
    if rolling.is_object() {
        let left = replicas - count(rolling, "/partition");
        if !rolling["partition"].is_null() && updated < left {
            let what = format!("{updated} out of {left} new pods have been updated");
            return Ok((format!("Waiting for partitioned roll out to finish: {what}...\n"), false));
        }
        return Ok((format!("partitioned roll out complete: {updated} new pods have been updated...\n"), true));
    }
    let (update, current) = (text(object, "/status/updateRevision"), text(object, "/status/currentRevision"));
    if update != current {
        let what = format!("{updated} pods at revision {update}");
        return Ok((format!("waiting for statefulset rolling update to complete {what}...\n"), false));
    }
    let present = count(object, "/status/currentReplicas");
    Ok((format!("statefulset rolling update complete {present} pods at revision {current}...\n"), true))
}

/// The revision to which an undo returns: the one before the newest, or the wanted one.
pub(crate) fn earlier(info: &Info, history: &BTreeMap<i64, Revision>, wanted: i64) -> Result<(i64, Revision), Failure> {
    let missing = || Failure::text(format!("unable to find specified revision {wanted} in history"));
    if wanted < 0 {
        return Err(missing());
    }
    if wanted > 0 {
        return history.get(&wanted).map(|found| (wanted, found.clone())).ok_or_else(missing);
    }
    let found = history.iter().rev().nth(1).map(|(number, found)| (*number, found.clone()));
    found.ok_or_else(|| match info.kind.kind.as_str() {
        "Deployment" => Failure::text(format!("no rollout history found for deployment {}", go_quote(&info.name))),
        _ => Failure::text("no last revision to roll back to"),
    })
}

/// Whether a Deployment has the template of one of its ReplicaSets now.
pub(crate) fn is_current(deployment: &Value, set: &Value) -> bool {
    newest(deployment, std::slice::from_ref(set)).is_some()
}
