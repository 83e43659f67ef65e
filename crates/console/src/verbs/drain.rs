//! `drain`: a node without new pods, whose pods are evicted.
//!
//! In Kubernetes: `kubectl/pkg/cmd/drain` and `kubectl/pkg/drain`.

use std::collections::BTreeMap;
use std::time::Duration;

use coracle_meta::{ObjectKey, format_duration, go_quote};
use http::Method;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::await_object::{Awaited, until_gone};
use crate::failure::Failure;
use crate::flags::Flag;
use crate::generator::print;
use crate::manifests::Info;
use crate::nodes::{cordon, nodes};
use crate::session::{CommandSession, JSON, complain, say};
use crate::values::{list, name, namespace, text};
use crate::verb::{SELECTOR, Verb};
use crate::write_flags::{DryRun, dry_run};

const FLAGS: &[Flag] = &[
    Flag::bool("force", "Also pods without a controller"),
    Flag::bool("ignore-daemonsets", "Leave the pods of DaemonSets"),
    Flag::bool("delete-emptydir-data", "Also pods with an emptyDir"),
    Flag::number("grace-period", "The grace period of the pods"),
    Flag::duration("timeout", "How long to wait; 0 waits without end"),
    Flag::text("pod-selector", "Only pods with these labels"),
    Flag::bool("disable-eviction", "Delete pods instead of evicting them"),
    Flag::number("skip-wait-for-delete-timeout", "Without effect"),
    Flag::number("chunk-size", "Without effect"),
    Flag::optional("dry-run", "unchanged", "none, client or server"),
];

pub(super) const VERB: Verb = Verb {
    words: &["drain"],
    aliases: &[],
    flags: &[FLAGS, SELECTOR],
    required: &[],
    about: "Drain node in preparation for maintenance",
    run: |session| Box::pin(run(session)),
};

/// What happens to a pod.
enum Fate {
    Evicted,
    /// Evicted or left, with this warning.
    Warned {
        is_evicted: bool,
        message: String,
    },
    Left,
    Refused(String),
}

async fn run(session: &mut CommandSession<'_>) -> Result<(), Failure> {
    let dry_run = dry_run(session)?;
    let nodes = nodes(session).await?;
    cordon(session, &nodes, true, dry_run).await?;
    let mut failures = Vec::new();
    let mut pending = Vec::new();
    for node in &nodes {
        match drain(session, node, dry_run).await {
            Ok(()) => print(session, &node.object, "drained")?,
            Err(failure) => {
                let (name, why) = (go_quote(&node.name), failure.bare());
                complain!(session, "error: unable to drain node {name} due to error: {why}, continuing command...");
                pending.push(node.name.clone());
                failures.push(match failure {
                    Failure::Several(all) => Failure::Several(all),
                    one => Failure::Several(vec![one]),
                });
            }
        }
    }
    if !pending.is_empty() {
        complain!(session, "There are pending nodes to be drained:");
        for node in pending {
            complain!(session, " {node}");
        }
    }
    Failure::aggregate(flat(failures))
}

/// Errors of several nodes as one list.
fn flat(failures: Vec<Failure>) -> Vec<Failure> {
    if failures.len() == 1 {
        return failures;
    }
    let inner = |failure| match failure {
        Failure::Several(all) => all,
        one => vec![one],
    };
    failures.into_iter().flat_map(inner).collect()
}

async fn drain(session: &mut CommandSession<'_>, node: &Info, dry_run: DryRun) -> Result<(), Failure> {
    let pods = doomed(session, &node.name).await?;
    if dry_run == DryRun::Client {
        for pod in &pods {
            say!(session, "evicting pod {}/{} (dry run)", namespace(pod), name(pod));
        }
        return Ok(());
    }
    evict_all(session, &pods, dry_run).await
}

/// The pods of a node that are evicted; warnings are printed.
async fn doomed(session: &mut CommandSession<'_>, node: &str) -> Result<Vec<Value>, Failure> {
    let kind = session.built_in("", "Pod").await?;
    let labels = session.flags.text("pod-selector").to_owned();
    let pods = session.list(&kind, "", &labels, &format!("spec.nodeName={node}")).await?;
    let mut evicted = Vec::new();
    let (mut warnings, mut refusals) = (BTreeMap::<String, Vec<String>>::new(), BTreeMap::<String, Vec<String>>::new());
    for pod in pods {
        let title = format!("{}/{}", namespace(&pod), name(&pod));
        match fate(session, &pod).await {
            Fate::Evicted => evicted.push(pod),
            Fate::Left => {}
            Fate::Warned { is_evicted, message } => {
                warnings.entry(message).or_default().push(title);
                if is_evicted {
                    evicted.push(pod);
                }
            }
            Fate::Refused(why) => refusals.entry(why).or_default().push(title),
        }
    }
    let refusals =
        refusals.into_iter().map(|(why, pods)| Failure::text(format!("cannot delete {why}: {}", pods.join(", "))));
    Failure::aggregate(refusals.collect())?;
    let warnings: Vec<String> =
        warnings.into_iter().map(|(message, pods)| format!("{message}: {}", pods.join(", "))).collect();
    if !warnings.is_empty() {
        complain!(session, "Warning: {}", warnings.join("; "));
    }
    Ok(evicted)
}

