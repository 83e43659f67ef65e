//! `taint`.
//!
//! In Kubernetes: `kubectl/pkg/cmd/taint`.

use coracle_meta::{go_quote, names};
use serde_json::{Value, json};

use crate::change::patch;
use crate::failure::Failure;
use crate::flags::Flag;
use crate::generator::print;
use crate::selection::{Wanted, select};
use crate::session::{CommandSession, PatchTarget};
use crate::values::{list, text};
use crate::verb::{ALL, OUTPUT, SELECTOR, VALIDATE, Verb, WRITE};
use crate::write_flags::{DryRun, dry_run, manager, validation};

const FLAGS: &[Flag] = &[Flag::bool("overwrite", "Replace taints that exist")];

pub(super) const VERB: Verb = Verb {
    words: &["taint"],
    aliases: &[],
    flags: &[FLAGS, OUTPUT, SELECTOR, ALL, WRITE, VALIDATE],
    required: &[],
    about: "Update the taints on one or more nodes",
    run: |session| Box::pin(run(session)),
};

/// A taint; one without an effect means all of the key.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Taint {
    key: String,
    value: String,
    effect: String,
}

impl Taint {
    /// Reads `KEY=VALUE:EFFECT`, `KEY:EFFECT` or `KEY`.
    fn parse(spec: &str) -> Result<Self, String> {
        let invalid = || format!("invalid taint spec: {spec}");
        let (pair, effect) = match spec.split(':').collect::<Vec<_>>().as_slice() {
            [key] => (*key, ""),
            [pair, effect] if ["NoSchedule", "PreferNoSchedule", "NoExecute"].contains(effect) => (*pair, *effect),
            [_, effect] => return Err(format!("invalid taint effect: {effect}, unsupported taint effect")),
            _ => return Err(invalid()),
        };
        let (key, value) = match pair.split('=').collect::<Vec<_>>().as_slice() {
            _ if effect.is_empty() => (pair, ""),
            [key] => (*key, ""),
            [key, value] => (*key, *value),
            _ => return Err(invalid()),
        };
        for wrong in [names::label_value(value), names::qualified_name(key)] {
            if !wrong.is_empty() {
                return Err(format!("{}, {}", invalid(), wrong.join("; ")));
            }
        }
        Ok(Self { key: key.to_owned(), value: value.to_owned(), effect: effect.to_owned() })
    }

    fn matches(&self, taint: &Value) -> bool {
        text(taint, "/key") == self.key && (self.effect.is_empty() || text(taint, "/effect") == self.effect)
    }

    fn json(&self) -> Value {
        let mut taint = json!({"effect": self.effect, "key": self.key});
        if !self.value.is_empty() {
            taint["value"] = self.value.clone().into();
        }
        taint
    }
}

async fn run(session: &mut CommandSession<'_>) -> Result<(), Failure> {
    let (dry_run, validation) = (dry_run(session)?, validation(session)?);
    let (resources, specs) = split(session.args())?;
    if resources.is_empty() {
        return Err(Failure::text("one or more resources must be specified as <resource> <name>"));
    }
    if specs.is_empty() {
        return Err(Failure::text("at least one taint update is required"));
    }
    let (added, removed) = parse(&specs).map_err(|why| Failure::usage(&why, "taint"))?;
    check(session, &resources, &added, &removed).await?;
    let (is_all, labels) = (session.flags.is("all"), session.flags.text("selector").to_owned());
    let mut args = vec!["nodes".to_owned()];
    if !is_all && labels.is_empty() {
        args.extend(resources[1..].iter().cloned());
    }
    let wanted = Wanted { args, labels, is_all, ..Wanted::default() };
    let (infos, mut failures) = select(session, &wanted).await?.fetch(session).await;
    for info in infos {
        let mut after = info.object.clone();
        let operation = match change(session, &mut after, &added, &removed) {
            Ok(operation) => operation,
            Err(failure) => {
                failures.push(failure);
                continue;
            }
        };
        if dry_run != DryRun::Client {
            let (content_type, patch) = patch(&info.kind, &info.object, &after);
            let manager = manager(session, "kubectl-taint");
            let target = PatchTarget::new(&info.kind, "", &info.name);
            match session.patch(target, content_type, &patch, &dry_run.options(&manager, validation)).await {
                Ok(node) => after = node,
                Err(failure) => {
                    failures.push(failure);
                    continue;
                }
            }
        }
        print(session, &after, operation)?;
    }
    Failure::aggregate(failures)
}

