//! `patch`.
//!
//! In Kubernetes: `kubectl/pkg/cmd/patch`.

use coracle_meta::go_quote;
use coracle_yaml::YamlNode;
use serde_json::Value;

use crate::change::{MERGE, STRATEGIC, patched};
use crate::failure::Failure;
use crate::flags::Flag;
use crate::generator::print;
use crate::selection::{Wanted, select};
use crate::session::{CommandSession, PatchTarget};
use crate::verb::{FILES, OUTPUT, Verb, WRITE};
use crate::write_flags::{DryRun, dry_run, manager};

const FLAGS: &[Flag] = &[
    Flag::text("patch", "The patch, as JSON or YAML").or('p'),
    Flag::text("patch-file", "A file in memory with the patch"),
    Flag::text("type", "strategic, merge or json"),
    Flag::text("subresource", "A subresource of the object"),
    Flag::bool("local", "Not supported"),
];

pub(super) const VERB: Verb = Verb {
    words: &["patch"],
    aliases: &[],
    flags: &[FLAGS, OUTPUT, FILES, WRITE],
    required: &[],
    about: "Update fields of a resource",
    run: |session| Box::pin(run(session)),
};

async fn run(session: &mut CommandSession<'_>) -> Result<(), Failure> {
    let (content_type, patch) = read(session)?;
    let dry_run = dry_run(session)?;
    let subresource = session.flags.text("subresource").to_owned();
    let wanted = Wanted { args: session.args().to_vec(), reads_files: true, ..Wanted::default() };
    let (infos, mut failures) = select(session, &wanted).await?.fetch(session).await;
    if infos.is_empty() && failures.is_empty() {
        return Err(Failure::text("no objects passed to patch"));
    }
    for info in infos {
        let manager = manager(session, "kubectl-patch");
        let target =
            PatchTarget { subresource: &subresource, ..PatchTarget::new(&info.kind, &info.namespace, &info.name) };
        let object = match dry_run {
            DryRun::Client => {
                patched(&info.kind, info.object.clone(), content_type, patch.clone()).map_err(Failure::text)
            }
            _ => session.patch(target, content_type, &patch, &dry_run.options(&manager, "")).await,
        };
        match object {
            Ok(object) => {
                let operation = if object == info.object { "patched (no change)" } else { "patched" };
                print(session, &object, operation)?;
            }
            Err(failure) => failures.push(failure),
        }
    }
    Failure::aggregate(failures)
}

fn read(session: &CommandSession<'_>) -> Result<(&'static str, Value), Failure> {
    let flags = &session.flags;
    let (given, file) = (flags.text("patch"), flags.text("patch-file"));
    if !given.is_empty() && !file.is_empty() {
        return Err(Failure::text("cannot specify --patch and --patch-file together"));
    }
    if given.is_empty() && file.is_empty() {
        return Err(Failure::text("must specify --patch or --patch-file containing the contents of the patch"));
    }
    if flags.is("local") {
        return Err(Failure::text("the console has no --local"));
    }
    let content_type = match flags.text_or("type", "strategic").to_lowercase().as_str() {
        "strategic" | "" => STRATEGIC,
        "merge" => MERGE,
        "json" => "application/json-patch+json",
        _ => {
            let given = go_quote(flags.text("type"));
            return Err(Failure::text(format!("--type must be one of [json merge strategic], not {given}")));
        }
    };
    let text = match file {
        "" => given.to_owned(),
        file => session.input.files.get(file).cloned().ok_or_else(|| {
            Failure::text(format!("unable to read patch file: open {file}: no such file or directory"))
        })?,
    };
    match YamlNode::parse(&text) {
        Ok(node) => Ok((content_type, Value::from(&node))),
        Err(error) => {
            let line = if error.line == 0 { String::new() } else { format!("line {}: ", error.line) };
            let why = format!("yaml: {line}{}", error.message);
            Err(Failure::text(format!("unable to parse {}: {why}", go_quote(given))))
        }
    }
}
