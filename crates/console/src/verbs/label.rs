//! `label`.
//!
//! In Kubernetes: `kubectl/pkg/cmd/label`.

use coracle_meta::{go_quote, names};
use serde_json::Value;

use crate::change::MERGE;
use crate::failure::Failure;
use crate::flags::Flag;
use crate::generator::print;
use crate::pairs::{Changes, split};
use crate::selection::{Wanted, select};
use crate::session::{CommandSession, PatchTarget, say};
use crate::three_way;
use crate::values::{map, show};
use crate::verb::{ALL, ALL_NAMESPACES, FIELD_SELECTOR, FILES, OUTPUT, SELECTOR, Verb, WRITE};
use crate::write_flags::{DryRun, dry_run, manager};

const FLAGS: &[Flag] = &[
    Flag::bool("overwrite", "Replace labels that exist"),
    Flag::bool("list", "Print the labels"),
    Flag::bool("local", "Not supported"),
    Flag::text("resource-version", "Only this version of the object"),
];

pub(super) const VERB: Verb = Verb {
    words: &["label"],
    aliases: &[],
    flags: &[FLAGS, OUTPUT, FILES, SELECTOR, FIELD_SELECTOR, ALL, ALL_NAMESPACES, WRITE],
    required: &[],
    about: "Update the labels on a resource",
    run: |session| Box::pin(run(session)),
};

async fn run(session: &mut CommandSession<'_>) -> Result<(), Failure> {
    let (resources, pairs) = split(session.args(), "label")?;
    let changes = parse(&pairs)?;
    let dry_run = dry_run(session)?;
    let wanted = Wanted::of(session, &resources);
    check(session, &wanted)?;
    let lists = session.flags.is("list");
    if resources.is_empty() && session.flags.texts("filename").is_empty() {
        let why = "one or more resources must be specified as <resource> <name> or <resource>/<name>";
        return Err(Failure::text(why));
    }
    if changes.is_empty() && !lists {
        return Err(Failure::text("at least one label update is required"));
    }
    let wanted = Wanted { is_all_by_default: wanted.is_all, ..wanted };
    let selection = select(session, &wanted).await?;
    let is_single = selection.is_single;
    let (infos, mut failures) = selection.fetch(session).await;
    for info in infos {
        let before = info.object.clone();
        let mut after = before.clone();
        if dry_run != DryRun::Client && !lists {
            for label in changes.removed.iter().filter(|label| before["metadata"]["labels"][*label].is_null()) {
                say!(session, "label {} not found.", go_quote(label));
            }
        }
        if let Err(failure) = change(session, &mut after, &changes) {
            failures.push(failure);
            continue;
        }
        if lists {
            list(session, &after, is_single, &info.kind.kind, &info.kind.group);
            continue;
        }
        let operation = operation(session, &before, &after);
        if dry_run != DryRun::Client {
            let manager = manager(session, "kubectl-label");
            let patch = three_way::json_merge(&before, &after, &before);
            let target = PatchTarget::new(&info.kind, &info.namespace, &info.name);
            if let Err(failure) = session.patch(target, MERGE, &patch, &dry_run.options(&manager, "")).await {
                failures.push(failure);
                continue;
            }
        }
        print(session, &after, operation)?;
    }
    Failure::aggregate(failures)
}

pub(super) fn check(session: &CommandSession<'_>, wanted: &Wanted) -> Result<(), Failure> {
    let refused = if wanted.is_all && !wanted.labels.is_empty() {
        "cannot set --all and --selector at the same time"
    } else if wanted.is_all && !wanted.fields.is_empty() {
        "cannot set --all and --field-selector at the same time"
    } else if session.flags.is("list") && session.flags.has("output") {
        "--list and --output may not be specified together"
    } else if session.flags.is("local") {
        "the console has no --local"
    } else {
        return Ok(());
    };
    Err(Failure::text(refused))
}

fn parse(pairs: &[String]) -> Result<Changes, Failure> {
    let mut changes = Changes::default();
    for pair in pairs {
        if let Some((key, value)) = pair.split_once('=') {
            if value.contains('=') {
                return Err(Failure::text(format!("invalid label spec: {pair}")));
            }
            let wrong = names::label_value(value);
            if !wrong.is_empty() {
                let (pair, wrong) = (go_quote(pair), wrong.join(";"));
                return Err(Failure::text(format!("invalid label value: {pair}: {wrong}")));
            }
            changes.set.insert(key.to_owned(), value.to_owned());
        } else if let Some(key) = pair.strip_suffix('-') {
            changes.removed.push(key.to_owned());
        }
    }
    if changes.removed.iter().any(|key| changes.set.contains_key(key)) {
        return Err(Failure::text("can not both modify and remove a label in the same command"));
    }
    Ok(changes)
}

fn change(session: &CommandSession<'_>, object: &mut Value, changes: &Changes) -> Result<(), Failure> {
    if !session.flags.is("overwrite") {
        let own = |key: &String| object["metadata"]["labels"][key].as_str();
        let taken = changes.set.iter().filter_map(|(key, value)| Some((key, own(key).filter(|own| own != value)?)));
        let taken = taken
            .map(|(key, own)| Failure::text(format!("'{key}' already has a value ({own}), and --overwrite is false")));
        Failure::aggregate(taken.collect())?;
    }
    edit(object, "labels", changes);
    if session.flags.has("resource-version") {
        object["metadata"]["resourceVersion"] = session.flags.text("resource-version").into();
    }
    Ok(())
}

/// Changes a map of an object's metadata.
pub(super) fn edit(object: &mut Value, field: &str, changes: &Changes) {
    let Some(metadata) = object["metadata"].as_object_mut() else { return };
    let values = metadata.entry(field).or_insert_with(|| serde_json::json!({}));
    if let Some(values) = values.as_object_mut() {
        values.extend(changes.set.iter().map(|(key, value)| (key.clone(), value.clone().into())));
        changes.removed.iter().for_each(|key| drop(values.remove(key)));
        if values.is_empty() {
            metadata.remove(field);
        }
    }
}

fn operation(session: &CommandSession<'_>, before: &Value, after: &Value) -> &'static str {
    if before == after {
        "not labeled"
    } else if !session.flags.is("overwrite") && after.to_string().len() < before.to_string().len() {
        "unlabeled"
    } else {
        "labeled"
    }
}

fn list(session: &mut CommandSession<'_>, object: &Value, is_single: bool, kind: &str, group: &str) {
    let name = show(&object["metadata"]["name"]);
    let indent = if is_single { "" } else { " " };
    if !is_single {
        say!(session, "Listing labels for {kind}.{group}/{name}:");
    }
    for (key, value) in map(object, "/metadata/labels").into_iter().flatten() {
        say!(session, "{indent}{key}={}", show(value));
    }
}
