//! `create service clusterip`, `nodeport`, `loadbalancer` and `externalname`.

use coracle_meta::names;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::flags::Flag;
use crate::generator::{CREATE, Making, make, metadata, name_argument};
use crate::session::CommandSession;
use crate::verb::{OUTPUT, VALIDATE, Verb, WRITE};

const TCP: &[Flag] = &[Flag::list("tcp", "Ports, as PORT:TARGET")];
const CLUSTER_IP_FLAGS: &[Flag] = &[Flag::text("clusterip", "The address, or None")];
const NODE_PORT_FLAGS: &[Flag] = &[Flag::number("node-port", "The port on each node")];
const EXTERNAL_NAME_FLAGS: &[Flag] = &[Flag::text("external-name", "The external name")];

pub(super) const CLUSTER_IP: Verb = Verb {
    words: &["create", "service", "clusterip"],
    aliases: &[],
    flags: &[CLUSTER_IP_FLAGS, TCP, CREATE, OUTPUT, WRITE, VALIDATE],
    required: &[],
    about: "Create a ClusterIP service",
    run: |session| Box::pin(run(session, "ClusterIP")),
};

pub(super) const NODE_PORT: Verb = Verb {
    words: &["create", "service", "nodeport"],
    aliases: &[],
    flags: &[NODE_PORT_FLAGS, TCP, CREATE, OUTPUT, WRITE, VALIDATE],
    required: &[],
    about: "Create a NodePort service",
    run: |session| Box::pin(run(session, "NodePort")),
};

pub(super) const LOAD_BALANCER: Verb = Verb {
    words: &["create", "service", "loadbalancer"],
    aliases: &[],
    flags: &[TCP, CREATE, OUTPUT, WRITE, VALIDATE],
    required: &[],
    about: "Create a LoadBalancer service",
    run: |session| Box::pin(run(session, "LoadBalancer")),
};

pub(super) const EXTERNAL_NAME: Verb = Verb {
    words: &["create", "service", "externalname"],
    aliases: &[],
    flags: &[EXTERNAL_NAME_FLAGS, TCP, CREATE, OUTPUT, WRITE, VALIDATE],
    required: &["external-name"],
    about: "Create an ExternalName service",
    run: |session| Box::pin(run(session, "ExternalName")),
};

async fn run(session: &mut CommandSession<'_>, kind: &'static str) -> Result<(), Failure> {
    let name = name_argument(session)?;
    let address = session.flags.text("clusterip").to_owned();
    if address == "None" && kind != "ClusterIP" {
        return Err(Failure::text("ClusterIP=None can only be used with ClusterIP service type"));
    }
    let tcp = session.flags.texts("tcp").to_vec();
    if address != "None" && tcp.is_empty() && kind != "ExternalName" {
        return Err(Failure::text("at least one tcp port specifier must be provided"));
    }
    let node_port = session.flags.number("node-port").filter(|port| *port != 0);
    let ports: Vec<Value> = tcp.iter().map(|text| port(text, node_port)).collect::<Result<_, _>>()?;
    let labels = json!({"app": name});
    let mut own = metadata(session, &name);
    own["labels"] = labels.clone();
    let mut spec = json!({"selector": labels, "type": kind});
    if !ports.is_empty() {
        spec["ports"] = ports.into();
    }
    if !address.is_empty() {
        spec["clusterIP"] = address.into();
    }
    if kind == "ExternalName" {
        spec["externalName"] = session.flags.text("external-name").into();
    }
    let service =
        json!({"apiVersion": "v1", "kind": "Service", "metadata": own, "spec": spec, "status": {"loadBalancer": {}}});
    let failed = format!("failed to create {kind} service: ");
    make(session, service, Making::new("", "Service").or(&failed)).await
}

/// A port, as `PORT` or `PORT:TARGET`.
fn port(text: &str, node_port: Option<i64>) -> Result<Value, Failure> {
    let (port, target) = text.split_once(':').unwrap_or((text, text));
    let quoted = coracle_meta::go_quote(port);
    let number = port.parse::<u16>().map_err(|_| {
        let is_number = port.chars().all(|sign| sign.is_ascii_digit()) && !port.is_empty();
        let why = if is_number { "value out of range" } else { "invalid syntax" };
        Failure::text(format!("strconv.ParseUint: parsing {quoted}: {why}"))
    })?;
    let target = match target.parse::<i64>() {
        Ok(target) => {
            let wrong = names::port_number(target);
            if !wrong.is_empty() {
                return Err(Failure::text(wrong.join(",")));
            }
            Value::from(target)
        }
        Err(_) => {
            let wrong = names::port_name(target);
            if !wrong.is_empty() {
                return Err(Failure::text(wrong.join(",")));
            }
            Value::from(target)
        }
    };
    let mut port = json!({"name": text.replace(':', "-"), "port": number, "protocol": "TCP", "targetPort": target});
    if let Some(node_port) = node_port {
        port["nodePort"] = node_port.into();
    }
    Ok(port)
}
