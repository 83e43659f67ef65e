//! `coracle node`: controls the simulated nodes of a running cluster, by annotations of their Nodes.

use std::time::Duration;

use anyhow::Result;
use clap::{Args, Subcommand};
use coracle_ambient::Ambient;
use coracle_client::{Client, Patch};
use coracle_meta::{Object, ObjectKey, Quantity};
use coracle_scenario::file::Drain;
use serde_json::{Map, Value, json};

use crate::commands::env::ClusterArgs;
use crate::exit;
use crate::flags::values::duration;
use crate::output::{note, out};
use crate::progress::Progress;
use crate::runtime::runtime;
use crate::simulated::{SIMULATED, is_simulated, nodes};

/// The annotation with the power state of a machine.
const POWER: &str = "coracle.dev/power";
const KUBELET: &str = "coracle.dev/kubelet";
const PARTITION: &str = "coracle.dev/partition";

/// Controls simulated nodes of a running cluster.
#[derive(Debug, Args)]
pub(crate) struct Node {
    #[command(flatten)]
    cluster: ClusterArgs,
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Add nodes to the cluster
    Add(Add),
    /// Start nodes that were stopped or killed
    Start(Names),
    /// Stop the kubelets of nodes; they report nothing, and their pods keep running
    Stop(Names),
    /// Cut the power of nodes; their containers are lost
    Kill(Names),
    /// Disconnect nodes from the API server; they keep running the pods that they last saw
    Partition(Partition),
    /// Cordon a node and evict its pods, as `kubectl drain --ignore-daemonsets --delete-emptydir-data`
    Drain(DrainArgs),
}

#[derive(Debug, Args)]
struct Names {
    /// The nodes
    #[arg(required = true, value_name = "NODE")]
    nodes: Vec<String>,
}

#[derive(Debug, Args)]
struct Partition {
    #[command(flatten)]
    names: Names,
    /// Connect the nodes to the API server again
    #[arg(long)]
    end: bool,
}

#[derive(Debug, Args)]
struct Add {
    #[command(flatten)]
    names: Names,
    /// A label of the nodes
    #[arg(long = "label", value_name = "KEY=VALUE")]
    labels: Vec<String>,
    /// A taint of the nodes: KEY[=VALUE]:EFFECT
    #[arg(long = "taint", value_name = "TAINT")]
    taints: Vec<String>,
    /// The capacity of a resource on each node, such as cpu=4 or memory=16Gi; other resources keep their defaults
    #[arg(long = "capacity", value_name = "RESOURCE=AMOUNT")]
    capacity: Vec<String>,
}

#[derive(Debug, Args)]
struct DrainArgs {
    /// The node
    node: String,
    /// Also evict pods that no controller manages
    #[arg(long)]
    force: bool,
    /// The grace period of the pods in seconds, instead of their own
    #[arg(long, value_name = "SECONDS")]
    grace_period: Option<i64>,
    /// The maximum duration of the drain, such as 90s or 5m
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = duration)]
    timeout: Duration,
}

impl Node {
    pub(crate) fn run(self) -> Result<u8> {
        let made = match &self.action {
            Action::Add(add) => add.objects()?,
            _ => Vec::new(),
        };
        let client = Client::new(self.cluster.connect()?, &Ambient::system()).with_user_agent("coracle-node");
        runtime()?.block_on(async {
            match &self.action {
                Action::Add(_) => add(&client, made).await,
                Action::Start(names) => {
                    annotate(&client, &names.nodes, &[(POWER, None), (KUBELET, None)], "started").await
                }
                Action::Stop(names) => annotate(&client, &names.nodes, &[(KUBELET, Some("stopped"))], "stopped").await,
                Action::Kill(names) => annotate(&client, &names.nodes, &[(POWER, Some("off"))], "killed").await,
                Action::Partition(Partition { names, end: false }) => {
                    annotate(&client, &names.nodes, &[(PARTITION, Some("true"))], "cut off").await
                }
                Action::Partition(Partition { names, end: true }) => {
                    annotate(&client, &names.nodes, &[(PARTITION, None)], "reached again").await
                }
                Action::Drain(arguments) => drain(&client, arguments).await,
            }
        })
    }
}

impl Add {
    /// The Nodes, if all options can be parsed.
    fn objects(&self) -> Result<Vec<Object>> {
        let mut labels = Map::new();
        for text in &self.labels {
            let (name, value) = pair("--label", text)?;
            labels.insert(name.to_owned(), value.into());
        }
        let mut capacity = Map::new();
        for text in &self.capacity {
            let (resource, amount) = pair("--capacity", text)?;
            Quantity::parse(amount)
                .map_err(|error| exit::Usage(format!("--capacity {text}: `{amount}` is no quantity: {error}")))?;
            capacity.insert(resource.to_owned(), amount.into());
        }
        if !capacity.is_empty() {
            for (resource, amount) in coracle_cluster::NodeSpec::new("").capacity {
                capacity.entry(resource).or_insert(amount.into());
            }
        }
        let taints: Result<Vec<Value>, _> = self.taints.iter().map(|text| coracle_scenario::new_taint(text)).collect();
        let taints = taints.map_err(|problem| exit::Usage(format!("--taint: {problem}")))?;
        let object = |name: &String| {
            Object::from_value(json!({
                "apiVersion": "v1", "kind": "Node",
                "metadata": {"name": name, "labels": labels, "annotations": {SIMULATED[0]: "true"}},
                "spec": {"taints": taints},
                "status": {"capacity": capacity, "allocatable": capacity},
            }))
        };
        let objects: Result<Vec<Object>, _> = self.names.nodes.iter().map(object).collect();
        Ok(objects?)
    }
}

