//! `rollout undo`.
//!
//! In Kubernetes: `kubectl/pkg/polymorphichelpers/rollback.go`.

use serde_json::{Map, Value, json};

use super::rollout::targets;
use crate::describe::{template, without_hash};
use crate::failure::Failure;
use crate::flags::Flag;
use crate::generator::print;
use crate::last_applied::ANNOTATION;
use crate::manifests::Info;
use crate::rollouts::{Revision, earlier, history, is_current, with_group};
use crate::session::{CommandSession, PatchTarget};
use crate::values::map;
use crate::verb::{FILES, OUTPUT, SELECTOR, Verb};
use crate::write_flags::{DryRun, dry_run};

/// The annotations that a Deployment keeps.
const KEPT: &[&str] = &[
    ANNOTATION,
    "deployment.kubernetes.io/revision",
    "deployment.kubernetes.io/revision-history",
    "deployment.kubernetes.io/desired-replicas",
    "deployment.kubernetes.io/max-replicas",
    "deprecated.deployment.rollback.to",
];

const FLAGS: &[Flag] = &[
    Flag::number("to-revision", "The revision to return to; 0 is the one before"),
    Flag::optional("dry-run", "unchanged", "none, client or server"),
];

pub(super) const VERB: Verb = Verb {
    words: &["rollout", "undo"],
    aliases: &[],
    flags: &[FLAGS, OUTPUT, FILES, SELECTOR],
    required: &[],
    about: "Undo a previous rollout",
    run: |session| Box::pin(run(session)),
};

async fn run(session: &mut CommandSession<'_>) -> Result<(), Failure> {
    let dry_run = dry_run(session)?;
    let (infos, mut failures) = targets(session).await?;
    let wanted = session.flags.number("to-revision").unwrap_or(0);
    for info in infos {
        match undo(session, &info, wanted, dry_run).await {
            Ok(result) => print(session, &info.object, &result)?,
            Err(failure) => failures.push(failure),
        }
    }
    Failure::aggregate(failures)
}

async fn undo(session: &mut CommandSession<'_>, info: &Info, wanted: i64, dry_run: DryRun) -> Result<String, Failure> {
    let known = [("apps", "Deployment"), ("apps", "DaemonSet"), ("apps", "StatefulSet")];
    if !known.contains(&(info.kind.group.as_str(), info.kind.kind.as_str())) {
        let kind = coracle_meta::go_quote(&with_group(&info.kind.kind, &info.kind.group));
        return Err(Failure::text(format!("no rollbacker has been implemented for {kind}")));
    }
    let history = history(session, info).await?;
    let (_, target) = earlier(info, &history, wanted)?;
    if dry_run == DryRun::Client {
        return Ok(template(&target.template));
    }
    let skipped = format!("skipped rollback (current template already matches revision {wanted})");
    let object = &info.object;
    let (content_type, patch) = if info.kind.kind == "Deployment" {
        if object["spec"]["paused"] == true {
            return Err(Failure::text(
                "you cannot rollback a paused deployment; resume it first with 'kubectl rollout resume' and try again",
            ));
        }
        if is_current(object, &target.object) {
            return Ok(skipped);
        }
        ("application/json-patch+json", deployment_patch(object, &target))
    } else {
        if object["spec"]["template"] == target.template {
            return Ok(skipped);
        }
        ("application/strategic-merge-patch+json", target.object["data"].clone())
    };
    let place = PatchTarget::new(&info.kind, &info.namespace, &info.name);
    let restored = session.patch(place, content_type, &patch, &dry_run.options("", "")).await;
    match restored {
        Ok(_) => Ok("rolled back".to_owned()),
        Err(failure) => Err(Failure::text(format!("failed restoring revision {wanted}: {}", failure.bare()))),
    }
}

fn deployment_patch(deployment: &Value, target: &Revision) -> Value {
    let is_kept = |key: &String| KEPT.contains(&key.as_str());
    let pick = |object: &Value, kept: bool| -> Map<String, Value> {
        let all = map(object, "/metadata/annotations").cloned().unwrap_or_default();
        all.into_iter().filter(|(key, _)| is_kept(key) == kept).collect()
    };
    let mut annotations = pick(deployment, true);
    annotations.extend(pick(&target.object, false));
    json!([
        {"op": "replace", "path": "/spec/template", "value": without_hash(&target.template)},
        {"op": "replace", "path": "/metadata/annotations", "value": annotations},
    ])
}
