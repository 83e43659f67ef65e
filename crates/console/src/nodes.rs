//! The nodes that `cordon`, `uncordon` and `drain` name.

use serde_json::Value;

use crate::change::patch;
use crate::failure::Failure;
use crate::generator::print;
use crate::manifests::Info;
use crate::selection::{Wanted, select};
use crate::session::{CommandSession, PatchTarget, complain};
use crate::write_flags::DryRun;

/// Reads the nodes of a command.
pub(crate) async fn nodes(session: &mut CommandSession<'_>) -> Result<Vec<Info>, Failure> {
    let verb = session.command.clone();
    let labels = session.flags.text("selector").to_owned();
    if session.args().is_empty() && labels.is_empty() {
        return Err(Failure::usage(&format!("USAGE: {verb} NODE [flags]"), &verb));
    }
    if !session.args().is_empty() && !labels.is_empty() {
        return Err(Failure::usage("error: cannot specify both a node name and a --selector option", &verb));
    }
    let name = |arg: &String| match arg.split_once('/') {
        Some(_) => arg.clone(),
        None => format!("nodes/{arg}"),
    };
    let args = if labels.is_empty() { session.args().iter().map(name).collect() } else { vec!["nodes".to_owned()] };
    let wanted = Wanted { args, labels, ..Wanted::default() };
    let infos = select(session, &wanted).await?.fetch_all(session).await?;
    match infos.iter().find(|info| !info.kind.is_named("", "Node")) {
        Some(other) => {
            let kind = &other.kind;
            let resource = format!("{}/{}, Resource={}", kind.group, kind.version, kind.plural);
            Err(Failure::text(format!(
                "error: expected resource of type node, got {}",
                coracle_meta::go_quote(&resource)
            )))
        }
        None => Ok(infos),
    }
}

/// Lets new pods come to nodes, or not. In Kubernetes: `RunCordonOrUncordon`.
pub(crate) async fn cordon(
    session: &mut CommandSession<'_>,
    nodes: &[Info],
    is_cordoned: bool,
    dry_run: DryRun,
) -> Result<(), Failure> {
    let word = if is_cordoned { "cordoned" } else { "uncordoned" };
    for node in nodes {
        if (node.object["spec"]["unschedulable"] == true) == is_cordoned {
            print(session, &node.object, &format!("already {word}"))?;
            continue;
        }
        let mut after = node.object.clone();
        match (is_cordoned, after["spec"].as_object_mut()) {
            (false, Some(spec)) => drop(spec.remove("unschedulable")),
            _ => after["spec"]["unschedulable"] = Value::Bool(true),
        }
        if dry_run != DryRun::Client {
            let (content_type, patch) = patch(&node.kind, &node.object, &after);
            let target = PatchTarget::new(&node.kind, "", &node.name);
            if let Err(failure) = session.patch(target, content_type, &patch, &dry_run.options("", "")).await {
                let verb = if is_cordoned { "cordon" } else { "uncordon" };
                let name = coracle_meta::go_quote(&node.name);
                complain!(session, "error: unable to {verb} node {name}: {}", failure.bare());
                continue;
            }
        }
        print(session, &node.object, word)?;
    }
    Ok(())
}
