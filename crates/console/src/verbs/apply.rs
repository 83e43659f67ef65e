//! `apply`: a three-way merge by the console, or `--server-side`.
//!
//! In Kubernetes: `kubectl/pkg/cmd/apply`.

use coracle_schema::apply::TablePlace;
use serde_json::{Value, json};

use crate::change::{MERGE, STRATEGIC, schema};
use crate::failure::Failure;
use crate::flags::Flag;
use crate::last_applied::{ANNOTATION, annotated, original, prune_nulls};
use crate::manifests::Info;
use crate::printer::{Printer, compact};
use crate::selection::{Pick, Wanted, select};
use crate::session::{CommandSession, PatchTarget, WriteOptions, complain};
use crate::three_way;
use crate::verb::{ALL, FILES, OUTPUT, SELECTOR, VALIDATE, Verb, WRITE};
use crate::write_flags::{DryRun, dry_run, manager, validation};

const FLAGS: &[Flag] = &[
    Flag::bool("server-side", "The server merges"),
    Flag::bool("force-conflicts", "Take fields of other managers, with --server-side"),
    Flag::bool("overwrite", "Without effect: the manifest wins"),
    Flag::bool("openapi-patch", "Without effect"),
    Flag::bool("prune", "Not supported"),
    Flag::bool("wait", "Without effect"),
    Flag::bool("force", "Not supported"),
    Flag::number("grace-period", "Without effect"),
    Flag::duration("timeout", "Without effect"),
    Flag::text("subresource", "Not supported"),
];

pub(super) const VERB: Verb = Verb {
    words: &["apply"],
    aliases: &[],
    flags: &[FLAGS, OUTPUT, FILES, SELECTOR, ALL, WRITE, VALIDATE],
    required: &[],
    about: "Apply a configuration to a resource by file name or stdin",
    run: |session| Box::pin(run(session)),
};

/// How objects are applied.
struct Applying {
    dry_run: DryRun,
    validation: &'static str,
    manager: String,
    is_server_side: bool,
    is_forced: bool,
}

impl Applying {
    fn options(&self) -> WriteOptions<'_> {
        WriteOptions { is_forced: self.is_forced, ..self.dry_run.options(&self.manager, self.validation) }
    }
}

async fn run(session: &mut CommandSession<'_>) -> Result<(), Failure> {
    if !session.args().is_empty() {
        let why = format!("Unexpected args: [{}]", session.args().join(" "));
        return Err(Failure::usage(&why, "apply"));
    }
    let is_server_side = session.flags.is("server-side");
    let dry_run = dry_run(session)?;
    if is_server_side && dry_run == DryRun::Client {
        let why = "--dry-run=client doesn't work with --server-side (did you mean --dry-run=server instead?)";
        return Err(Failure::text(why));
    }
    let is_forced = session.flags.is("force-conflicts");
    if is_forced && !is_server_side {
        return Err(Failure::text("--force-conflicts only works with --server-side"));
    }
    if session.flags.texts("filename").is_empty() && session.flags.texts("kustomize").is_empty() {
        return Err(Failure::text("must specify one of -f and -k"));
    }
    for name in ["prune", "force", "subresource"] {
        if session.flags.has(name) {
            return Err(Failure::text(format!("the console has no apply --{name}")));
        }
    }
    let default = if is_server_side { "kubectl" } else { "kubectl-client-side-apply" };
    let applying = Applying {
        dry_run,
        validation: validation(session)?,
        manager: manager(session, default),
        is_server_side,
        is_forced,
    };
    let wanted = Wanted::of(session, &[]);
    let selection = select(session, &wanted).await?;
    let mut failures = selection.failures.clone();
    if selection.picks.is_empty() && failures.is_empty() {
        return Err(Failure::text("no objects passed to apply"));
    }
    let mut shown = Vec::new();
    for pick in selection.picks {
        let Pick::Object(info) = pick else { continue };
        match apply(session, &info, &applying).await {
            Ok((object, operation)) => {
                if session.flags.text("output").is_empty() || session.flags.text("output") == "name" {
                    let mut out = String::new();
                    Printer::of_change(session, operation)?.print(&object, &mut out)?;
                    session.out.push_str(&out);
                } else {
                    shown.push(object);
                }
            }
            Err(failure) => failures.push(failure),
        }
    }
    Failure::aggregate(failures)?;
    show(session, shown)
}

/// Prints the applied objects in the format of `-o`: one as itself, several as a list.
fn show(session: &mut CommandSession<'_>, mut shown: Vec<Value>) -> Result<(), Failure> {
    let object = match shown.len() {
        0 => return Ok(()),
        1 => shown.remove(0),
        _ => json!({"apiVersion": "v1", "kind": "List", "metadata": {}, "items": shown}),
    };
    let mut out = String::new();
    Printer::of_change(session, "")?.print(&object, &mut out)?;
    session.out.push_str(&out);
    Ok(())
}

