//! Nodes, with the pods on them and what these ask for.

use std::collections::BTreeSet;

use coracle_api::pod_resources::{Amounts, add, amounts, of_pod};
use coracle_meta::Quantity;
use serde_json::Value;

use super::labels::{metadata, taints};
use super::times::{rfc1123, since};
use super::{Description, Facts, events};
use crate::failure::Failure;
use crate::session::CommandSession;
use crate::values::{is, list, map, name, namespace, show, text};

pub(super) async fn node(
    session: &mut CommandSession<'_>,
    node: &Value,
    facts: &Facts,
) -> Result<Description, Failure> {
    let pods = session.built_in("", "Pod").await?;
    let fields = format!("spec.nodeName={},status.phase!=Failed,status.phase!=Succeeded", name(node));
    let pods = match session.list(&pods, "", "", &fields).await {
        Ok(pods) => Some(pods),
        Err(failure) if failure.status().is_some_and(coracle_meta::Status::is_forbidden) => None,
        Err(failure) => return Err(failure),
    };
    let leases = session.built_in("coordination.k8s.io", "Lease").await?;
    let lease = session.get(&leases, "kube-node-lease", name(node)).await;
    let mut out = Description::default();
    out.field(0, "Name", name(node));
    out.field(0, "Roles", roles(node));
    metadata(&mut out, node);
    out.field(0, "CreationTimestamp", rfc1123(&node["metadata"]["creationTimestamp"]));
    taints(&mut out, list(node, "/spec/taints"));
    out.field(0, "Unschedulable", is(node, "/spec/unschedulable"));
    describe_lease(&mut out, &lease);
    conditions(&mut out, node);
    out.line(0, "Addresses:");
    for address in list(node, "/status/addresses") {
        out.field(1, text(address, "/type"), text(address, "/address"));
    }
    for (title, field) in [("Capacity", "/status/capacity"), ("Allocatable", "/status/allocatable")] {
        let Some(amounts) = map(node, field) else { continue };
        out.line(0, format!("{title}:"));
        amounts.iter().for_each(|(resource, amount)| out.field(1, resource, show(amount)));
    }
    system(&mut out, node);
    match pods {
        Some(pods) => resources(&mut out, node, &pods, facts),
        None => out.field(0, "Pods", "not authorized"),
    }
    events::describe(&mut out, facts);
    Ok(out)
}

fn roles(node: &Value) -> String {
    let labels = map(node, "/metadata/labels").into_iter().flatten();
    let role = |(name, value): (&String, &Value)| match name.strip_prefix("node-role.kubernetes.io/") {
        Some(role) => Some(role.to_owned()),
        None => (name == "kubernetes.io/role").then(|| show(value)),
    };
    let roles: BTreeSet<String> = labels.filter_map(role).filter(|role| !role.is_empty()).collect();
    if roles.is_empty() { "<none>".to_owned() } else { roles.into_iter().collect::<Vec<_>>().join(",") }
}

fn describe_lease(out: &mut Description, lease: &Result<Value, Failure>) {
    let lease = match lease {
        Ok(lease) => lease,
        Err(failure) => return out.field(0, "Lease", format!("Failed to get lease: {}", failure.bare())),
    };
    let time = |field: &str| match &lease["spec"][field] {
        Value::Null => "<unset>".to_owned(),
        time => rfc1123(time),
    };
    out.line(0, "Lease:");
    out.field(1, "HolderIdentity", lease["spec"]["holderIdentity"].as_str().unwrap_or("<unset>"));
    out.field(1, "AcquireTime", time("acquireTime"));
    out.field(1, "RenewTime", time("renewTime"));
}

fn conditions(out: &mut Description, node: &Value) {
    let conditions = list(node, "/status/conditions");
    if conditions.is_empty() {
        return;
    }
    out.line(0, "Conditions:\n  Type\tStatus\tLastHeartbeatTime\tLastTransitionTime\tReason\tMessage");
    out.line(1, "----\t------\t-----------------\t------------------\t------\t-------");
    for condition in conditions {
        out.line(
            1,
            format!(
                "{} \t{} \t{} \t{} \t{} \t{}",
                text(condition, "/type"),
                text(condition, "/status"),
                rfc1123(&condition["lastHeartbeatTime"]),
                rfc1123(&condition["lastTransitionTime"]),
                text(condition, "/reason"),
                text(condition, "/message")
            ),
        );
    }
}

