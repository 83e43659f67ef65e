//! `annotate`.
//!
//! In Kubernetes: `kubectl/pkg/cmd/annotate`.

use serde_json::Value;

use super::label::{check, edit};
use crate::change::MERGE;
use crate::failure::Failure;
use crate::flags::Flag;
use crate::generator::print;
use crate::manifests::Info;
use crate::pairs::{Changes, split};
use crate::selection::{Wanted, select};
use crate::session::{CommandSession, PatchTarget, say};
use crate::three_way;
use crate::values::{map, show};
use crate::verb::{ALL, ALL_NAMESPACES, FIELD_SELECTOR, FILES, OUTPUT, SELECTOR, Verb, WRITE};
use crate::write_flags::{DryRun, dry_run, manager};

/// The annotation that each change can overwrite.
const CHANGE_CAUSE: &str = "kubernetes.io/change-cause";

const FLAGS: &[Flag] = &[
    Flag::bool("overwrite", "Replace annotations that exist"),
    Flag::bool("list", "Print the annotations"),
    Flag::bool("local", "Not supported"),
    Flag::text("resource-version", "Only this version of the object"),
];

pub(super) const VERB: Verb = Verb {
    words: &["annotate"],
    aliases: &[],
    flags: &[FLAGS, OUTPUT, FILES, SELECTOR, FIELD_SELECTOR, ALL, ALL_NAMESPACES, WRITE],
    required: &[],
    about: "Update the annotations on a resource",
    run: |session| Box::pin(run(session)),
};

async fn run(session: &mut CommandSession<'_>) -> Result<(), Failure> {
    let (resources, pairs) = split(session.args(), "annotation")?;
    let changes = Changes::parse(&pairs, "annotation", true)?;
    let dry_run = dry_run(session)?;
    let wanted = Wanted::of(session, &resources);
    check(session, &wanted)?;
    let lists = session.flags.is("list");
    if resources.is_empty() && session.flags.texts("filename").is_empty() {
        let why = "one or more resources must be specified as <resource> <name> or <resource>/<name>";
        return Err(Failure::text(why));
    }
    if changes.is_empty() && !lists {
        return Err(Failure::text("at least one annotation update is required"));
    }
    let both: Vec<&str> =
        changes.removed.iter().filter(|key| changes.set.contains_key(*key)).map(String::as_str).collect();
    if !both.is_empty() {
        let both = both.join(", ");
        return Err(Failure::text(format!(
            "can not both modify and remove the following annotation(s) in the same command: {both}"
        )));
    }
    let wanted = Wanted { is_all_by_default: wanted.is_all, ..wanted };
    let selection = select(session, &wanted).await?;
    let is_single = selection.is_single;
    let (infos, mut failures) = selection.fetch(session).await;
    for info in infos {
        let before = info.object.clone();
        let mut after = before.clone();
        if let Err(failure) = change(session, &mut after, &changes) {
            failures.push(failure);
            continue;
        }
        if lists {
            show_list(session, &info, &after, is_single);
            continue;
        }
        if dry_run != DryRun::Client {
            let manager = manager(session, "kubectl-annotate");
            let patch = three_way::json_merge(&before, &after, &before);
            let target = PatchTarget::new(&info.kind, &info.namespace, &info.name);
            match session.patch(target, MERGE, &patch, &dry_run.options(&manager, "")).await {
                Ok(patched) => after = patched,
                Err(failure) => {
                    failures.push(failure);
                    continue;
                }
            }
        }
        print(session, &after, "annotated")?;
    }
    Failure::aggregate(failures)
}

fn show_list(session: &mut CommandSession<'_>, info: &Info, object: &Value, is_single: bool) {
    let indent = if is_single { "" } else { " " };
    if !is_single {
        say!(session, "Listing annotations for {}.{}/{}:", info.kind.kind, info.kind.group, info.name);
    }
    for (key, value) in map(object, "/metadata/annotations").into_iter().flatten() {
        say!(session, "{indent}{key}={}", show(value));
    }
}

fn change(session: &CommandSession<'_>, object: &mut Value, changes: &Changes) -> Result<(), Failure> {
    if !session.flags.is("overwrite") {
        let own = |key: &String| object["metadata"]["annotations"][key].as_str();
        let others = changes.set.iter().filter(|(key, _)| *key != CHANGE_CAUSE);
        let taken = others.filter_map(|(key, value)| Some((key, own(key).filter(|own| own != value)?)));
        let taken: Vec<String> = taken.map(|(key, own)| format!("'{key}' already has a value ({own})")).collect();
        if !taken.is_empty() {
            let taken = taken.join("; ");
            return Err(Failure::text(format!(
                "--overwrite is false but found the following declared annotation(s): {taken}"
            )));
        }
    }
    edit(object, "annotations", changes);
    if session.flags.has("resource-version") {
        object["metadata"]["resourceVersion"] = session.flags.text("resource-version").into();
    }
    Ok(())
}
