//! `rollout status`, `history`, `pause`, `resume` and `restart`.
//!
//! In Kubernetes: `kubectl/pkg/cmd/rollout`.

use coracle_meta::{ObjectKey, format_time, go_quote};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::await_object::{Awaited, until};
use crate::change::patch;
use crate::describe::template;
use crate::failure::Failure;
use crate::flags::Flag;
use crate::generator::print;
use crate::manifests::Info;
use crate::rollouts::{history, status};
use crate::selection::{Wanted, select};
use crate::session::{CommandSession, PatchTarget, complain};
use crate::tabs::DESCRIPTION;
use crate::verb::{FILES, OUTPUT, SELECTOR, Verb};
use crate::write_flags::{DryRun, manager};

const STATUS_FLAGS: &[Flag] = &[
    Flag::bool("watch", "Wait until the rollout is done").or('w'),
    Flag::number("revision", "Only this revision"),
    Flag::duration("timeout", "How long to wait; 0 waits without end"),
];
const HISTORY_FLAGS: &[Flag] = &[Flag::number("revision", "The template of this revision")];
const CHANGE_FLAGS: &[Flag] = &[Flag::text("field-manager", "The owner of the written fields")];

pub(super) const STATUS: Verb = Verb {
    words: &["rollout", "status"],
    aliases: &[],
    flags: &[STATUS_FLAGS, FILES, SELECTOR],
    required: &[],
    about: "Show the status of the rollout",
    run: |session| Box::pin(show_status(session)),
};

pub(super) const HISTORY: Verb = Verb {
    words: &["rollout", "history"],
    aliases: &[],
    flags: &[HISTORY_FLAGS, OUTPUT, FILES, SELECTOR],
    required: &[],
    about: "View rollout history",
    run: |session| Box::pin(show_history(session)),
};

pub(super) const PAUSE: Verb = Verb {
    words: &["rollout", "pause"],
    aliases: &[],
    flags: &[CHANGE_FLAGS, OUTPUT, FILES, SELECTOR],
    required: &[],
    about: "Mark the provided resource as paused",
    run: |session| Box::pin(change(session, "paused", pause)),
};

pub(super) const RESUME: Verb = Verb {
    words: &["rollout", "resume"],
    aliases: &[],
    flags: &[CHANGE_FLAGS, OUTPUT, FILES, SELECTOR],
    required: &[],
    about: "Resume a paused resource",
    run: |session| Box::pin(change(session, "resumed", resume)),
};

pub(super) const RESTART: Verb = Verb {
    words: &["rollout", "restart"],
    aliases: &[],
    flags: &[CHANGE_FLAGS, OUTPUT, FILES, SELECTOR],
    required: &[],
    about: "Restart a resource",
    run: |session| Box::pin(change(session, "restarted", restart)),
};

/// The objects of the arguments, and the errors of those that are missing.
pub(super) async fn targets(session: &mut CommandSession<'_>) -> Result<(Vec<Info>, Vec<Failure>), Failure> {
    if session.args().is_empty() && session.flags.texts("filename").is_empty() {
        return Err(Failure::text("required resource not specified"));
    }
    let wanted = Wanted::of(session, session.args()).all_by_default();
    Ok(select(session, &wanted).await?.fetch(session).await)
}

fn revision_flag(session: &CommandSession<'_>) -> Result<i64, Failure> {
    match session.flags.number("revision").unwrap_or(0) {
        negative if negative < 0 => Err(Failure::text(format!("revision must be a positive integer: {negative}"))),
        revision => Ok(revision),
    }
}

async fn show_status(session: &mut CommandSession<'_>) -> Result<(), Failure> {
    if session.args().is_empty() && session.flags.texts("filename").is_empty() {
        return Err(Failure::text("required resource not specified"));
    }
    let revision = revision_flag(session)?;
    let (infos, mut failures) = targets(session).await?;
    if infos.is_empty() && failures.is_empty() {
        complain!(session, "No resources found in {} namespace.", session.namespace());
    }
    let waits = session.flags.is_or("watch", true);
    for info in infos {
        if let Err(failure) = follow(session, &info, revision, waits).await {
            failures.push(failure);
        }
    }
    Failure::aggregate(failures)
}

