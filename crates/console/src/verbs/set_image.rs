//! `set image`.
//!
//! In Kubernetes: `kubectl/pkg/cmd/set/set_image.go`.

use coracle_meta::go_quote;
use serde_json::{Value, json};

use crate::change::patch;
use crate::failure::Failure;
use crate::flags::Flag;
use crate::generator::print;
use crate::pairs::{Changes, split};
use crate::selection::{Wanted, select};
use crate::session::{CommandSession, PatchTarget};
use crate::verb::{ALL, FILES, OUTPUT, SELECTOR, Verb, WRITE};
use crate::write_flags::{DryRun, dry_run, manager};

const FLAGS: &[Flag] = &[Flag::bool("local", "Not supported")];

pub(super) const VERB: Verb = Verb {
    words: &["set", "image"],
    aliases: &[],
    flags: &[FLAGS, OUTPUT, FILES, SELECTOR, ALL, WRITE],
    required: &[],
    about: "Update the image of a pod template",
    run: |session| Box::pin(run(session)),
};

async fn run(session: &mut CommandSession<'_>) -> Result<(), Failure> {
    let dry_run = dry_run(session)?;
    let (resources, pairs) = split(session.args(), "image")?;
    let images = Changes::parse(&pairs, "image", false)?.set;
    let wanted = Wanted::of(session, &resources);
    let wanted = Wanted { is_all_by_default: wanted.is_all, ..wanted };
    let infos = select(session, &wanted).await?.fetch_all(session).await?;
    check(session, &wanted, &images)?;
    let mut failures = Vec::new();
    for info in infos {
        let before = info.object.clone();
        let mut after = before.clone();
        let Some(spec) = pod_spec(&mut after) else {
            let resource = format!("{}/{}", info.kind.plural, info.name);
            failures.push(Failure::text(format!(
                "error: {resource} the object is not a pod or does not have a pod template: *v1.{}\n",
                info.kind.kind
            )));
            continue;
        };
        for (name, image) in &images {
            let found = ["initContainers", "containers"].map(|field| set(spec.get_mut(field), name, image));
            if !found.contains(&true) {
                failures.push(Failure::text(format!("error: unable to find container named {}", go_quote(name))));
            }
        }
        let (content_type, patch) = patch(&info.kind, &before, &after);
        if patch == json!({}) {
            continue;
        }
        let shown = match dry_run {
            DryRun::Client => Ok(after),
            _ => {
                let manager = manager(session, "kubectl-set");
                let target = PatchTarget::new(&info.kind, &info.namespace, &info.name);
                session.patch(target, content_type, &patch, &dry_run.options(&manager, "")).await
            }
        };
        match shown {
            Ok(object) => print(session, &object, "image updated")?,
            Err(failure) => failures
                .push(Failure::text(format!("failed to patch image update to pod template: {}", failure.bare()))),
        }
    }
    Failure::aggregate(failures)
}

fn check(
    session: &CommandSession<'_>,
    wanted: &Wanted,
    images: &std::collections::BTreeMap<String, String>,
) -> Result<(), Failure> {
    let mut failures = Vec::new();
    if wanted.is_all && !wanted.labels.is_empty() {
        failures.push(Failure::text("cannot set --all and --selector at the same time"));
    }
    if wanted.args.is_empty() && session.flags.texts("filename").is_empty() {
        let why = "one or more resources must be specified as <resource> <name> or <resource>/<name>";
        failures.push(Failure::text(why));
    }
    if images.is_empty() {
        failures.push(Failure::text("at least one image update is required"));
    } else if images.len() > 1 && images.contains_key("*") {
        failures.push(Failure::text(
            "all containers are already specified by *, but saw more than one container_name=container_image pairs",
        ));
    }
    if session.flags.is("local") {
        failures.push(Failure::text("the console has no --local"));
    }
    Failure::aggregate(failures)
}

/// The spec of the pods that an object is or makes. In Kubernetes: `polymorphichelpers.UpdatePodSpecForObject`.
fn pod_spec(object: &mut Value) -> Option<&mut Value> {
    let pointer = match object["kind"].as_str()? {
        "Pod" => "/spec",
        "CronJob" => "/spec/jobTemplate/spec/template/spec",
        _ => "/spec/template/spec",
    };
    object.pointer_mut(pointer).filter(|spec| spec["containers"].is_array())
}

fn set(containers: Option<&mut Value>, name: &str, image: &str) -> bool {
    let mut found = false;
    for container in containers.and_then(Value::as_array_mut).into_iter().flatten() {
        if name == "*" || container["name"] == *name {
            container["image"] = image.into();
            found = true;
        }
    }
    found
}