fn split(args: &[String]) -> Result<(Vec<String>, Vec<String>), Failure> {
    let (mut resources, mut specs) = (Vec::new(), Vec::new());
    for arg in args {
        if arg.contains(['=', ':']) || arg.ends_with('-') {
            specs.push(arg.clone());
        } else if specs.is_empty() {
            resources.push(arg.clone());
        } else {
            return Err(Failure::text(format!("all resources must be specified before taint changes: {arg}")));
        }
    }
    Ok((resources, specs))
}

fn parse(specs: &[String]) -> Result<(Vec<Taint>, Vec<Taint>), String> {
    let (mut added, mut removed) = (Vec::<Taint>::new(), Vec::new());
    for spec in specs {
        if let Some(spec) = spec.strip_suffix('-') {
            removed.push(Taint::parse(spec)?);
            continue;
        }
        let taint = Taint::parse(spec)?;
        if taint.effect.is_empty() {
            return Err(format!("invalid taint spec: {spec}"));
        }
        if added.iter().any(|known| known.key == taint.key && known.effect == taint.effect) {
            let (key, value, effect) = (&taint.key, &taint.value, &taint.effect);
            return Err(format!("duplicated taints with the same key and effect: {{{key} {value} {effect} <nil>}}"));
        }
        added.push(taint);
    }
    Ok((added, removed))
}

async fn check(
    session: &mut CommandSession<'_>,
    resources: &[String],
    added: &[Taint],
    removed: &[Taint],
) -> Result<(), Failure> {
    let word = resources[0].to_lowercase();
    let kinds = session.kinds().await?;
    let kind = kinds.of_word(&word).map_err(|failure| Failure::Verbatim(failure.bare()))?;
    if !kind.is_named("", "Node") {
        return Err(Failure::text(format!("invalid resource type {word}, only node types are supported")));
    }
    let both = removed.iter().filter(|removed| {
        added
            .iter()
            .any(|added| added.key == removed.key && (removed.effect.is_empty() || added.effect == removed.effect))
    });
    let both: Vec<String> = both.map(|taint| format!("{}={}", taint.key, taint.effect)).collect();
    if !both.is_empty() {
        let both = both.join(", ");
        return Err(Failure::text(format!(
            "can not both modify and remove the following taint(s) in the same command: {both}"
        )));
    }
    let (is_all, has_labels) = (session.flags.is("all"), !session.flags.text("selector").is_empty());
    if is_all && has_labels {
        return Err(Failure::text("setting 'all' parameter with a non empty selector is prohibited"));
    }
    if !is_all && !has_labels && resources.len() < 2 {
        let why = "at least one resource name must be specified since 'all' parameter is not set";
        return Err(Failure::text(why));
    }
    Ok(())
}

/// Changes the taints of a node; returns what was done. In Kubernetes: `taint.reorganizeTaints`.
fn change(
    session: &CommandSession<'_>,
    node: &mut Value,
    added: &[Taint],
    removed: &[Taint],
) -> Result<&'static str, Failure> {
    let old = list(node, "/spec/taints").to_vec();
    let overwrites = session.flags.is("overwrite");
    let taken: Vec<&str> = added
        .iter()
        .flat_map(|taint| old.iter().filter(|old| taint.matches(old)).map(|_| taint.key.as_str()))
        .collect();
    if !overwrites && !taken.is_empty() {
        let (name, taken) = (text(node, "/metadata/name"), taken.join(","));
        return Err(Failure::text(format!(
            "node {name} already has {taken} taint(s) with same effect(s) and --overwrite is false"
        )));
    }
    let mut taints: Vec<Value> = added.iter().map(Taint::json).collect();
    taints.extend(old.iter().filter(|old| !added.iter().any(|taint| taint.matches(old))).cloned());
    let is_added = taints.len() != old.len();
    let (mut failures, mut is_removed) = (Vec::new(), false);
    for taint in removed {
        let before = taints.len();
        taints.retain(|known| !taint.matches(known));
        is_removed = taints.len() != before;
        if !is_removed {
            let spec =
                if taint.effect.is_empty() { taint.key.clone() } else { format!("{}:{}", taint.key, taint.effect) };
            failures.push(Failure::text(format!("taint {} not found", go_quote(&spec))));
        }
    }
    Failure::aggregate(failures)?;
    if taints.is_empty() {
        drop(node["spec"].as_object_mut().map(|spec| spec.remove("taints")))
    } else {
        node["spec"]["taints"] = taints.into()
    }
    Ok(match (is_added, is_removed) {
        _ if overwrites => "modified",
        (true, true) => "modified",
        (true, false) => "tainted",
        (false, _) => "untainted",
    })
}
