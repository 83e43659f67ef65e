//! What `label` and `annotate` share: both change a map of the metadata of objects.

use serde_json::{Value, json};

use crate::change::MERGE;
use crate::failure::Failure;
use crate::manifests::Info;
use crate::pairs::Changes;
use crate::selection::Wanted;
use crate::session::{CommandSession, PatchTarget, say};
use crate::three_way;
use crate::values::{map, show};
use crate::write_flags::{DryRun, manager};

/// Refuses flags that contradict each other, and a command without objects or without changes. `what` is `label` or
/// `annotation`.
pub(crate) fn check(
    session: &CommandSession<'_>,
    wanted: &Wanted,
    changes: &Changes,
    what: &str,
) -> Result<(), Failure> {
    let lists = session.flags.is("list");
    let refused = if wanted.is_all && !wanted.labels.is_empty() {
        "cannot set --all and --selector at the same time"
    } else if wanted.is_all && !wanted.fields.is_empty() {
        "cannot set --all and --field-selector at the same time"
    } else if lists && session.flags.has("output") {
        "--list and --output may not be specified together"
    } else if session.flags.is("local") {
        "the console has no --local"
    } else if wanted.args.is_empty() && session.flags.texts("filename").is_empty() {
        "one or more resources must be specified as <resource> <name> or <resource>/<name>"
    } else if changes.is_empty() && !lists {
        return Err(Failure::text(format!("at least one {what} update is required")));
    } else {
        return Ok(());
    };
    Err(Failure::text(refused))
}

/// Changes a map of an object's metadata: `labels` or `annotations`.
pub(crate) fn edit(session: &CommandSession<'_>, object: &mut Value, field: &str, changes: &Changes) {
    let Some(metadata) = object["metadata"].as_object_mut() else { return };
    let values = metadata.entry(field).or_insert_with(|| json!({}));
    if let Some(values) = values.as_object_mut() {
        values.extend(changes.set.iter().map(|(key, value)| (key.clone(), value.clone().into())));
        changes.removed.iter().for_each(|key| drop(values.remove(key)));
        if values.is_empty() {
            metadata.remove(field);
        }
    }
    if session.flags.has("resource-version") {
        metadata.insert("resourceVersion".to_owned(), session.flags.text("resource-version").into());
    }
}

/// Sends the difference, and returns the object as it is then. `owner` is the field manager that the flags do not name.
pub(crate) async fn write(
    session: &mut CommandSession<'_>,
    info: &Info,
    after: Value,
    dry_run: DryRun,
    owner: &str,
) -> Result<Value, Failure> {
    if dry_run == DryRun::Client {
        return Ok(after);
    }
    let manager = manager(session, owner);
    let patch = three_way::json_merge(&info.object, &after, &info.object);
    let target = PatchTarget::new(&info.kind, &info.namespace, &info.name);
    session.patch(target, MERGE, &patch, &dry_run.options(&manager, "")).await
}

/// Prints the map of an object.
pub(crate) fn print_list(session: &mut CommandSession<'_>, info: &Info, object: &Value, field: &str, is_single: bool) {
    let indent = if is_single { "" } else { " " };
    if !is_single {
        say!(session, "Listing {field} for {}.{}/{}:", info.kind.kind, info.kind.group, info.name);
    }
    for (key, value) in map(object, &format!("/metadata/{field}")).into_iter().flatten() {
        say!(session, "{indent}{key}={}", show(value));
    }
}
