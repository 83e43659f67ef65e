//! `scale`.
//!
//! In Kubernetes: `kubectl/pkg/cmd/scale` and `kubectl/pkg/scale`.

use http::Method;
use serde_json::{Value, json};
use tokio::time::Instant;

use coracle_client::RawRequest;
use coracle_meta::ObjectKey;

use crate::await_object::{Awaited, until};
use crate::change::MERGE;
use crate::failure::Failure;
use crate::flags::Flag;
use crate::generator::print;
use crate::manifests::Info;
use crate::selection::{Wanted, select};
use crate::session::{CommandSession, JSON, PatchTarget};
use crate::values::{number, text};
use crate::verb::{ALL, FILES, OUTPUT, SELECTOR, Verb};
use crate::write_flags::{DryRun, dry_run};

const FLAGS: &[Flag] = &[
    Flag::number("replicas", "The wanted number of replicas"),
    Flag::number("current-replicas", "Only if this is the number now"),
    Flag::text("resource-version", "Only this version"),
    Flag::duration("timeout", "How long to wait for the replicas; 0 does not wait"),
    Flag::optional("dry-run", "unchanged", "none, client or server"),
];

pub(super) const VERB: Verb = Verb {
    words: &["scale"],
    aliases: &[],
    flags: &[FLAGS, OUTPUT, FILES, SELECTOR, ALL],
    required: &["replicas"],
    about: "Set a new size for a deployment, replica set, or replication controller",
    run: |session| Box::pin(run(session)),
};

async fn run(session: &mut CommandSession<'_>) -> Result<(), Failure> {
    let replicas = session.flags.number("replicas").unwrap_or(-1);
    if replicas < 0 {
        let why = "The --replicas=COUNT flag is required, and COUNT must be greater than or equal to 0";
        return Err(Failure::text(why));
    }
    let current = session.flags.number("current-replicas").unwrap_or(-1);
    if current < -1 {
        return Err(Failure::text("The --current-replicas must specify an integer of -1 or greater"));
    }
    let dry_run = dry_run(session)?;
    let wanted = Wanted::of(session, session.args());
    let wanted = Wanted { is_all_by_default: wanted.is_all, ..wanted };
    let (infos, failures) = select(session, &wanted).await?.fetch(session).await;
    if session.flags.has("resource-version") && infos.len() > 1 {
        return Err(Failure::text("cannot use --resource-version with multiple resources"));
    }
    if infos.is_empty() {
        let why = match Failure::aggregate(failures) {
            Ok(()) => "no objects passed to scale".to_owned(),
            Err(failure) => format!("no objects passed to scale {}", failure.bare()),
        };
        return Err(Failure::text(why));
    }
    for info in infos {
        if dry_run != DryRun::Client {
            scale(session, &info, replicas, current, dry_run).await?;
        }
        print(session, &info.object, "scaled")?;
    }
    Failure::aggregate(failures)
}

async fn scale(
    session: &mut CommandSession<'_>,
    info: &Info,
    replicas: i64,
    current: i64,
    dry_run: DryRun,
) -> Result<(), Failure> {
    let options = dry_run.options("", "");
    let version = session.flags.text("resource-version").to_owned();
    if current != -1 || !version.is_empty() {
        let path = info.kind.path(&info.namespace, &info.name, "scale");
        let mut scale = session.value(RawRequest::get(path.clone(), JSON)).await?;
        check(&scale, current, &version)?;
        scale["spec"]["replicas"] = replicas.into();
        let query = if dry_run == DryRun::Server { "?dryRun=All" } else { "" };
        session.write(Method::PUT, path + query, JSON, &scale).await?;
    } else {
        let target = PatchTarget { subresource: "scale", ..PatchTarget::new(&info.kind, &info.namespace, &info.name) };
        session.patch(target, MERGE, &json!({"spec": {"replicas": replicas}}), &options).await?;
    }
    let timeout = session.flags.duration("timeout").filter(|timeout| !timeout.is_zero());
    let Some(timeout) = timeout.filter(|_| dry_run == DryRun::None) else { return Ok(()) };
    let key = ObjectKey::new(info.namespace.clone(), info.name.clone());
    let awaited = Awaited { kind: &info.kind, key: &key, uid: "", deadline: Instant::now() + timeout };
    let is_done = |object: Option<&Value>| {
        let wanted = object.and_then(|object| number(object, "/spec/replicas"));
        let present = object.and_then(|object| number(object, "/status/replicas")).unwrap_or(0);
        Ok((wanted != Some(replicas) || present == replicas).then_some(()))
    };
    match until(session, &awaited, is_done).await {
        Err(Failure::Text(_)) => Err(Failure::text("timed out waiting for the condition")),
        ended => ended,
    }
}

fn check(scale: &Value, current: i64, version: &str) -> Result<(), Failure> {
    let replicas = number(scale, "/spec/replicas").unwrap_or(0);
    if current != -1 && replicas != current {
        return Err(Failure::text(format!("Expected replicas to be {current}, was {replicas}")));
    }
    let own = text(scale, "/metadata/resourceVersion");
    if !version.is_empty() && own != version {
        return Err(Failure::text(format!("Expected resource version to be {version}, was {own}")));
    }
    Ok(())
}
