//! Claims of volumes.

use coracle_ambient::Timestamp;
use serde_json::Value;

use super::labels::{labels, several};
use super::times::{rfc1123, since};
use super::{Description, Facts, events};
use crate::failure::Failure;
use crate::session::CommandSession;
use crate::values::{list, map, name, namespace, show, text};

pub(super) async fn claim(
    session: &mut CommandSession<'_>,
    claim: &Value,
    facts: &Facts,
) -> Result<Description, Failure> {
    let kind = session.built_in("", "Pod").await?;
    let pods = session.list(&kind, namespace(claim), "", "").await?;
    let uses = |pod: &&Value| {
        list(pod, "/spec/volumes").iter().any(|volume| text(volume, "/persistentVolumeClaim/claimName") == name(claim))
    };
    let mut pods: Vec<String> = pods.iter().filter(uses).map(|pod| name(pod).to_owned()).collect();
    pods.sort_unstable();
    let mut out = Description::default();
    out.field(0, "Name", name(claim));
    out.field(0, "Namespace", namespace(claim));
    fields(&mut out, claim, 0, Some(facts.now));
    several(&mut out, "Used By", pods);
    let conditions = list(claim, "/status/conditions");
    if !conditions.is_empty() {
        out.line(0, "Conditions:\n  Type\tStatus\tLastProbeTime\tLastTransitionTime\tReason\tMessage");
        out.line(1, "----\t------\t-----------------\t------------------\t------\t-------");
        for condition in conditions {
            let part = |field: &str| text(condition, field);
            let (probed, changed) = (rfc1123(&condition["lastProbeTime"]), rfc1123(&condition["lastTransitionTime"]));
            let (kind, status, reason) = (part("/type"), part("/status"), part("/reason"));
            out.line(1, format!("{kind} \t{status} \t{probed} \t{changed} \t{reason} \t{}", part("/message")));
        }
    }
    events::describe(&mut out, facts);
    Ok(out)
}

/// The fields of a claim in the template of a volume.
pub(super) fn claim_fields(out: &mut Description, claim: &Value, level: usize) {
    fields(out, claim, level, None);
}

fn fields(out: &mut Description, claim: &Value, level: usize, now: Option<Timestamp>) {
    out.field(level, "StorageClass", text(claim, "/spec/storageClassName"));
    if let Some(now) = now {
        let status = if claim["metadata"]["deletionTimestamp"].is_string() {
            format!("Terminating (lasts {})", since(claim, "/metadata/deletionTimestamp", now))
        } else {
            text(claim, "/status/phase").to_owned()
        };
        out.field(level, "Status", status);
    }
    out.field(level, "Volume", text(claim, "/spec/volumeName"));
    let indent = "  ".repeat(level);
    labels(out, &format!("{indent}Labels"), map(claim, "/metadata/labels"));
    super::labels::annotations(out, &format!("{indent}Annotations"), map(claim, "/metadata/annotations"));
    if now.is_some() {
        let finalizers: Vec<String> = list(claim, "/metadata/finalizers").iter().map(show).collect();
        out.field(level, "Finalizers", format!("[{}]", finalizers.join(" ")));
    }
    let bound = !text(claim, "/spec/volumeName").is_empty();
    let capacity = claim["status"]["capacity"]["storage"].as_str().filter(|_| bound);
    out.field(level, "Capacity", capacity.unwrap_or(if bound { "0" } else { "" }));
    out.field(level, "Access Modes", access_modes(if bound { list(claim, "/status/accessModes") } else { &[] }));
    out.field_if(level, "VolumeMode", text(claim, "/spec/volumeMode"));
}

fn access_modes(modes: &[Value]) -> String {
    let short = |mode: &Value| match mode.as_str().unwrap_or_default() {
        "ReadWriteOnce" => "RWO".to_owned(),
        "ReadOnlyMany" => "ROX".to_owned(),
        "ReadWriteMany" => "RWX".to_owned(),
        "ReadWriteOncePod" => "RWOP".to_owned(),
        other => other.to_owned(),
    };
    modes.iter().map(short).collect::<Vec<_>>().join(",")
}