fn pair<'t>(flag: &str, text: &'t str) -> Result<(&'t str, &'t str)> {
    let found = text.split_once('=').filter(|(name, _)| !name.is_empty());
    found.ok_or_else(|| exit::Usage(format!("{flag} {text}: must be NAME=VALUE")).into())
}

async fn add(client: &Client, objects: Vec<Object>) -> Result<u8> {
    let nodes = nodes(client);
    for object in &objects {
        if nodes.find(&object.key()).await?.is_some() {
            return Err(exit::Usage(format!("node {:?} exists already; nothing was added", object.name())).into());
        }
    }
    for object in &objects {
        nodes.create(object).await.map_err(|error| exit::Usage(error.to_string()))?;
        out!("node/{} added", object.name())?;
    }
    Ok(exit::PASS)
}

/// Writes annotations of simulated nodes; of none of them, if one does not exist or is not simulated.
async fn annotate(client: &Client, names: &[String], said: &[(&str, Option<&str>)], done: &str) -> Result<u8> {
    for name in names {
        simulated(client, name).await?;
    }
    let annotations: Map<String, Value> =
        said.iter().map(|(name, value)| ((*name).to_owned(), value.map_or(Value::Null, Value::from))).collect();
    let patch = Patch::Merge(json!({"metadata": {"annotations": annotations}}));
    for name in names {
        nodes(client).patch(&ObjectKey::cluster(name.as_str()), &patch).await?;
        out!("node/{name} {done}")?;
    }
    Ok(exit::PASS)
}

async fn simulated(client: &Client, name: &str) -> Result<()> {
    let Some(node) = nodes(client).find(&ObjectKey::cluster(name)).await? else {
        return Err(exit::Usage(format!("node {name:?} not found")).into());
    };
    if is_simulated(&node) {
        Ok(())
    } else {
        Err(exit::Usage(format!("node {name:?} is not simulated: {} is missing", SIMULATED[0])).into())
    }
}

async fn drain(client: &Client, arguments: &DrainArgs) -> Result<u8> {
    let DrainArgs { node, force, grace_period, timeout } = arguments;
    if nodes(client).find(&ObjectKey::cluster(node.as_str())).await?.is_none() {
        return Err(exit::Usage(format!("node {node:?} not found")).into());
    }
    let asked = Drain {
        node: node.clone(),
        grace_period_seconds: *grace_period,
        force: *force,
        wait: true,
        timeout: Some(*timeout),
    };
    let _draining = Progress::of(format!("draining {node}"));
    match coracle_scenario::drain(client, &asked, *timeout).await {
        Ok(()) => {
            out!("node/{node} drained")?;
            Ok(exit::PASS)
        }
        Err(why) => {
            note!("coracle: {why}");
            Ok(exit::NOT_IN_TIME)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(capacity: &[&str], labels: &[&str], taints: &[&str]) -> Result<Vec<Object>> {
        let texts = |all: &[&str]| all.iter().map(|text| (*text).to_owned()).collect();
        let names = Names { nodes: vec!["a".to_owned()] };
        Add { names, labels: texts(labels), taints: texts(taints), capacity: texts(capacity) }.objects()
    }

    #[test]
    fn options_of_new_nodes_are_validated_before_any_write() {
        let object = &add(&["cpu=2"], &["zone=a"], &["gpu=yes:NoSchedule"]).unwrap()[0];
        assert_eq!(object.field("status.capacity.cpu"), Some(&json!("2")));
        assert_eq!(object.field("status.capacity.pods"), Some(&json!("110")), "the rest is as on every node");
        assert_eq!(object.field("spec.taints"), Some(&json!([{"key": "gpu", "value": "yes", "effect": "NoSchedule"}])));
        let refused = |capacity: &[&str], labels: &[&str], taints: &[&str]| {
            add(capacity, labels, taints).unwrap_err().to_string()
        };
        assert!(refused(&["cpu=many"], &[], &[]).starts_with("--capacity cpu=many: `many` is no quantity"));
        assert_eq!(refused(&[], &["zone"], &[]), "--label zone: must be NAME=VALUE");
        assert!(refused(&[], &[], &["gpu"]).starts_with("--taint: `gpu` is not a taint"));
    }
}
