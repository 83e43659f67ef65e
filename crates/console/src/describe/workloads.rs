//! Deployments, ReplicaSets, DaemonSets and StatefulSets.

use serde_json::Value;

use super::labels::{labels, metadata, selector};
use super::pod::template;
use super::times::rfc1123;
use super::{Description, Facts, events};
use crate::failure::Failure;
use crate::session::CommandSession;
use crate::table::labels as one_line;
use crate::values::{list, map, name, namespace, number, show, text};

/// The number at a JSON pointer, or zero.
fn count(object: &Value, pointer: &str) -> i64 {
    number(object, pointer).unwrap_or_default()
}

/// The phases of the pods that an object controls.
async fn pods(session: &mut CommandSession<'_>, owner: &Value) -> Result<String, Failure> {
    let kind = session.built_in("", "Pod").await?;
    let labels = selector(&owner["spec"]["selector"]);
    let pods = session.list(&kind, namespace(owner), &labels, "").await?;
    let uid = &owner["metadata"]["uid"];
    let is_owned = |pod: &&Value| {
        let owners = list(pod, "/metadata/ownerReferences");
        owners.iter().any(|owner| owner["controller"] == true && owner["uid"] == *uid)
    };
    let owned: Vec<&Value> = pods.iter().filter(is_owned).collect();
    let of = |phase: &str| owned.iter().filter(|pod| text(pod, "/status/phase") == phase).count();
    let (running, waiting) = (of("Running"), of("Pending"));
    let (succeeded, failed) = (of("Succeeded"), of("Failed"));
    Ok(format!("{running} Running / {waiting} Waiting / {succeeded} Succeeded / {failed} Failed"))
}

fn conditions(out: &mut Description, object: &Value) {
    let conditions = list(object, "/status/conditions");
    if conditions.is_empty() {
        return;
    }
    out.line(0, "Conditions:\n  Type\tStatus\tReason");
    out.line(1, "----\t------\t------");
    for condition in conditions {
        let (kind, status, reason) = (text(condition, "/type"), text(condition, "/status"), text(condition, "/reason"));
        out.line(1, format!("{kind} \t{status}\t{reason}"));
    }
}

pub(super) async fn deployment(
    session: &mut CommandSession<'_>,
    object: &Value,
    facts: &Facts,
) -> Result<Description, Failure> {
    let sets = replica_sets(session, object).await?;
    let mut out = Description::default();
    out.field(0, "Name", name(object));
    out.field(0, "Namespace", namespace(object));
    out.field(0, "CreationTimestamp", rfc1123(&object["metadata"]["creationTimestamp"]));
    metadata(&mut out, object);
    out.field(0, "Selector", selector(&object["spec"]["selector"]));
    let status = |field: &str| count(object, &format!("/status/{field}"));
    out.field(
        0,
        "Replicas",
        format!(
            "{} desired | {} updated | {} total | {} available | {} unavailable",
            count(object, "/spec/replicas"),
            status("updatedReplicas"),
            status("replicas"),
            status("availableReplicas"),
            status("unavailableReplicas")
        ),
    );
    out.field(0, "StrategyType", text(object, "/spec/strategy/type"));
    out.field(0, "MinReadySeconds", count(object, "/spec/minReadySeconds"));
    let rolling = &object["spec"]["strategy"]["rollingUpdate"];
    if rolling.is_object() {
        let (unavailable, surge) = (show(&rolling["maxUnavailable"]), show(&rolling["maxSurge"]));
        out.field(0, "RollingUpdateStrategy", format!("{unavailable} max unavailable, {surge} max surge"));
    }
    template(&mut out, &object["spec"]["template"]);
    conditions(&mut out, object);
    if !sets.is_empty() {
        let new = newest(object, &sets);
        let is_new = |set: &&Value| new.is_some_and(|new| new["metadata"]["uid"] == set["metadata"]["uid"]);
        let old: Vec<&Value> = sets.iter().filter(|set| !is_new(set)).collect();
        out.field(0, "OldReplicaSets", created(&old));
        out.field(0, "NewReplicaSet", created(&new.into_iter().collect::<Vec<_>>()));
    }
    events::describe(&mut out, facts);
    Ok(out)
}

/// The ReplicaSets that a Deployment controls.
pub(crate) async fn replica_sets(session: &mut CommandSession<'_>, deployment: &Value) -> Result<Vec<Value>, Failure> {
    let kind = session.built_in("apps", "ReplicaSet").await?;
    let labels = selector(&deployment["spec"]["selector"]);
    let mut sets = session.list(&kind, namespace(deployment), &labels, "").await?;
    let uid = &deployment["metadata"]["uid"];
    sets.retain(|set| {
        let owners = list(set, "/metadata/ownerReferences");
        owners.iter().any(|owner| owner["controller"] == true && owner["uid"] == *uid)
    });
    Ok(sets)
}

/// The ReplicaSet of a Deployment's own template: the oldest one of them.
/// In Kubernetes: `deploymentutil.FindNewReplicaSet`.
pub(crate) fn newest<'s>(deployment: &Value, sets: &'s [Value]) -> Option<&'s Value> {
    let wanted = without_hash(&deployment["spec"]["template"]);
    let mut sorted: Vec<&Value> = sets.iter().collect();
    let age = |set: &Value| (text(set, "/metadata/creationTimestamp").to_owned(), name(set).to_owned());
    sorted.sort_by_key(|set| age(set));
    sorted.into_iter().find(|set| without_hash(&set["spec"]["template"]) == wanted)
}

