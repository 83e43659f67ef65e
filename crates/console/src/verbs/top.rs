//! `top node` and `top pod`.
//!
//! In Kubernetes: `kubectl/pkg/cmd/top` and `kubectl/pkg/metricsutil`.

use coracle_client::RawRequest;
use coracle_meta::Quantity;
use serde_json::Value;

use crate::failure::Failure;
use crate::flags::Flag;
use crate::session::{CommandSession, JSON, complain, query};
use crate::tabs::TABLE;
use crate::values::{list, name, namespace, text};
use crate::verb::{ALL_NAMESPACES, FIELD_SELECTOR, SELECTOR, Verb};

const FLAGS: &[Flag] = &[
    Flag::text("sort-by", "cpu or memory"),
    Flag::bool("no-headers", "No header"),
    Flag::bool("use-protocol-buffers", "Without effect"),
];
const POD_FLAGS: &[Flag] = &[Flag::bool("containers", "The usage of containers"), Flag::bool("sum", "Not supported")];
const NODE_FLAGS: &[Flag] = &[Flag::bool("show-capacity", "Percentages of the capacity")];

pub(super) const NODE: Verb = Verb {
    words: &["top", "node"],
    aliases: &["nodes", "no"],
    flags: &[FLAGS, NODE_FLAGS, SELECTOR],
    required: &[],
    about: "Display resource (CPU/memory) usage of nodes",
    run: |session| Box::pin(nodes(session)),
};

pub(super) const POD: Verb = Verb {
    words: &["top", "pod"],
    aliases: &["pods", "po"],
    flags: &[FLAGS, POD_FLAGS, SELECTOR, FIELD_SELECTOR, ALL_NAMESPACES],
    required: &[],
    about: "Display resource (CPU/memory) usage of pods",
    run: |session| Box::pin(pods(session)),
};

fn check(session: &CommandSession<'_>) -> Result<(), Failure> {
    if !["", "cpu", "memory"].contains(&session.flags.text("sort-by")) {
        return Err(Failure::text("--sort-by accepts only cpu or memory"));
    }
    if session.flags.is("sum") {
        return Err(Failure::text("the console has no top --sum"));
    }
    Ok(())
}

fn quantity(usage: &Value, resource: &str) -> Quantity {
    usage[resource].as_str().and_then(|text| Quantity::parse(text).ok()).unwrap_or_default()
}

/// The metrics of one object or of all.
async fn metrics(session: &mut CommandSession<'_>, path: &str, one: &str) -> Result<Vec<Value>, Failure> {
    let path = match one {
        "" => {
            let (labels, fields) = (session.flags.text("selector"), session.flags.text("field-selector"));
            format!("{path}{}", query(&[("fieldSelector", fields), ("labelSelector", labels)]))
        }
        one => format!("{path}/{one}"),
    };
    let kinds = session.kinds().await?;
    if !kinds.all().iter().any(|kind| kind.group == "metrics.k8s.io") {
        return Err(Failure::text("Metrics API not available"));
    }
    let answer = session.value(RawRequest::get(path, JSON)).await?;
    Ok(if one.is_empty() { list(&answer, "/items").to_vec() } else { vec![answer] })
}

async fn nodes(session: &mut CommandSession<'_>) -> Result<(), Failure> {
    let one = match session.args() {
        [] => String::new(),
        [one] => one.clone(),
        _ => return Err(Failure::usage("node [NAME | -l label]", "top node")),
    };
    check(session)?;
    if !one.is_empty() && !session.flags.text("selector").is_empty() {
        return Err(Failure::text("only one of NAME or --selector can be provided"));
    }
    let mut metrics = metrics(session, "/apis/metrics.k8s.io/v1beta1/nodes", &one).await?;
    if metrics.is_empty() {
        return Err(Failure::text("metrics not available yet"));
    }
    let kind = session.built_in("", "Node").await?;
    let labels = session.flags.text("selector").to_owned();
    let nodes = session.list(&kind, "", &labels, "").await?;
    sort(&mut metrics, session.flags.text("sort-by"), |metric, resource| quantity(&metric["usage"], resource));
    let mut out = String::new();
    if !session.flags.is("no-headers") {
        out.push_str("NAME\tCPU(cores)\tCPU(%)\tMEMORY(bytes)\tMEMORY(%)\t\n");
    }
    let field = if session.flags.is("show-capacity") { "capacity" } else { "allocatable" };
    let (known, missing): (Vec<&Value>, Vec<&Value>) =
        nodes.iter().partition(|node| metrics.iter().any(|metric| name(metric) == name(node)));
    for metric in &metrics {
        let whole = known.iter().find(|node| name(node) == name(metric)).map(|node| &node["status"][field]);
        out.push_str(name(metric));
        for resource in ["cpu", "memory"] {
            let used = quantity(&metric["usage"], resource);
            out.push_str(&format!("\t{}", shown(used, resource)));
            if let Some(whole) = whole.map(|whole| quantity(whole, resource)).filter(|whole| !whole.is_zero()) {
                let percent = i128::from(used.milli_value()) * 100 / i128::from(whole.milli_value().max(1));
                out.push_str(&format!("\t{percent}%"));
            }
        }
        out.push_str("\t\n");
    }
    if one.is_empty() {
        for node in missing {
            out.push_str(&format!("{}\t<unknown>\t<unknown>\t<unknown>\t<unknown>\t\n", name(node)));
        }
    }
    session.out.push_str(&TABLE.align(&out));
    Ok(())
}

