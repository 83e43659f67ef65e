use std::time::Duration;

use coracle_cluster::NodeSwitch;
use serde_json::{Value, json};

use super::cut::CUT;
use super::fault_kind::FaultKind;
use super::node::NODE;
use crate::wire::{Moment, Selector, Senders};

/// A fault: what happens to which requests or watches, from when on and for how long.
#[derive(Clone, Debug)]
pub struct Fault {
    /// The text that identifies it in the event log and in reports.
    pub name: String,
    /// Its kind.
    pub kind: &'static FaultKind,
    /// The argument of its word, which is valid for the kind.
    pub argument: Value,
    /// The request with which it begins; absent if it begins when it is started.
    pub request: Option<FaultRequest>,
    /// What it acts on; not read for a fault of requests.
    pub target: Selector,
    /// How long it lasts.
    pub lasts: Lasts,
}

impl Fault {
    /// What a switch of a simulated node stands for, until it is ended: `cut: kubelet/NODE`, `node: {stop: NODE}` or
    /// `node: {forget: NODE}`.
    pub fn of_node(node: &str, switch: NodeSwitch) -> Self {
        let kubelet = format!("kubelet/{node}");
        let (kind, argument, text) = match switch {
            NodeSwitch::Partition => (&CUT, json!(kubelet), kubelet.clone()),
            NodeSwitch::Kubelet => (&NODE, json!({"stop": node}), format!("{{stop: {node}}}")),
            NodeSwitch::Power => (&NODE, json!({"forget": node}), format!("{{forget: {node}}}")),
        };
        let from = if switch == NodeSwitch::Partition { Senders::Named(kubelet) } else { Senders::All };
        Self {
            name: format!("{}: {text}", kind.word),
            kind,
            argument,
            request: None,
            target: Selector { from, ..Selector::default() },
            lasts: Lasts::UntilEnded,
        }
    }
}

/// The request with which a fault begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultRequest {
    /// Which requests are counted.
    pub selector: Selector,
    /// Which of them it is, from 1.
    pub nth: u64,
    /// When it begins: while the request is sent, when the API server has carried it out, or when the sender gets the
    /// answer. A fault of requests acts on the request itself, so this has no effect on it.
    pub moment: Moment,
}

/// How long a fault lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lasts {
    /// For this many requests; only for faults of requests.
    Requests(u64),
    /// For this time.
    For(Duration),
    /// Until it is ended.
    UntilEnded,
}
