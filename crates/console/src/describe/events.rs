//! The events of an object.

use coracle_ambient::Timestamp;
use serde_json::Value;

use super::times::since;
use super::{Description, Facts};
use crate::manifests::Info;
use crate::session::CommandSession;
use crate::values::{list, name, number, text};

/// The annotation of a mirror pod, whose events carry its value as their uid.
const MIRROR: &str = "kubernetes.io/config.mirror";

/// The events of an object. In Kubernetes: `describe.searchEvents`.
pub(super) async fn of_object(session: &mut CommandSession<'_>, info: &Info) -> Vec<Value> {
    let uid = match info.object["metadata"]["annotations"][MIRROR].as_str() {
        Some(mirrored) => mirrored,
        None => text(&info.object, "/metadata/uid"),
    };
    let is_pod = info.kind.is_named("", "Pod");
    let kind = if is_pod { "" } else { info.kind.kind.as_str() };
    let mut events = search(session, info, kind, uid).await;
    if info.kind.is_named("", "Node") {
        let name = name(&info.object).to_owned();
        events.extend(search(session, info, kind, &name).await);
    }
    events
}

async fn search(session: &mut CommandSession<'_>, info: &Info, kind: &str, uid: &str) -> Vec<Value> {
    let parts = [("kind", kind), ("name", &info.name), ("namespace", &info.namespace), ("uid", uid)];
    let parts: Vec<String> = parts
        .iter()
        .filter(|(name, value)| !value.is_empty() || *name == "namespace")
        .map(|(name, value)| format!("involvedObject.{name}={value}"))
        .collect();
    let Ok(events) = session.built_in("", "Event").await else { return Vec::new() };
    session.list(&events, &info.namespace, "", &parts.join(",")).await.unwrap_or_default()
}

/// The table of events, if they are shown.
pub(super) fn describe(out: &mut Description, facts: &Facts) {
    let Some(events) = &facts.events else { return };
    if events.is_empty() {
        out.line(0, "Events:\t<none>");
        return;
    }
    let mut events: Vec<&Value> = events.iter().collect();
    events.sort_by_key(|event| text(event, "/lastTimestamp").to_owned());
    out.line(0, "Events:\n  Type\tReason\tAge\tFrom\tMessage");
    out.line(1, "----\t------\t----\t----\t-------");
    for event in events {
        let source = match text(event, "/source/component") {
            "" => text(event, "/reportingComponent"),
            component => component,
        };
        let message = text(event, "/message").trim();
        let line = [text(event, "/type"), text(event, "/reason"), &interval(event, facts.now), source, message];
        out.line(1, line.join("\t"));
    }
}

/// When an event happened, and how often.
pub(crate) fn interval(event: &Value, now: Timestamp) -> String {
    let first = if event["eventTime"].is_string() { "/eventTime" } else { "/firstTimestamp" };
    let first = since(event, first, now);
    if let Some(count) = number(event, "/series/count") {
        return format!("{} (x{count} over {first})", since(event, "/series/lastObservedTime", now));
    }
    match number(event, "/count") {
        Some(count) if count > 1 => format!("{} (x{count} over {first})", since(event, "/lastTimestamp", now)),
        _ => first,
    }
}

/// The controller of an object: `ReplicaSet/web-1`.
pub(super) fn controller(object: &Value) -> Option<String> {
    let owners = list(object, "/metadata/ownerReferences");
    let controller = owners.iter().find(|owner| owner["controller"] == true)?;
    Some(format!("{}/{}", text(controller, "/kind"), text(controller, "/name")))
}
