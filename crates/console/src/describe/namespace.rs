//! Namespaces, with their quotas.

use serde_json::Value;

use super::Description;
use super::labels::metadata;
use super::times::rfc1123;
use crate::failure::Failure;
use crate::session::CommandSession;
use crate::values::{list, map, name, show, text};

pub(super) async fn namespace(session: &mut CommandSession<'_>, namespace: &Value) -> Result<Description, Failure> {
    let kind = session.built_in("", "ResourceQuota").await?;
    let quotas = session.list(&kind, name(namespace), "", "").await?;
    let kind = session.built_in("", "LimitRange").await?;
    let limits = session.list(&kind, name(namespace), "", "").await?;
    let mut out = Description::default();
    out.field(0, "Name", name(namespace));
    metadata(&mut out, namespace);
    out.field(0, "Status", text(namespace, "/status/phase"));
    let conditions = list(namespace, "/status/conditions");
    if !conditions.is_empty() {
        out.line(0, "Conditions:");
        out.line(1, "Type\tStatus\tLastTransitionTime\tReason\tMessage");
        out.line(1, "----\t------\t------------------\t------\t-------");
        for condition in conditions {
            let part = |field: &str| text(condition, field).to_owned();
            let time = rfc1123(&condition["lastTransitionTime"]);
            out.line(1, [part("/type"), part("/status"), time, part("/reason"), part("/message")].join("\t"));
        }
    }
    out.line(0, "");
    describe_quotas(&mut out, &quotas);
    out.line(0, "");
    describe_limits(&mut out, &limits);
    Ok(out)
}

fn describe_quotas(out: &mut Description, quotas: &[Value]) {
    if quotas.is_empty() {
        out.line(0, "No resource quota.");
        return;
    }
    out.line(0, "Resource Quotas");
    for quota in quotas {
        out.field(1, "Name", name(quota));
        let mut scopes: Vec<String> = list(quota, "/spec/scopes").iter().map(show).collect();
        scopes.sort_unstable();
        out.field_if(1, "Scopes", &scopes.join(", "));
        out.line(1, "Resource\tUsed\tHard");
        out.line(1, "--------\t---\t---");
        for (resource, hard) in map(quota, "/status/hard").into_iter().flatten() {
            let used = quota["status"]["used"][resource].as_str().unwrap_or("0");
            out.line(1, format!("{resource}\t{used}\t{}", show(hard)));
        }
    }
}

fn describe_limits(out: &mut Description, ranges: &[Value]) {
    if ranges.is_empty() {
        out.line(0, "No LimitRange resource.");
        return;
    }
    out.line(0, "Resource Limits");
    out.line(0, " Type\tResource\tMin\tMax\tDefault Request\tDefault Limit\tMax Limit/Request Ratio");
    out.line(0, " ----\t--------\t---\t---\t---------------\t-------------\t-----------------------");
    for limit in ranges.iter().flat_map(|range| list(range, "/spec/limits")) {
        let columns = ["min", "max", "defaultRequest", "default", "maxLimitRequestRatio"];
        let mut resources: Vec<&String> =
            columns.iter().filter_map(|column| limit[*column].as_object()).flat_map(|map| map.keys()).collect();
        resources.sort_unstable();
        resources.dedup();
        for resource in resources {
            let cell = |column: &&str| limit[*column][resource].as_str().unwrap_or("-").to_owned();
            let cells: Vec<String> = columns.iter().map(cell).collect();
            out.line(0, format!(" {}\t{resource}\t{}", text(limit, "/type"), cells.join("\t")));
        }
    }
}
