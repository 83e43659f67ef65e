//! `delete`, which waits until the objects are gone.
//!
//! In Kubernetes: `kubectl/pkg/cmd/delete`.

use std::time::Duration;

use coracle_meta::ObjectKey;
use serde_json::{Value, json};

use crate::await_object::{Awaited, until_gone};
use crate::failure::Failure;
use crate::flags::Flag;
use crate::kinds::ServedKind;
use crate::selection::{Pick, SelectedObjects, Wanted, select, unable};
use crate::session::{CommandSession, complain, say};
use crate::values::text;
use crate::verb::{ALL, ALL_NAMESPACES, FIELD_SELECTOR, FILES, SELECTOR, Verb};
use crate::write_flags::{DryRun, dry_run};

const FLAGS: &[Flag] = &[
    Flag::text("output", "name, or nothing").or('o'),
    Flag::optional("cascade", "background", "background, orphan or foreground"),
    Flag::number("grace-period", "The seconds until a pod is killed"),
    Flag::bool("now", "A grace period of one second"),
    Flag::bool("force", "Delete pods without their node"),
    Flag::bool("wait", "Wait until the objects are gone"),
    Flag::duration("timeout", "How long to wait"),
    Flag::bool("ignore-not-found", "No error if an object does not exist"),
    Flag::bool("interactive", "Not supported").or('i'),
    Flag::optional("dry-run", "unchanged", "none, client or server"),
];

pub(super) const VERB: Verb = Verb {
    words: &["delete"],
    aliases: &[],
    flags: &[FLAGS, FILES, SELECTOR, FIELD_SELECTOR, ALL, ALL_NAMESPACES],
    required: &[],
    about: "Delete resources by file names, stdin, resources and names, or by resources and label selector",
    run: |session| Box::pin(run(session)),
};

/// An object to delete.
struct Doomed {
    kind: ServedKind,
    key: ObjectKey,
    source: String,
}

async fn run(session: &mut CommandSession<'_>) -> Result<(), Failure> {
    let grace = grace_period(session)?;
    let dry_run = dry_run(session)?;
    let wanted = Wanted::of(session, session.args());
    let selection = select(session, &wanted).await?;
    check(session, &wanted)?;
    if grace == Some(0) && session.flags.is("force") {
        complain!(
            session,
            "Warning: Immediate deletion does not wait for confirmation that the running resource has been terminated. The \
             resource may continue to run on the cluster indefinitely."
        );
    }
    let ignores = if session.flags.has("ignore-not-found") {
        session.flags.is("ignore-not-found")
    } else {
        wanted.is_all || !wanted.labels.is_empty() || !wanted.fields.is_empty()
    };
    let (doomed, mut failures) = targets(session, selection).await;
    let found = doomed.len();
    let mut deleted = Vec::new();
    let mut has_warned = !session.has_namespace() || session.flags.is("all-namespaces");
    for object in doomed {
        if !has_warned && !object.kind.is_namespaced {
            complain!(session, "Warning: deleting cluster-scoped resources, not scoped to the provided namespace");
            has_warned = true;
        }
        match delete(session, &object, grace, dry_run).await {
            Ok(answer) => deleted.push((object, uid(&answer))),
            Err(failure) if failure.is_not_found() && ignores => {}
            Err(failure) => failures.push(failure.while_doing("deleting", &object.source)),
        }
    }
    failures.retain(|failure| !(ignores && failure.is_not_found()));
    Failure::aggregate(failures)?;
    if found == 0 || (deleted.is_empty() && ignores) {
        if deleted.is_empty() && found == 0 {
            say!(session, "No resources found");
        }
        return Ok(());
    }
    if !session.flags.is_or("wait", true) || dry_run != DryRun::None {
        return Ok(());
    }
    let timeout = session.flags.duration("timeout").filter(|timeout| !timeout.is_zero());
    let deadline = tokio::time::Instant::now() + timeout.unwrap_or(Duration::from_secs(168 * 3600));
    for (object, uid) in deleted {
        let awaited = Awaited { kind: &object.kind, key: &object.key, uid: &uid, deadline };
        match until_gone(session, &awaited).await {
            Err(Failure::Api(_)) | Ok(()) => {}
            Err(failure) => return Err(failure),
        }
    }
    Ok(())
}

