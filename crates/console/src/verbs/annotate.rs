//! `annotate`.
//!
//! In Kubernetes: `kubectl/pkg/cmd/annotate`.

use serde_json::Value;

use crate::failure::Failure;
use crate::flags::Flag;
use crate::generator::print;
use crate::metadata_maps::{check, edit, print_list, write};
use crate::pairs::{Changes, split};
use crate::selection::{Wanted, select};
use crate::session::CommandSession;
use crate::verb::{ALL, ALL_NAMESPACES, FIELD_SELECTOR, FILES, OUTPUT, SELECTOR, Verb, WRITE};
use crate::write_flags::dry_run;

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
    check(session, &wanted, &changes, "annotation")?;
    let lists = session.flags.is("list");
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
        let mut after = info.object.clone();
        if let Err(failure) = change(session, &mut after, &changes) {
            failures.push(failure);
            continue;
        }
        if lists {
            print_list(session, &info, &after, "annotations", is_single);
            continue;
        }
        match write(session, &info, after, dry_run, "kubectl-annotate").await {
            Ok(written) => print(session, &written, "annotated")?,
            Err(failure) => failures.push(failure),
        }
    }
    Failure::aggregate(failures)
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
    edit(session, object, "annotations", changes);
    Ok(())
}
