//! `logs`.
//!
//! In Kubernetes: `kubectl/pkg/cmd/logs`.

use coracle_client::RawRequest;
use coracle_meta::go_quote;
use serde_json::Value;

use crate::containers;
use crate::describe::selector;
use crate::failure::Failure;
use crate::flags::Flag;
use crate::selection::{Wanted, select};
use crate::session::{CommandSession, complain, query};
use crate::values::{list, map, name, namespace, number, show, text};
use crate::verb::{SELECTOR, Verb};

const USAGE: &str = "expected 'logs [-f] [-p] (POD | TYPE/NAME) [-c CONTAINER]'.
POD or TYPE/NAME is a required argument for the logs command";

const FLAGS: &[Flag] = &[
    Flag::bool("all-containers", "All containers of the pods"),
    Flag::bool("all-pods", "All pods of the object"),
    Flag::text("container", "The container").or('c'),
    Flag::bool("follow", "Not supported").or('f'),
    Flag::bool("previous", "The previous instance of the container").or('p'),
    Flag::bool("prefix", "The pod and the container before each line"),
    Flag::bool("timestamps", "The time before each line"),
    Flag::number("tail", "Only the last lines"),
    Flag::duration("since", "Only lines of this time"),
    Flag::text("since-time", "Only lines after this time"),
    Flag::number("limit-bytes", "The maximum number of bytes"),
    Flag::bool("ignore-errors", "Continue after errors"),
    Flag::number("max-log-requests", "Without effect"),
];

pub(super) const VERB: Verb = Verb {
    words: &["logs"],
    aliases: &[],
    flags: &[FLAGS, SELECTOR],
    required: &[],
    about: "Print the logs for a container in a pod",
    run: |session| Box::pin(run(session)),
};

async fn run(session: &mut CommandSession<'_>) -> Result<(), Failure> {
    let (args, labels) = (session.args().to_vec(), session.flags.text("selector").to_owned());
    let mut container = session.flags.text("container").to_owned();
    match (args.len(), labels.is_empty()) {
        (0, true) | (3.., _) => return Err(Failure::usage(USAGE, "logs")),
        (1, false) => return Err(Failure::usage("only a selector (-l) or a POD name is allowed", "logs")),
        (2, _) => container.clone_from(&args[1]),
        _ => {}
    }
    let has_all = session.flags.is("all-containers");
    let pods = pods(session, args.first(), &labels).await?;
    if has_all && !container.is_empty() {
        let why = format!("--all-containers=true should not be specified with container name {container}");
        return Err(Failure::text(why));
    }
    if session.flags.has("container") && args.len() == 2 {
        return Err(Failure::text("only one of -c or an inline [CONTAINER] arg is allowed"));
    }
    if session.flags.is("follow") {
        return Err(Failure::text("the console has no logs --follow: a command ends before the next one starts"));
    }
    for pod in &pods {
        for container in containers(session, pod, &container)? {
            print_log(session, pod, &container).await?;
        }
    }
    Ok(())
}

/// The pods that the arguments mean.
async fn pods(session: &mut CommandSession<'_>, arg: Option<&String>, labels: &str) -> Result<Vec<Value>, Failure> {
    let kind = session.built_in("", "Pod").await?;
    let Some(arg) = arg else {
        let within = session.namespace();
        let pods = session.list(&kind, &within, labels, "").await?;
        if pods.is_empty() {
            complain!(session, "No resources found in {within} namespace.");
        }
        return Ok(pods);
    };
    let arg = if arg.contains('/') { arg.clone() } else { format!("pods/{arg}") };
    let wanted = Wanted { args: vec![arg], ..Wanted::default() };
    let within = session.namespace();
    let infos = select(session, &wanted).await?.fetch_all(session).await;
    let infos = infos.map_err(|failure| {
        if failure.is_not_found() {
            let space = go_quote(&within);
            Failure::text(format!("error from server (NotFound): {} in namespace {space}", failure.bare()))
        } else {
            failure
        }
    })?;
    let Some(info) = infos.into_iter().next() else { return Err(Failure::text("expected a resource")) };
    if info.kind.is_named("", "Pod") {
        return Ok(vec![info.object]);
    }
    let labels = match info.kind.kind.as_str() {
        "Service" | "ReplicationController" => {
            let pairs = map(&info.object, "/spec/selector").into_iter().flatten();
            pairs.map(|(key, value)| format!("{key}={}", show(value))).collect::<Vec<_>>().join(",")
        }
        _ if info.object["spec"]["selector"].is_object() => selector(&info.object["spec"]["selector"]),
        kind => {
            let selector = format!("selector for *v1.{kind} not implemented");
            return Err(Failure::text(format!("cannot get the logs from *v1.{kind}: {selector}")));
        }
    };
    let mut pods = session.list(&kind, &info.namespace, &labels, "").await?;
    pods.sort_by_cached_key(order);
    let count = pods.len();
    if count == 0 {
        return Err(Failure::text("timed out waiting for the condition"));
    }
    if count > 1 && !session.flags.is("all-pods") {
        complain!(session, "Found {count} pods, using pod/{}", name(&pods[0]));
        pods.truncate(1);
    }
    Ok(pods)
}