fn grace_period(session: &CommandSession<'_>) -> Result<Option<i64>, Failure> {
    let flags = &session.flags;
    let mut grace = flags.number("grace-period").filter(|seconds| *seconds >= 0);
    if flags.is("now") {
        if grace.is_some() {
            return Err(Failure::text("--now and --grace-period cannot be specified together"));
        }
        grace = Some(1);
    }
    if grace == Some(0) && !flags.is("force") {
        grace = Some(1);
    }
    if flags.is("force") && grace.is_none() {
        grace = Some(0);
    }
    Ok(grace)
}

fn check(session: &CommandSession<'_>, wanted: &Wanted) -> Result<(), Failure> {
    let flags = &session.flags;
    let output = flags.text("output");
    let refused = if !output.is_empty() && output != "name" {
        format!("unexpected -o output mode: {output}. We only support '-o name'")
    } else if wanted.is_all && !wanted.labels.is_empty() {
        "cannot set --all and --selector at the same time".to_owned()
    } else if wanted.is_all && !wanted.fields.is_empty() {
        "cannot set --all and --field-selector at the same time".to_owned()
    } else if flags.is("force") && grace_period(session)?.is_some_and(|seconds| seconds > 0) {
        "--force and --grace-period greater than 0 cannot be specified together".to_owned()
    } else if flags.is("interactive") {
        "the console has no --interactive: it does not ask".to_owned()
    } else {
        return Ok(());
    };
    Err(Failure::text(refused))
}

async fn targets(session: &mut CommandSession<'_>, selection: SelectedObjects) -> (Vec<Doomed>, Vec<Failure>) {
    let (mut doomed, mut failures) = (Vec::new(), selection.failures.clone());
    let (labels, fields) = (selection.labels().to_owned(), selection.fields().to_owned());
    for pick in selection.picks {
        match pick {
            Pick::Named { kind, namespace, name } => {
                doomed.push(Doomed { kind, key: ObjectKey::new(namespace, name), source: String::new() });
            }
            Pick::Object(info) => {
                let key = ObjectKey::new(info.namespace.clone(), info.name.clone());
                doomed.push(Doomed { kind: info.kind, key, source: info.source });
            }
            Pick::Selected { kind, namespace } => match session.list(&kind, &namespace, &labels, &fields).await {
                Ok(objects) => doomed.extend(objects.iter().map(|object| {
                    let key = ObjectKey::new(text(object, "/metadata/namespace"), text(object, "/metadata/name"));
                    Doomed { kind: kind.clone(), key, source: String::new() }
                })),
                Err(failure) => failures.push(unable(failure, &kind, &labels, &fields)),
            },
        }
    }
    (doomed, failures)
}

async fn delete(
    session: &mut CommandSession<'_>,
    object: &Doomed,
    grace: Option<i64>,
    dry_run: DryRun,
) -> Result<Value, Failure> {
    let policy = match session.flags.text_or("cascade", "background") {
        "background" | "true" => "Background",
        "orphan" | "false" => "Orphan",
        "foreground" => "Foreground",
        other => {
            return Err(Failure::text(format!(
                "invalid cascade value ({other}). Must be \"background\", \"foreground\", or \"orphan\""
            )));
        }
    };
    let mut options = json!({"propagationPolicy": policy});
    if let Some(seconds) = grace {
        options["gracePeriodSeconds"] = seconds.into();
    }
    if dry_run == DryRun::Server {
        options["dryRun"] = json!(["All"]);
    }
    let answer = match dry_run {
        DryRun::Client => Value::Null,
        _ => session.delete(&object.kind, &object.key.namespace, &object.key.name, options).await?,
    };
    let (kind, name) = (object.kind.in_names(), &object.key.name);
    if session.flags.text("output") == "name" {
        say!(session, "{kind}/{name}");
        return Ok(answer);
    }
    let operation = if grace == Some(0) { "force deleted" } else { "deleted" };
    let suffix = match dry_run {
        DryRun::None => "",
        DryRun::Client => " (dry run)",
        DryRun::Server => " (server dry run)",
    };
    say!(session, "{kind} \"{name}\" {operation}{suffix}");
    Ok(answer)
}

/// The uid of the deleted object.
fn uid(answer: &Value) -> String {
    let uid = if answer["kind"] == "Status" { &answer["details"]["uid"] } else { &answer["metadata"]["uid"] };
    uid.as_str().unwrap_or_default().to_owned()
}