/// Applies an object; returns it, and what was done.
async fn apply(
    session: &mut CommandSession<'_>,
    info: &Info,
    applying: &Applying,
) -> Result<(Value, &'static str), Failure> {
    let generated = info.object["metadata"]["generateName"].as_str().unwrap_or_default();
    if info.name.is_empty() && !generated.is_empty() {
        return Err(Failure::text(format!("from {generated}: cannot use generate name with apply")));
    }
    if applying.is_server_side {
        return on_server(session, info, applying).await;
    }
    let modified = annotated(&info.object);
    let current = match session.get(&info.kind, &info.namespace, &info.name).await {
        Ok(current) => current,
        Err(failure) if failure.is_not_found() => return create(session, info, modified, applying).await,
        Err(failure) => {
            let doing = format!("retrieving current configuration of:\n{}\nfrom server for:", described(info));
            return Err(failure.while_doing(&doing, &info.source));
        }
    };
    if applying.dry_run == DryRun::Client {
        return Ok((current, "configured"));
    }
    if original(&current).is_none() {
        complain!(
            session,
            "Warning: resource {}/{} is missing the {ANNOTATION} annotation which is required by kubectl apply. kubectl apply \
             should only be used on resources created declaratively by either kubectl create --save-config or kubectl apply. \
             The missing annotation will be patched automatically.",
            info.kind.plural,
            info.name
        );
    }
    let (content_type, patch) = patch(info, &modified, &current);
    if patch == json!({}) {
        warn_if_deleting(session, &current);
        return Ok((current, "unchanged"));
    }
    let target = PatchTarget::new(&info.kind, &info.namespace, &info.name);
    match session.patch(target, content_type, &patch, &applying.options()).await {
        Ok(patched) => {
            session.forget_kinds();
            warn_if_deleting(session, &patched);
            Ok((patched, "configured"))
        }
        Err(failure) => {
            let doing = format!("applying patch:\n{}\nto:\n{}\nfor:", compact(&patch), described(info));
            Err(failure.while_doing("patching", &info.source).while_doing(&doing, &info.source))
        }
    }
}

async fn create(
    session: &mut CommandSession<'_>,
    info: &Info,
    mut object: Value,
    applying: &Applying,
) -> Result<(Value, &'static str), Failure> {
    prune_nulls(&mut object);
    if applying.dry_run == DryRun::Client {
        return Ok((object, "created"));
    }
    let created = session.create(&info.kind, &info.namespace, &object, &applying.options()).await;
    session.forget_kinds();
    Ok((created.map_err(|failure| failure.while_doing("creating", &info.source))?, "created"))
}

fn patch(info: &Info, modified: &Value, current: &Value) -> (&'static str, Value) {
    let last: Value = original(current).and_then(|text| serde_json::from_str(text).ok()).unwrap_or(json!({}));
    match schema(&info.kind) {
        Some(schema) => (STRATEGIC, three_way::strategic(&last, modified, current, TablePlace::root(&schema))),
        None => (MERGE, three_way::json_merge(&last, modified, current)),
    }
}

async fn on_server(
    session: &mut CommandSession<'_>,
    info: &Info,
    applying: &Applying,
) -> Result<(Value, &'static str), Failure> {
    let target = PatchTarget::new(&info.kind, &info.namespace, &info.name);
    let options = applying.options();
    let applied = session.patch(target, "application/apply-patch+yaml", &info.object, &options).await;
    session.forget_kinds();
    match applied {
        Ok(object) => {
            warn_if_deleting(session, &object);
            Ok((object, "serverside-applied"))
        }
        Err(failure) if failure.is_conflict() => Err(Failure::text(format!("{}\n{CONFLICT}", failure.bare()))),
        Err(failure) => Err(failure),
    }
}

const CONFLICT: &str = "Please review the fields above--they currently have other managers. Here
are the ways you can resolve this warning:
* If you intend to manage all of these fields, please re-run the apply
  command with the `--force-conflicts` flag.
* If you do not intend to manage all of the fields, please edit your
  manifest to remove references to the fields that should keep their
  current managers.
* You may co-own fields by updating your manifest to match the existing
  value; in this case, you'll become the manager if the other manager(s)
  stop managing the field (remove it from their configuration).
See https://kubernetes.io/docs/reference/using-api/server-side-apply/#conflicts";

fn warn_if_deleting(session: &mut CommandSession<'_>, object: &Value) {
    if object["metadata"]["deletionTimestamp"].is_string() {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        complain!(session, "Warning: Detected changes to resource {name} which is currently being deleted.");
    }
}

/// An object as errors describe it. In Kubernetes: `resource.Info.String`.
fn described(info: &Info) -> String {
    let kind = &info.kind;
    let resource = format!("{}/{}, Resource={}", kind.group, kind.version, kind.plural);
    let gvk = format!("{}/{}, Kind={}", kind.group, kind.version, kind.kind);
    format!(
        "Resource: \"{resource}\", GroupVersionKind: \"{gvk}\"\nName: \"{}\", Namespace: \"{}\"",
        info.name, info.namespace
    )
}
