//! `label`.
//!
//! In Kubernetes: `kubectl/pkg/cmd/label`.

use coracle_meta::{go_quote, names};
use serde_json::Value;

use crate::failure::Failure;
use crate::flags::Flag;
use crate::generator::print;
use crate::metadata_maps::{check, edit, print_list, write};
use crate::pairs::{Changes, split};
use crate::selection::{Wanted, select};
use crate::session::{CommandSession, say};
use crate::verb::{ALL, ALL_NAMESPACES, FIELD_SELECTOR, FILES, OUTPUT, SELECTOR, Verb, WRITE};
use crate::write_flags::{DryRun, dry_run};

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
    check(session, &wanted, &changes, "label")?;
    let lists = session.flags.is("list");
    let wanted = Wanted { is_all_by_default: wanted.is_all, ..wanted };
    let selection = select(session, &wanted).await?;
    let is_single = selection.is_single;
    let (infos, mut failures) = selection.fetch(session).await;
    for info in infos {
        let before = &info.object;
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
            print_list(session, &info, &after, "labels", is_single);
            continue;
        }
        let operation = operation(session, before, &after);
        if let Err(failure) = write(session, &info, after.clone(), dry_run, "kubectl-label").await {
            failures.push(failure);
            continue;
        }
        print(session, &after, operation)?;
    }
    Failure::aggregate(failures)
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
    edit(session, object, "labels", changes);
    Ok(())
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