/// Prints the state of a rollout until it is done.
async fn follow(session: &mut CommandSession<'_>, info: &Info, revision: i64, waits: bool) -> Result<(), Failure> {
    status(&info.object, revision)?;
    let timeout = session.flags.duration("timeout").filter(|timeout| !timeout.is_zero());
    let forever = std::time::Duration::from_secs(10 * 365 * 86400);
    let key = ObjectKey::new(info.namespace.clone(), info.name.clone());
    let deadline = Instant::now() + timeout.unwrap_or(forever).min(forever);
    let awaited = Awaited { kind: &info.kind, key: &key, uid: "", deadline };
    let mut printed = String::new();
    let ended = until(session, &awaited, |object: Option<&Value>| {
        let Some(object) = object else { return Err(Failure::text("object has been deleted")) };
        let (text, is_done) = status(object, revision)?;
        printed.push_str(&text);
        Ok((is_done || !waits).then_some(()))
    });
    let ended = ended.await;
    session.out.push_str(&printed);
    match ended {
        Err(Failure::Text(text)) if text.starts_with("timed out") => {
            Err(Failure::text("timed out waiting for the condition"))
        }
        ended => ended,
    }
}

async fn show_history(session: &mut CommandSession<'_>) -> Result<(), Failure> {
    let (infos, mut failures) = targets(session).await?;
    let revision = revision_flag(session)?;
    if !session.flags.text("output").is_empty() {
        return Err(Failure::text("the console has no rollout history --output"));
    }
    for info in infos {
        let history = match history(session, &info).await {
            Ok(history) => history,
            Err(failure) => {
                failures.push(failure);
                continue;
            }
        };
        let text = if history.is_empty() {
            "No rollout history found.".to_owned()
        } else if revision > 0 {
            match history.get(&revision) {
                Some(found) => {
                    let mut shown = found.template.clone();
                    if !found.cause.is_empty() {
                        shown["metadata"]["annotations"]["kubernetes.io/change-cause"] = found.cause.clone().into();
                    }
                    template(&shown)
                }
                None => {
                    failures.push(Failure::text("unable to find the specified revision"));
                    continue;
                }
            }
        } else {
            let cause = |cause: &str| if cause.is_empty() { "<none>".to_owned() } else { cause.to_owned() };
            let lines = history.iter().map(|(number, found)| format!("{number}\t{}\n", cause(&found.cause)));
            DESCRIPTION.align(&format!("REVISION\tCHANGE-CAUSE\n{}", lines.collect::<String>()))
        };
        let with = if revision > 0 { format!("with revision #{revision}") } else { String::new() };
        print(session, &info.object, &format!("{with}\n{text}"))?;
    }
    Failure::aggregate(failures)
}

/// Changes the object, or says why it cannot be changed.
type Change = fn(&mut Value, &str) -> Result<(), &'static str>;

fn pause(object: &mut Value, _: &str) -> Result<(), &'static str> {
    if object["kind"] != "Deployment" {
        return Err("pausing is not supported");
    }
    if object["spec"]["paused"] == true {
        return Err("is already paused");
    }
    object["spec"]["paused"] = true.into();
    Ok(())
}

fn resume(object: &mut Value, _: &str) -> Result<(), &'static str> {
    if object["kind"] != "Deployment" {
        return Err("resuming is not supported");
    }
    if object["spec"]["paused"] != true {
        return Err("is not paused");
    }
    object["spec"].as_object_mut().map(|spec| spec.remove("paused"));
    Ok(())
}

fn restart(object: &mut Value, now: &str) -> Result<(), &'static str> {
    if !["Deployment", "DaemonSet", "StatefulSet"].iter().any(|kind| object["kind"] == **kind) {
        return Err("restarting is not supported");
    }
    if object["kind"] == "Deployment" && object["spec"]["paused"] == true {
        return Err("can't restart paused deployment (run rollout resume first)");
    }
    object["spec"]["template"]["metadata"]["annotations"]["kubectl.kubernetes.io/restartedAt"] = now.into();
    Ok(())
}

async fn change(session: &mut CommandSession<'_>, operation: &'static str, change: Change) -> Result<(), Failure> {
    let (infos, mut failures) = targets(session).await?;
    if infos.is_empty() && failures.is_empty() {
        complain!(session, "No resources found in {} namespace.", session.namespace());
    }
    let now = format_time(session.setting.clock.now());
    for info in infos {
        let mut after = info.object.clone();
        if let Err(why) = change(&mut after, &now) {
            let (resource, name) = (info.kind.resource(), go_quote(&info.name));
            failures.push(Failure::text(format!("error: {resource} {name} {why}")));
            continue;
        }
        let (content_type, patch) = patch(&info.kind, &info.object, &after);
        if patch == json!({}) {
            failures.push(Failure::text(format!(
                "failed to create patch for {}: if restart has already been triggered within the past second, please wait \
                 before attempting to trigger another",
                info.name
            )));
            continue;
        }
        let manager = manager(session, "kubectl-rollout");
        let target = PatchTarget::new(&info.kind, &info.namespace, &info.name);
        match session.patch(target, content_type, &patch, &DryRun::None.options(&manager, "")).await {
            Ok(object) => print(session, &object, operation)?,
            Err(failure) => failures.push(Failure::text(format!("failed to patch: {}", failure.bare()))),
        }
    }
    Failure::aggregate(failures)
}
