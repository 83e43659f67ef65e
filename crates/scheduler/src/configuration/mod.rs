//! Reads a scheduler configuration file.
//!
//! ```text
//! text --> YamlNode: a tree with lines --> StrictReader: fields --> profiles, plug-in sets, arguments --> Config
//! ```
//! Start at [`Configuration::read`]. Unreadable or unsupported settings are rejected, with line and path. In
//! Kubernetes: `kubescheduler.config.k8s.io/v1` and `pkg/scheduler/apis/config/validation`.

mod node_affinity;
mod plugin_arguments;
mod plugin_sets;
mod profiles;
mod spread_defaults;

use std::time::Duration;

use coracle_controller_runtime::LeaderTimings;
use coracle_meta::ObjectKey;
use coracle_release::Release;
use coracle_yaml::{At, KnownFields, StrictReader, YamlNode};

use crate::config::Config;
use crate::queue::Backoff;

/// The errors in a scheduler configuration, a line each: `FILE:LINE: PATH: MESSAGE`.
pub use coracle_yaml::InvalidFile as ConfigurationError;

const API_VERSION: &str = "kubescheduler.config.k8s.io/v1";
const KIND: &str = "KubeSchedulerConfiguration";

/// The content of a configuration file.
#[derive(Clone, Debug)]
pub struct Configuration {
    /// The configuration; leader election is on if the file enables it.
    pub config: Config,
    /// The leader election timings; `None` if the file disables leader election.
    pub leader_election: Option<LeaderTimings>,
    /// How to reach the API server (`clientConnection.kubeconfig`).
    pub kubeconfig: Option<String>,
    /// Settings that are accepted without effect, a sentence each.
    pub notes: Vec<String>,
}

impl Configuration {
    /// Reads the text of a file for the default release; `file` is its name in messages.
    ///
    /// # Errors
    /// All errors in the file.
    pub fn read(file: &str, text: &str) -> Result<Self, ConfigurationError> {
        Self::read_for(&Release::default(), file, text)
    }

    /// Reads the text of a file for a release.
    ///
    /// # Errors
    /// All errors in the file.
    pub fn read_for(release: &Release, file: &str, text: &str) -> Result<Self, ConfigurationError> {
        let root = YamlNode::parse(text).map_err(|error| ConfigurationError::new(file, error))?;
        let mut reader = StrictReader::new(file);
        let known = [
            "apiVersion",
            "kind",
            "parallelism",
            "leaderElection",
            "clientConnection",
            "enableProfiling",
            "enableContentionProfiling",
            "percentageOfNodesToScore",
            "podInitialBackoffSeconds",
            "podMaxBackoffSeconds",
            "profiles",
            "extenders",
            "delayCacheUntilActive",
        ];
        let root = At::root(&root);
        let fields = reader.fields(&root, &known);
        is_ours(&mut reader, &root, &fields);
        without_meaning(&mut reader, &fields);
        let backoff = backoff(&mut reader, &fields);
        let (said, timings, lease) = leader_election(&mut reader, fields.get("leaderElection"));
        let kubeconfig = client_connection(&mut reader, fields.get("clientConnection"));
        let percentage = percentage_of_nodes(&mut reader, fields.get("percentageOfNodesToScore"));
        let profiles = profiles::read(&mut reader, fields.get("profiles"), percentage.unwrap_or(0), release);
        let notes = reader.finish()?;
        let leader_election = (said != Some(false)).then_some(timings);
        let config = Config {
            profiles,
            backoff,
            leader_election: leader_election.filter(|_| said == Some(true)),
            lease,
            ..Config::of(release)
        };
        Ok(Self { config, leader_election, kubeconfig, notes })
    }
}

fn is_ours(reader: &mut StrictReader, root: &At<'_>, fields: &KnownFields<'_>) {
    for (field, expected) in [("apiVersion", API_VERSION), ("kind", KIND)] {
        match fields.get(field) {
            None => reader.refuse(root, format!("{field} is missing, and must be {expected}")),
            Some(at) => {
                if reader.text(Some(at)).is_some_and(|found| found != expected) {
                    reader.invalid(at, &format!("must be {expected}"));
                }
            }
        }
    }
}

