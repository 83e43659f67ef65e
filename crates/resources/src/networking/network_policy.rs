use std::collections::BTreeSet;

use coracle_meta::fields::{Fields, edit_spec};
use coracle_meta::{Cidr, FieldError, Object, names};
use coracle_registry::{KindSpec, TableColumn};
use coracle_release::Release;
use serde_json::{Value, json};

use crate::built_in::built_in;
use crate::cells::selector;
use crate::field_checks::{Wrong, cidr, label_selector, one_of, port_or_name};

/// `networkpolicies.networking.k8s.io`. In Kubernetes: `pkg/registry/networking/networkpolicy`.
pub(crate) fn kind(release: &Release) -> KindSpec {
    KindSpec {
        set_defaults: |object, _| set_defaults(object),
        validate_create: |object, release| wrong(object, None, release),
        validate_change: |new, old, release| wrong(new, Some(old), release),
        columns: columns(),
        ..built_in(release, "networking.k8s.io", "v1", "networkpolicies")
    }
}

fn columns() -> Vec<TableColumn> {
    vec![
        TableColumn::name(),
        TableColumn::text(
            "Pod-Selector",
            "Selects the pods to which this NetworkPolicy object applies.  The array of ingress rules is applied to any pods selected by this field. Multiple network policies can select the same set of pods.  In this case, the ingress rules for each are combined additively. This field is NOT optional and follows standard label selector semantics. An empty podSelector matches all pods in this namespace.",
            |object| selector(object.at("spec.podSelector")),
        ),
        TableColumn::age(),
    ]
}

/// The policy types default to Ingress, and Egress if there are egress rules.
/// The lists of rules, each with the list of peers of a rule.
const PEERS: [(&str, &str); 2] = [("ingress", "from"), ("egress", "to")];

fn set_defaults(object: &mut Object) {
    edit_spec(object, |spec| {
        if spec.list("policyTypes").is_empty() {
            let goes_out = !spec.list("egress").is_empty();
            let types = if goes_out { json!(["Ingress", "Egress"]) } else { json!(["Ingress"]) };
            spec.insert("policyTypes".to_owned(), types);
        }
    });
}

/// In Kubernetes: `ValidateNetworkPolicySpec`.
fn wrong(object: &Object, old: Option<&Object>, release: &Release) -> Wrong {
    let spec = object.at("spec");
    let mut wrong = label_selector(spec.at("podSelector"), "spec.podSelector");
    let kept = old.map(blocks).unwrap_or_default();
    for (direction, peers) in PEERS {
        for (at, rule) in spec.list(direction).iter().enumerate() {
            let path = format!("spec.{direction}[{at}]");
            for (at, port) in rule.list("ports").iter().enumerate() {
                wrong.extend(wrong_port(port, &format!("{path}.ports[{at}]"), release));
            }
            for (at, peer) in rule.list(peers).iter().enumerate() {
                wrong.extend(wrong_peer(peer, &kept, &format!("{path}.{peers}[{at}]"), release));
            }
        }
    }
    let types = spec.list("policyTypes");
    if types.len() > 2 {
        let what = "may not specify more than two policyTypes";
        wrong.push(FieldError::invalid("spec.policyTypes", types, what));
        return wrong;
    }
    for (at, kind) in types.iter().enumerate() {
        if kind != "Ingress" && kind != "Egress" {
            let path = format!("spec.policyTypes[{at}]");
            wrong.push(FieldError::not_supported(path, kind.clone(), &["Ingress", "Egress"]));
        }
    }
    wrong
}

fn wrong_port(port: &Value, path: &str, release: &Release) -> Wrong {
    let mut wrong = Wrong::new();
    if port.has("protocol") {
        wrong.extend(one_of(port, "protocol", path, &["TCP", "UDP", "SCTP"]));
    }
    if port.has("port") {
        wrong.extend(port_or_name(port.at("port"), &format!("{path}.port")));
    }
    if let Some(end) = port.int_if_set("endPort") {
        let end_path = format!("{path}.endPort");
        if !port.has("port") {
            wrong.push(FieldError::required(format!("{path}.port"), "must be specified when `endPort` is specified"));
        } else if port.at("port").is_string() {
            wrong.push(FieldError::invalid(end_path, end, "may not be specified when `port` is non-numeric"));
        } else if end < port.int("port") {
            let quoted = if release.has("EndPortsAreQuoted") { end } else { port.int("port") };
            wrong.push(FieldError::invalid(end_path, quoted, "must be greater than or equal to `port`"));
        } else {
            let sentences = names::port_number(end).into_iter();
            wrong.extend(sentences.map(|what| FieldError::invalid(&end_path, end, what)));
        }
    }
    wrong
}

fn wrong_peer(peer: &Value, kept: &BTreeSet<&str>, path: &str, release: &Release) -> Wrong {
    let selectors = ["podSelector", "namespaceSelector"];
    let block = peer.at("ipBlock");
    let has_selector = selectors.iter().any(|selector| peer.has(selector));
    let mut wrong: Wrong = selectors
        .iter()
        .filter(|selector| peer.has(selector))
        .flat_map(|selector| label_selector(peer.at(selector), &format!("{path}.{selector}")))
        .collect();
    if !block.is_null() {
        wrong.extend(wrong_block(block, kept, &format!("{path}.ipBlock"), release));
    }
    if !has_selector && block.is_null() {
        wrong.push(FieldError::required(path, "must specify a peer"));
    } else if has_selector && !block.is_null() {
        wrong.push(FieldError::forbidden(path, "may not specify both ipBlock and another peer"));
    }
    wrong
}

/// All blocks of addresses of a policy, which it may keep in older forms.
fn blocks(object: &Object) -> BTreeSet<&str> {
    let mut blocks = BTreeSet::new();
    for (direction, peers) in PEERS {
        for rule in object.at("spec").list(direction) {
            for block in rule.list(peers).iter().map(|peer| peer.at("ipBlock")) {
                blocks.insert(block.text("cidr"));
                blocks.extend(block.list("except").iter().filter_map(Value::as_str));
            }
        }
    }
    blocks
}

fn wrong_block(block: &Value, kept: &BTreeSet<&str>, path: &str, release: &Release) -> Wrong {
    let wrong_cidr =
        |text: &str, path: &str| if kept.contains(text) { Wrong::new() } else { cidr(text, path, release) };
    let whole = block.text("cidr");
    let cidr_path = format!("{path}.cidr");
    if whole.is_empty() {
        return vec![FieldError::required(cidr_path, "").declared()];
    }
    let mut wrong = wrong_cidr(whole, &cidr_path);
    let parsed = Cidr::parse(whole);
    for (at, except) in block.list("except").iter().filter_map(Value::as_str).enumerate() {
        let path = format!("{path}.except[{at}]");
        let not_cidr = wrong_cidr(except, &path);
        let inside = except.split('/').next().and_then(|address| address.parse().ok());
        if let (Ok(whole_range), Some(address), true) = (&parsed, inside, not_cidr.is_empty())
            && !whole_range.contains(address)
        {
            let what = format!("must be a strict subset of `cidr` ({whole})");
            wrong.push(FieldError::invalid(&path, except, what));
        }
        wrong.extend(not_cidr);
    }
    wrong
}