/// Pods that run for a long time come first. In Kubernetes: `podutils.ByLogging`.
fn order(pod: &Value) -> (bool, u8, bool, String, i64, String) {
    let ready = list(pod, "/status/conditions").iter().find(|condition| condition["type"] == "Ready");
    let ready = ready.filter(|condition| condition["status"] == "True");
    let phase = match text(pod, "/status/phase") {
        "Unknown" => 1,
        "Pending" => 2,
        _ => 0,
    };
    let restarts = list(pod, "/status/containerStatuses").iter().filter_map(|status| number(status, "/restartCount"));
    let since = ready.map_or("", |condition| text(condition, "/lastTransitionTime"));
    let created = text(pod, "/metadata/creationTimestamp");
    let restarts = -restarts.max().unwrap_or(0);
    (text(pod, "/spec/nodeName").is_empty(), phase, ready.is_none(), since.to_owned(), restarts, created.to_owned())
}

/// The containers whose logs are printed.
fn containers(session: &mut CommandSession<'_>, pod: &Value, wanted: &str) -> Result<Vec<String>, Failure> {
    if session.flags.is("all-containers") {
        return Ok(containers::all(pod));
    }
    let is_quiet = session.flags.is("all-pods");
    let chosen = containers::chosen(session, pod, wanted, is_quiet);
    if !containers::all(pod).contains(&chosen) {
        return Err(Failure::text(format!("container {chosen} is not valid for pod {}", name(pod))));
    }
    Ok(vec![chosen])
}

async fn print_log(session: &mut CommandSession<'_>, pod: &Value, container: &str) -> Result<(), Failure> {
    let kind = session.built_in("", "Pod").await?;
    let flags = &session.flags;
    let flag = |name: &str| if flags.is(name) { "true".to_owned() } else { String::new() };
    let tail = match flags.number("tail") {
        None if !flags.text("selector").is_empty() => "10".to_owned(),
        None | Some(-1) => String::new(),
        Some(lines) => lines.to_string(),
    };
    let since = flags.duration("since").map(|since| since.as_secs_f64().round().to_string()).unwrap_or_default();
    let limit =
        flags.number("limit-bytes").filter(|limit| *limit != 0).map(|limit| limit.to_string()).unwrap_or_default();
    let since_time = flags.text("since-time").to_owned();
    let parameters = [
        ("container", container.to_owned()),
        ("limitBytes", limit),
        ("previous", flag("previous")),
        ("sinceSeconds", since),
        ("sinceTime", since_time),
        ("tailLines", tail),
        ("timestamps", flag("timestamps")),
    ];
    let parameters: Vec<(&str, &str)> = parameters.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let path = kind.path(namespace(pod), name(pod), "log") + &query(&parameters);
    let body = match session.send(RawRequest::get(path, "*/*")).await {
        Ok(body) => String::from_utf8_lossy(&body).into_owned(),
        Err(failure) if session.flags.is("ignore-errors") => {
            session.out.push_str(&format!("error: {}\n", failure.bare()));
            return Ok(());
        }
        Err(failure) => return Err(failure),
    };
    if session.flags.is("prefix") || session.flags.is("all-pods") {
        for line in body.split_inclusive('\n') {
            session.out.push_str(&format!("[pod/{}/{container}] {line}", name(pod)));
        }
    } else {
        session.out.push_str(&body);
    }
    Ok(())
}