fn without_meaning(reader: &mut StrictReader, fields: &KnownFields<'_>) {
    if let Some(at) = fields.get("parallelism") {
        reader.within(Some(at), 1, i64::from(i32::MAX), "should be an integer value greater than zero");
        reader.note(at, "has no meaning here: one thread decides");
    }
    for (field, why) in [
        ("enableProfiling", "has no meaning here: nothing is profiled"),
        ("enableContentionProfiling", "has no meaning here: nothing is profiled"),
        ("delayCacheUntilActive", "has no meaning here: informers run from the start"),
    ] {
        if reader.bool(fields.get(field)) == Some(true)
            && let Some(at) = fields.get(field)
        {
            reader.note(at, why);
        }
    }
    if let Some(at) = fields.get("extenders") {
        for extender in reader.list(Some(at)) {
            reader.refuse(&extender, "extenders are not built");
        }
    }
}

fn backoff(reader: &mut StrictReader, fields: &KnownFields<'_>) -> Backoff {
    let (initial_at, longest_at) = (fields.get("podInitialBackoffSeconds"), fields.get("podMaxBackoffSeconds"));
    let initial = reader.within(initial_at, 1, i64::MAX, "must be greater than 0").unwrap_or(1);
    let longest = reader.integer(longest_at).unwrap_or(10);
    if longest < initial
        && let Some(at) = longest_at.or(initial_at)
    {
        let why = format!("Invalid value: {longest}: must be greater than or equal to PodInitialBackoffSeconds");
        reader.refuse(&At { path: "podMaxBackoffSeconds".to_owned(), ..at.clone() }, why);
    }
    let seconds = |count: i64| Duration::from_secs(count.unsigned_abs());
    Backoff { initial: seconds(initial), longest: seconds(longest) }
}

fn percentage_of_nodes(reader: &mut StrictReader, at: Option<&At<'_>>) -> Option<usize> {
    let percentage = reader.within(at, 0, 100, "not in valid range [0-100]")?;
    usize::try_from(percentage).ok()
}

/// Whether leader election is set, its timings, and its Lease.
fn leader_election(reader: &mut StrictReader, at: Option<&At<'_>>) -> (Option<bool>, LeaderTimings, ObjectKey) {
    let mut timings = LeaderTimings::default();
    let known = [
        "leaderElect",
        "leaseDuration",
        "renewDeadline",
        "retryPeriod",
        "resourceLock",
        "resourceName",
        "resourceNamespace",
    ];
    let fields = at.map(|at| reader.fields(at, &known)).unwrap_or_default();
    let said = reader.bool(fields.get("leaderElect"));
    for (field, timing) in [
        ("leaseDuration", &mut timings.lease),
        ("renewDeadline", &mut timings.renew_deadline),
        ("retryPeriod", &mut timings.retry),
    ] {
        // Zero selects the default, as in Kubernetes.
        if let Some(span) = reader.duration(fields.get(field)).filter(|span| !span.is_zero()) {
            *timing = span;
        }
    }
    let mut name = |field: &str, default: &str| {
        let text = reader.text(fields.get(field)).filter(|text| !text.is_empty());
        text.unwrap_or_else(|| default.to_owned())
    };
    let lease = ObjectKey::new(name("resourceNamespace", "kube-system"), name("resourceName", "kube-scheduler"));
    let lock = name("resourceLock", "leases");
    if let Some(at) = at.filter(|_| said != Some(false)) {
        let field = |name: &str| fields.get(name).unwrap_or(at).clone();
        if lock != "leases" {
            reader.invalid(&field("resourceLock"), "resourceLock value must be \"leases\"");
        }
        if timings.lease <= timings.renew_deadline {
            reader.invalid(&field("leaseDuration"), "must be greater than `RenewDeadline`");
        }
        if timings.renew_deadline <= timings.retry.mul_f64(1.2) {
            reader.invalid(&field("renewDeadline"), "must be greater than retryPeriod*JitterFactor");
        }
    }
    (said, timings, lease)
}

fn client_connection(reader: &mut StrictReader, at: Option<&At<'_>>) -> Option<String> {
    let at = at?;
    let fields = reader.fields(at, &["kubeconfig", "acceptContentTypes", "contentType", "qps", "burst"]);
    for field in ["acceptContentTypes", "contentType"] {
        reader.text(fields.get(field));
    }
    reader.number(fields.get("qps"));
    reader.within(fields.get("burst"), 0, i64::from(i32::MAX), "must be non-negative");
    for field in ["acceptContentTypes", "contentType", "qps", "burst"] {
        if let Some(at) = fields.get(field) {
            reader.note(at, "has no meaning here: requests are JSON and not throttled");
        }
    }
    reader.text(fields.get("kubeconfig")).filter(|path| !path.is_empty())
}

#[cfg(test)]
mod tests;