fn system(out: &mut Description, node: &Value) {
    out.line(0, "System Info:");
    for (title, field) in [
        ("Machine ID", "machineID"),
        ("System UUID", "systemUUID"),
        ("Boot ID", "bootID"),
        ("Kernel Version", "kernelVersion"),
        ("OS Image", "osImage"),
        ("Operating System", "operatingSystem"),
        ("Architecture", "architecture"),
        ("Container Runtime Version", "containerRuntimeVersion"),
        ("Kubelet Version", "kubeletVersion"),
        ("Kube-Proxy Version", "kubeProxyVersion"),
    ] {
        out.field(1, title, text(node, &format!("/status/nodeInfo/{field}")));
    }
    out.field_if(0, "PodCIDR", text(node, "/spec/podCIDR"));
    let ranges: Vec<String> = list(node, "/spec/podCIDRs").iter().map(show).collect();
    out.field_if(0, "PodCIDRs", &ranges.join(","));
    out.field_if(0, "ProviderID", text(node, "/spec/providerID"));
}

/// An amount, and what part of the node it is.
fn part(amount: Quantity, whole: Quantity, is_cpu: bool) -> String {
    let of = |quantity: Quantity| if is_cpu { quantity.milli_value() } else { quantity.value() };
    let percent = match of(whole) {
        0 => 0,
        whole => i64::try_from(i128::from(of(amount)) * 100 / i128::from(whole)).unwrap_or(i64::MAX),
    };
    format!("{amount} ({percent}%)")
}

fn resources(out: &mut Description, node: &Value, pods: &[Value], facts: &Facts) {
    out.field(0, "Non-terminated Pods", format!("({} in total)", pods.len()));
    out.line(1, "Namespace\tName\t\tCPU Requests\tCPU Limits\tMemory Requests\tMemory Limits\tAge");
    out.line(1, "---------\t----\t\t------------\t----------\t---------------\t-------------\t---");
    let field = if map(node, "/status/allocatable").is_some() { "allocatable" } else { "capacity" };
    let whole = amounts(&node["status"][field]);
    let of = |amounts: &Amounts, resource: &str| amounts.get(resource).copied().unwrap_or_default();
    let (mut requests, mut limits) = (Amounts::new(), Amounts::new());
    for pod in pods {
        let (request, limit) = (of_pod(&pod["spec"], "requests"), of_pod(&pod["spec"], "limits"));
        let mut cells = vec![namespace(pod).to_owned(), name(pod).to_owned(), String::new()];
        for resource in ["cpu", "memory"] {
            for amounts in [&request, &limit] {
                cells.push(part(of(amounts, resource), of(&whole, resource), resource == "cpu"));
            }
        }
        cells.push(since(pod, "/metadata/creationTimestamp", facts.now));
        out.line(1, cells.join("\t"));
        add(&mut requests, &request);
        add(&mut limits, &limit);
    }
    out.line(0, "Allocated resources:\n  (Total limits may be over 100 percent, i.e., overcommitted.)");
    out.line(1, "Resource\tRequests\tLimits");
    out.line(1, "--------\t--------\t------");
    let pages = whole.keys().map(String::as_str).filter(|resource| resource.starts_with("hugepages-"));
    for resource in ["cpu", "memory", "ephemeral-storage"].into_iter().chain(pages) {
        let whole = of(&whole, resource);
        let shown = |amounts: &Amounts| part(of(amounts, resource), whole, resource == "cpu");
        out.line(1, format!("{resource}\t{}\t{}", shown(&requests), shown(&limits)));
    }
    let is_standard = |resource: &str| {
        resource.starts_with("hugepages-") || ["cpu", "memory", "ephemeral-storage", "pods"].contains(&resource)
    };
    for resource in whole.keys().filter(|resource| !is_standard(resource)) {
        out.line(1, format!("{resource}\t{}\t{}", of(&requests, resource), of(&limits, resource)));
    }
}
