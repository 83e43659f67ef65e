//! `expose`: a service for the pods of an object.
//!
//! In Kubernetes: `kubectl/pkg/cmd/expose`.

use std::collections::BTreeMap;

use coracle_meta::go_quote;
use serde_json::{Map, Value, json};

use crate::failure::Failure;
use crate::flags::Flag;
use crate::generator::{CREATE, Making, label_pairs, make, metadata};
use crate::manifests::Info;
use crate::printer::go_value;
use crate::selection::{Wanted, select};
use crate::session::CommandSession;
use crate::values::{list, map, number, text};
use crate::verb::{FILES, OUTPUT, Verb, WRITE};

const FLAGS: &[Flag] = &[
    Flag::text("port", "The port of the service"),
    Flag::text("target-port", "The port of the container, by number or name"),
    Flag::text("protocol", "TCP, UDP or SCTP"),
    Flag::text("type", "ClusterIP, NodePort, LoadBalancer or ExternalName"),
    Flag::text("name", "The name of the service"),
    Flag::text("selector", "The labels that select the pods"),
    Flag::text("labels", "The labels of the service").or('l'),
    Flag::text("external-ip", "An external address of the service"),
    Flag::text("load-balancer-ip", "The address of the load balancer"),
    Flag::text("session-affinity", "None or ClientIP"),
    Flag::text("cluster-ip", "The address of the service, or None"),
];

pub(super) const VERB: Verb = Verb {
    words: &["expose"],
    aliases: &[],
    flags: &[FLAGS, CREATE, OUTPUT, FILES, WRITE],
    required: &[],
    about: "Take a replication controller, service, deployment or pod and expose it as a new Kubernetes service",
    run: |session| Box::pin(run(session)),
};

async fn run(session: &mut CommandSession<'_>) -> Result<(), Failure> {
    let wanted = Wanted { args: session.args().to_vec(), reads_files: true, ..Wanted::default() };
    let (infos, mut failures) = select(session, &wanted).await?.fetch(session).await;
    for info in infos {
        let making = Making { manager: "kubectl-expose", operation: "exposed", ..Making::new("", "Service") };
        match service(session, &info) {
            Ok(service) => {
                if let Err(failure) = make(session, service, making).await {
                    failures.push(failure);
                }
            }
            Err(failure) => failures.push(failure),
        }
    }
    Failure::aggregate(failures)
}

fn service(session: &CommandSession<'_>, info: &Info) -> Result<Value, Failure> {
    let kind = (info.kind.group.as_str(), info.kind.kind.as_str());
    let known =
        [("", "Pod"), ("", "Service"), ("", "ReplicationController"), ("apps", "Deployment"), ("apps", "ReplicaSet")];
    if !known.contains(&kind) {
        return Err(Failure::text(format!("cannot expose a {}", with_group(&info.kind.kind, &info.kind.group))));
    }
    let flags = &session.flags;
    let selector = match flags.text("selector") {
        "" => Value::Object(selector(info).map_err(|why| {
            Failure::text(format!("couldn't retrieve selectors via --selector flag or introspection: {why}"))
        })?),
        selector => label_pairs(selector)?,
    };
    let labels = match flags.text("labels") {
        "" => map(&info.object, "/metadata/labels").cloned().map(Value::Object),
        labels => Some(label_pairs(labels)?),
    };
    let ports = ports(session, info)?;
    let mut spec = json!({"selector": selector});
    if !ports.is_empty() {
        spec["ports"] = ports.into();
    }
    for (flag, field) in [("type", "type"), ("session-affinity", "sessionAffinity"), ("cluster-ip", "clusterIP")] {
        if flags.has(flag) {
            spec[field] = flags.text(flag).into();
        }
    }
    if flags.has("session-affinity") && !["None", "ClientIP"].contains(&flags.text("session-affinity")) {
        return Err(Failure::text(format!("unknown session affinity: {}", flags.text("session-affinity"))));
    }
    if flags.has("external-ip") {
        spec["externalIPs"] = json!([flags.text("external-ip")]);
    }
    if flags.text("type") == "LoadBalancer" && flags.has("load-balancer-ip") {
        spec["loadBalancerIP"] = flags.text("load-balancer-ip").into();
    }
    let mut name = flags.text_or("name", &info.name).to_owned();
    if !flags.has("name") {
        name.truncate(63);
    }
    let mut own = metadata(session, &name);
    if let Some(labels) = labels {
        own["labels"] = labels;
    }
    Ok(json!({"apiVersion": "v1", "kind": "Service", "metadata": own, "spec": spec, "status": {"loadBalancer": {}}}))
}