/// In Kubernetes: the filters of `drain.Helper`.
async fn fate(session: &mut CommandSession<'_>, pod: &Value) -> Fate {
    let is_finished = ["Succeeded", "Failed"].contains(&text(pod, "/status/phase"));
    let is_forced = session.flags.is("force");
    let owners = list(pod, "/metadata/ownerReferences");
    let controller = owners.iter().find(|owner| owner["controller"] == true);
    if let Some(controller) = controller.filter(|owner| owner["kind"] == "DaemonSet" && !is_finished) {
        let Ok(kind) = session.built_in("apps", "DaemonSet").await else { return Fate::Left };
        match session.get(&kind, namespace(pod), text(controller, "/name")).await {
            Ok(_) if session.flags.is("ignore-daemonsets") => {
                let message = "ignoring DaemonSet-managed Pods".to_owned();
                return Fate::Warned { is_evicted: false, message };
            }
            Ok(_) => return Fate::Refused("DaemonSet-managed Pods (use --ignore-daemonsets to ignore)".to_owned()),
            Err(failure) if failure.is_not_found() && is_forced => {}
            Err(failure) => return Fate::Refused(failure.bare()),
        }
    }
    if !pod["metadata"]["annotations"]["kubernetes.io/config.mirror"].is_null() {
        return Fate::Left;
    }
    let has_local = list(pod, "/spec/volumes").iter().any(|volume| volume["emptyDir"].is_object());
    if has_local && !is_finished && !session.flags.is("delete-emptydir-data") {
        return Fate::Refused("Pods with local storage (use --delete-emptydir-data to override)".to_owned());
    }
    // As in Kubernetes, the last filter decides about the warning: the others are lost.
    match (is_finished || controller.is_some(), is_forced) {
        (true, _) => Fate::Evicted,
        (false, true) => {
            let message = "deleting Pods that declare no controller".to_owned();
            Fate::Warned { is_evicted: true, message }
        }
        (false, false) => {
            Fate::Refused("cannot delete Pods that declare no controller (use --force to override)".to_owned())
        }
    }
}

async fn evict_all(session: &mut CommandSession<'_>, pods: &[Value], dry_run: DryRun) -> Result<(), Failure> {
    let timeout = session.flags.duration("timeout").filter(|timeout| !timeout.is_zero());
    let forever = Duration::from_secs(10 * 365 * 86400);
    let deadline = Instant::now() + timeout.unwrap_or(forever).min(forever);
    let mut failures = Vec::new();
    let mut evicted = Vec::new();
    for pod in pods {
        match evict(session, pod, dry_run, deadline).await {
            Ok(true) => evicted.push(pod),
            Ok(false) => {}
            Err(failure) => failures.push(failure),
        }
    }
    if dry_run == DryRun::Server {
        return Failure::aggregate(failures);
    }
    let kind = session.built_in("", "Pod").await?;
    for pod in evicted {
        let key = ObjectKey::new(namespace(pod), name(pod));
        let awaited = Awaited { kind: &kind, key: &key, uid: text(pod, "/metadata/uid"), deadline };
        match until_gone(session, &awaited).await {
            Ok(()) => {
                let word = if session.flags.is("disable-eviction") { "deleted" } else { "evicted" };
                say!(session, "pod/{} {word}", key.name);
            }
            Err(_) => {
                let (name, within) = (go_quote(&key.name), go_quote(&key.namespace));
                let timeout = format_duration(timeout.unwrap_or_default());
                let why = format!("global timeout reached: {timeout}");
                failures.push(Failure::text(format!(
                    "error when waiting for pod {name} in namespace {within} to terminate: {why}"
                )));
            }
        }
    }
    Failure::aggregate(failures)
}

/// Evicts a pod, and tries again while a disruption budget does not allow it. False if it is gone already.
async fn evict(
    session: &mut CommandSession<'_>,
    pod: &Value,
    dry_run: DryRun,
    deadline: Instant,
) -> Result<bool, Failure> {
    let kind = session.built_in("", "Pod").await?;
    let (within, name) = (namespace(pod), name(pod));
    let mut options = json!({});
    if let Some(seconds) = session.flags.number("grace-period").filter(|seconds| *seconds >= 0) {
        options["gracePeriodSeconds"] = seconds.into();
    }
    if dry_run == DryRun::Server {
        options["dryRun"] = json!(["All"]);
    }
    if session.flags.is("disable-eviction") {
        session.delete(&kind, within, name, options).await?;
        return Ok(true);
    }
    let eviction = json!({
        "apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"creationTimestamp": null, "name": name, "namespace": within},
        "deleteOptions": options,
    });
    let suffix = if dry_run == DryRun::Server { " (server dry run)" } else { "" };
    loop {
        say!(session, "evicting pod {within}/{name}{suffix}");
        let (quoted, space) = (go_quote(name), go_quote(within));
        let path = kind.path(within, name, "eviction");
        match session.write(Method::POST, path, JSON, &eviction).await {
            Ok(_) => return Ok(true),
            Err(failure) if failure.is_not_found() => return Ok(false),
            Err(failure) if failure.status().is_some_and(|status| status.code == 429) => {
                let why = failure.bare();
                complain!(session, "error when evicting pods/{quoted} -n {space} (will retry after 5s): {why}");
                sleep(Duration::from_secs(5)).await;
                if Instant::now() >= deadline {
                    let timeout = format_duration(session.flags.duration("timeout").unwrap_or_default());
                    return Err(Failure::text(format!(
                        "error when evicting pods/{quoted} -n {space}: global timeout reached: {timeout}"
                    )));
                }
            }
            Err(failure) => {
                let why = failure.bare();
                return Err(Failure::text(format!("error when evicting pods/{quoted} -n {space}: {why}")));
            }
        }
    }
}