/// A template without the label that distinguishes the pods of its ReplicaSet.
pub(crate) fn without_hash(template: &Value) -> Value {
    let mut template = template.clone();
    if let Some(labels) = template["metadata"]["labels"].as_object_mut() {
        labels.remove("pod-template-hash");
    }
    template
}

fn created(sets: &[&Value]) -> String {
    let set = |set: &&Value| {
        format!("{} ({}/{} replicas created)", name(set), count(set, "/status/replicas"), count(set, "/spec/replicas"))
    };
    let sets: Vec<String> = sets.iter().map(set).collect();
    if sets.is_empty() { "<none>".to_owned() } else { sets.join(", ") }
}

pub(super) async fn replica_set(
    session: &mut CommandSession<'_>,
    object: &Value,
    facts: &Facts,
) -> Result<Description, Failure> {
    let pods =
        pods(session, object).await.unwrap_or_else(|failure| format!("error in fetching pods: {}", failure.bare()));
    let mut out = Description::default();
    out.field(0, "Name", name(object));
    out.field(0, "Namespace", namespace(object));
    out.field(0, "Selector", selector(&object["spec"]["selector"]));
    metadata(&mut out, object);
    if let Some(controller) = events::controller(object) {
        out.field(0, "Controlled By", controller);
    }
    let (current, desired) = (count(object, "/status/replicas"), count(object, "/spec/replicas"));
    out.field(0, "Replicas", format!("{current} current / {desired} desired"));
    out.field(0, "Pods Status", pods);
    template(&mut out, &object["spec"]["template"]);
    conditions(&mut out, object);
    events::describe(&mut out, facts);
    Ok(out)
}

pub(super) async fn daemon_set(
    session: &mut CommandSession<'_>,
    object: &Value,
    facts: &Facts,
) -> Result<Description, Failure> {
    let pods = pods(session, object).await?;
    let mut out = Description::default();
    out.field(0, "Name", name(object));
    out.field(0, "Namespace", namespace(object));
    out.field(0, "Selector", selector(&object["spec"]["selector"]));
    out.field(0, "Node-Selector", one_line(&object["spec"]["template"]["spec"]["nodeSelector"]));
    metadata(&mut out, object);
    for (title, field) in [
        ("Desired Number of Nodes Scheduled", "desiredNumberScheduled"),
        ("Current Number of Nodes Scheduled", "currentNumberScheduled"),
        ("Number of Nodes Scheduled with Up-to-date Pods", "updatedNumberScheduled"),
        ("Number of Nodes Scheduled with Available Pods", "numberAvailable"),
        ("Number of Nodes Misscheduled", "numberMisscheduled"),
    ] {
        out.line(0, format!("{title}: {}", count(object, &format!("/status/{field}"))));
    }
    out.field(0, "Pods Status", pods);
    template(&mut out, &object["spec"]["template"]);
    events::describe(&mut out, facts);
    Ok(out)
}

pub(super) async fn stateful_set(
    session: &mut CommandSession<'_>,
    object: &Value,
    facts: &Facts,
) -> Result<Description, Failure> {
    let pods = pods(session, object).await?;
    let mut out = Description::default();
    out.field(0, "Name", name(object));
    out.field(0, "Namespace", namespace(object));
    out.field(0, "CreationTimestamp", rfc1123(&object["metadata"]["creationTimestamp"]));
    out.field(0, "Selector", selector(&object["spec"]["selector"]));
    metadata(&mut out, object);
    let (desired, total) = (count(object, "/spec/replicas"), count(object, "/status/replicas"));
    out.field(0, "Replicas", format!("{desired} desired | {total} total"));
    out.field(0, "Update Strategy", text(object, "/spec/updateStrategy/type"));
    let rolling = &object["spec"]["updateStrategy"]["rollingUpdate"];
    if let Some(partition) = number(rolling, "/partition") {
        out.field(1, "Partition", partition);
        if !rolling["maxUnavailable"].is_null() {
            out.field(1, "MaxUnavailable", show(&rolling["maxUnavailable"]));
        }
    }
    out.field(0, "Pods Status", pods);
    template(&mut out, &object["spec"]["template"]);
    claims(&mut out, list(object, "/spec/volumeClaimTemplates"));
    events::describe(&mut out, facts);
    Ok(out)
}

fn claims(out: &mut Description, claims: &[Value]) {
    if claims.is_empty() {
        out.line(0, "Volume Claims:\t<none>");
        return;
    }
    out.line(0, "Volume Claims:");
    for claim in claims {
        out.field(1, "Name", name(claim));
        out.field(1, "StorageClass", text(claim, "/spec/storageClassName"));
        labels(out, "  Labels", map(claim, "/metadata/labels"));
        labels(out, "  Annotations", map(claim, "/metadata/annotations"));
        let capacity = claim["spec"]["resources"]["requests"]["storage"].as_str();
        out.field(1, "Capacity", capacity.unwrap_or("<default>"));
        let modes: Vec<String> = list(claim, "/spec/accessModes").iter().map(show).collect();
        out.field(1, "Access Modes", format!("[{}]", modes.join(" ")));
    }
}