fn with_group(kind: &str, group: &str) -> String {
    if group.is_empty() { kind.to_owned() } else { format!("{kind}.{group}") }
}

/// The labels that select the pods of an object. In Kubernetes: `polymorphichelpers.MapBasedSelectorForObject`.
fn selector(info: &Info) -> Result<Map<String, Value>, String> {
    let object = &info.object;
    let own = |pointer: &str, missing: &str| map(object, pointer).cloned().ok_or_else(|| missing.to_owned());
    match info.kind.kind.as_str() {
        "Pod" => own("/metadata/labels", "the pod has no labels and cannot be exposed"),
        "Service" => own("/spec/selector", "the service has no pod selector set"),
        "ReplicationController" => own("/spec/selector", "the replication controller has no selector set"),
        kind => {
            let kind = kind.to_lowercase();
            let labels = own(
                "/spec/selector/matchLabels",
                &format!("invalid {kind}: no selectors, therefore cannot be exposed"),
            )?;
            match list(object, "/spec/selector/matchExpressions") {
                [] => Ok(labels),
                expressions => Err(format!(
                    "couldn't convert expressions - {} to map-based selector format",
                    go_quote(&go_value(&Value::from(expressions.to_vec())))
                )),
            }
        }
    }
}

/// The ports of an object with their protocols, in their order.
fn known_ports(info: &Info) -> (Vec<i64>, BTreeMap<i64, Vec<String>>) {
    let object = &info.object;
    let (ports, field) = match info.kind.kind.as_str() {
        "Service" => (list(object, "/spec/ports").iter().collect::<Vec<_>>(), "/port"),
        kind => {
            let spec = if kind == "Pod" { "/spec/containers" } else { "/spec/template/spec/containers" };
            (list(object, spec).iter().flat_map(|container| list(container, "/ports")).collect(), "/containerPort")
        }
    };
    let (mut numbers, mut protocols) = (Vec::new(), BTreeMap::<i64, Vec<String>>::new());
    for port in ports {
        let Some(number) = number(port, field) else { continue };
        if !numbers.contains(&number) {
            numbers.push(number);
        }
        let protocol = text(port, "/protocol");
        protocols.entry(number).or_default().push(if protocol.is_empty() { "TCP" } else { protocol }.to_owned());
    }
    (numbers, protocols)
}

fn ports(session: &CommandSession<'_>, info: &Info) -> Result<Vec<Value>, Failure> {
    let flags = &session.flags;
    let (known, protocols) = known_ports(info);
    let wanted = match flags.text("port") {
        "" => known,
        given => {
            let number = |part: &str| {
                let failed = || Failure::text(format!("strconv.Atoi: parsing {}: invalid syntax", go_quote(part)));
                part.parse::<i64>().map_err(|_| failed())
            };
            given.split(',').map(number).collect::<Result<_, _>>()?
        }
    };
    if wanted.is_empty() && flags.text("cluster-ip") != "None" {
        return Err(Failure::text("couldn't find port via --port flag or introspection"));
    }
    let mut ports = Vec::new();
    for (index, number) in wanted.iter().enumerate() {
        let name = (wanted.len() > 1).then(|| format!("port-{}", index + 1));
        let own = protocols.get(number).map_or(&[][..], Vec::as_slice);
        let port = |name: Option<String>, protocol: &str| {
            let target = match flags.text("target-port") {
                "" => Value::from(*number),
                target => target.parse::<i64>().map_or_else(|_| Value::from(target), Value::from),
            };
            let mut port = json!({"port": number, "protocol": protocol, "targetPort": target});
            if let Some(name) = name {
                port["name"] = name.into();
            }
            port
        };
        match (flags.text("protocol"), own) {
            ("", []) => ports.push(port(name, "TCP")),
            ("", [one]) => ports.push(port(name, one)),
            ("", several) => {
                let named = |protocol: &String| format!("port-{}-{}", index + 1, protocol.to_lowercase());
                ports.extend(several.iter().map(|protocol| port(Some(named(protocol)), protocol)));
            }
            (protocol, _) => ports.push(port(name, protocol)),
        }
    }
    Ok(ports)
}