async fn pods(session: &mut CommandSession<'_>) -> Result<(), Failure> {
    let one = match session.args() {
        [] => String::new(),
        [one] => one.clone(),
        _ => return Err(Failure::usage("pod [NAME | -l label]", "top pod")),
    };
    check(session)?;
    let has_selector = !session.flags.text("selector").is_empty() || !session.flags.text("field-selector").is_empty();
    if !one.is_empty() && has_selector {
        return Err(Failure::text("only one of NAME or selector can be provided"));
    }
    let (is_everywhere, within) = (session.flags.is("all-namespaces"), session.namespace());
    let path = if is_everywhere {
        "/apis/metrics.k8s.io/v1beta1/pods".to_owned()
    } else {
        format!("/apis/metrics.k8s.io/v1beta1/namespaces/{within}/pods")
    };
    let mut metrics = metrics(session, &path, &one).await?;
    if metrics.is_empty() {
        if is_everywhere {
            complain!(session, "No resources found");
        } else {
            complain!(session, "No resources found in {within} namespace.");
        }
        return Ok(());
    }
    let by = session.flags.text("sort-by").to_owned();
    if is_everywhere && by.is_empty() {
        metrics.sort_by_key(|metric| (namespace(metric).to_owned(), name(metric).to_owned()));
    } else {
        sort(&mut metrics, &by, sum);
    }
    let out = pod_lines(session, &metrics);
    session.out.push_str(&TABLE.align(&out));
    Ok(())
}

/// The usage of all containers of a pod.
fn sum(metric: &Value, resource: &str) -> Quantity {
    let used = list(metric, "/containers").iter().map(|container| quantity(&container["usage"], resource));
    used.fold(Quantity::default(), |sum, used| sum + used)
}

fn pod_lines(session: &CommandSession<'_>, metrics: &[Value]) -> String {
    let (is_everywhere, has_containers) = (session.flags.is("all-namespaces"), session.flags.is("containers"));
    let mut out = String::new();
    if !session.flags.is("no-headers") {
        let space = if is_everywhere { "NAMESPACE\t" } else { "" };
        let pod = if has_containers { "POD\t" } else { "" };
        out.push_str(&format!("{space}{pod}NAME\tCPU(cores)\tMEMORY(bytes)\t\n"));
    }
    for metric in metrics {
        let space = if is_everywhere { format!("{}\t", namespace(metric)) } else { String::new() };
        let mut line = |title: &str, cpu: Quantity, memory: Quantity| {
            out.push_str(&format!("{space}{title}\t{}\t{}\t\n", shown(cpu, "cpu"), shown(memory, "memory")));
        };
        if !has_containers {
            line(name(metric), sum(metric, "cpu"), sum(metric, "memory"));
            continue;
        }
        let mut containers: Vec<&Value> = list(metric, "/containers").iter().collect();
        containers.sort_by_key(|container| text(container, "/name"));
        for container in containers {
            let usage = &container["usage"];
            let title = format!("{}\t{}", name(metric), text(container, "/name"));
            line(&title, quantity(usage, "cpu"), quantity(usage, "memory"));
        }
    }
    out
}

fn sort(metrics: &mut [Value], by: &str, used: impl Fn(&Value, &str) -> Quantity) {
    match by {
        "" => metrics.sort_by_key(|metric| name(metric).to_owned()),
        by => metrics.sort_by_key(|metric| std::cmp::Reverse(used(metric, by))),
    }
}

fn shown(amount: Quantity, resource: &str) -> String {
    match resource {
        "cpu" => format!("{}m", amount.milli_value()),
        _ => format!("{}Mi", amount.value() / (1024 * 1024)),
    }
}
