use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use coracle_cluster::Images;
use coracle_yaml::{Location, Spanned};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{self, Deserializer, SeqAccess, Visitor};
use serde_json::Value;

use super::duration::duration;
use crate::schema_words::{DurationText, ModeText, OwnInformersWord, ReleaseText, WholeObject};

/// The cluster that a scenario runs in.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ClusterSpec {
    /// How many simulated nodes, named `node-1` and so on; or the shape of each.
    #[schemars(with = "Nodes")]
    pub nodes: Spanned<Nodes>,
    /// The Kubernetes release of all components, such as `1.36`; the command line takes precedence.
    #[schemars(with = "ReleaseText")]
    pub kubernetes: Option<Spanned<String>>,
    /// `virtual`, `real` or `scaled=N`; the command line takes precedence.
    #[schemars(with = "ModeText")]
    pub mode: Option<Spanned<String>>,
    /// The seed of all randomness; the command line takes precedence.
    pub seed: Option<u64>,
    /// How long operations take.
    pub latency: Latency,
    /// Whether `metrics.k8s.io` is served with the usage of pods.
    pub metrics_server: bool,
    /// Whether the controller-manager takes part in a leader election, as with `--leader-elect`.
    pub leader_election: bool,
    /// The images that exist, how long a pull takes, and what their programs do.
    pub images: Images,
    /// The controllers and nodes that have informers of their own, in addition to those that a fault needs.
    #[schemars(with = "Vec<OwnInformersWord>")]
    pub own_informers: Vec<Spanned<String>>,
}

impl Default for ClusterSpec {
    fn default() -> Self {
        let nodes = Spanned::new(Nodes::Count(2), Location::UNKNOWN);
        Self {
            nodes,
            kubernetes: None,
            mode: None,
            seed: None,
            latency: Latency::default(),
            metrics_server: false,
            leader_election: false,
            images: Images::default(),
            own_informers: Vec::new(),
        }
    }
}

/// The simulated nodes of a cluster.
#[derive(Clone, Debug, PartialEq)]
pub enum Nodes {
    /// This many equal nodes.
    Count(usize),
    /// One node per shape.
    Shapes(Vec<NodeShape>),
}

/// A simulated node.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NodeShape {
    /// Its name.
    pub name: String,
    /// Labels in addition to those that every node has.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// Taints that it registers with, as `kubectl taint` writes them: `key=value:NoSchedule`.
    #[serde(default)]
    pub taints: Vec<String>,
    /// Its capacity of `cpu`, `memory`, `pods` and other resources, as quantities. Resources that are not named have
    /// their default.
    #[serde(default)]
    pub capacity: BTreeMap<String, String>,
    /// Manifests of its static pods.
    #[serde(default)]
    #[schemars(with = "Vec<WholeObject>")]
    pub static_pods: Vec<Value>,
    /// When it joins the cluster.
    #[serde(default)]
    pub joins: Joins,
}

/// When a node joins the cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Joins {
    /// It exists from the start.
    #[default]
    AtStart,
    /// A step adds it.
    Later,
}

impl Nodes {
    /// The shape of each.
    pub fn shapes(&self) -> Vec<NodeShape> {
        match self {
            Self::Count(count) => (1..=*count).map(|number| NodeShape::plain(format!("node-{number}"))).collect(),
            Self::Shapes(shapes) => shapes.clone(),
        }
    }
}

impl NodeShape {
    fn plain(name: String) -> Self {
        Self {
            name,
            labels: BTreeMap::new(),
            taints: Vec::new(),
            capacity: BTreeMap::new(),
            static_pods: Vec::new(),
            joins: Joins::AtStart,
        }
    }
}

impl JsonSchema for Nodes {
    fn schema_name() -> Cow<'static, str> {
        "Nodes".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let shape = generator.subschema_for::<NodeShape>();
        json_schema!({"anyOf": [{"type": "integer", "minimum": 0}, {"type": "array", "items": shape}]})
    }
}

impl<'de> Deserialize<'de> for Nodes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;

        impl<'de> Visitor<'de> for Read {
            type Value = Nodes;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of nodes, or a list of them")
            }

            fn visit_u64<E: de::Error>(self, count: u64) -> Result<Nodes, E> {
                usize::try_from(count).map(Nodes::Count).map_err(E::custom)
            }

            fn visit_i64<E: de::Error>(self, count: i64) -> Result<Nodes, E> {
                usize::try_from(count).map(Nodes::Count).map_err(E::custom)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut shapes: A) -> Result<Nodes, A::Error> {
                let mut all = Vec::new();
                while let Some(shape) = shapes.next_element()? {
                    all.push(shape);
                }
                Ok(Nodes::Shapes(all))
            }
        }

        deserializer.deserialize_any(Read)
    }
}

/// How long operations take in the cluster's time.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Latency {
    /// The round trip of a request from a component to the API server.
    #[serde(deserialize_with = "duration")]
    #[schemars(with = "DurationText")]
    pub request: Duration,
    /// The delivery of a watch event to a component.
    #[serde(deserialize_with = "duration")]
    #[schemars(with = "DurationText")]
    pub watch: Duration,
    /// The time from the binding of a pod until its containers run.
    #[serde(deserialize_with = "duration")]
    #[schemars(with = "DurationText")]
    pub pod_start: Duration,
    /// The time from a pod's deletion until its containers have stopped, at most its grace period.
    #[serde(deserialize_with = "duration")]
    #[schemars(with = "DurationText")]
    pub pod_stop: Duration,
}

impl Default for Latency {
    fn default() -> Self {
        Self {
            request: Duration::from_millis(2),
            watch: Duration::from_millis(3),
            pod_start: Duration::from_millis(800),
            pod_stop: Duration::from_millis(400),
        }
    }
}
