//! The names of kinds that kubectl accepts: singular, short names, the kind itself.

use coracle_journal::{Entry, Stage};
use coracle_schema::Table;
use coracle_viewer::find;
use serde_json::Value;

/// The names of a kind.
#[derive(Debug)]
struct Names {
    group: String,
    plural: String,
    /// The other names: the singular, the short names, and the kind in lower case.
    others: Vec<String>,
}

/// An object as the event log names it: `rs/web`, `ReplicaSet/web` and `replicasets.apps/web` become
/// `replicasets/web`. The names of built-in kinds are those of the API server; the names of custom kinds are in the
/// log. A name that is not a kind is not changed, and neither is a name that the log itself contains: a namespace may
/// have the name of a kind.
pub fn with_plural_kind(entries: &[Entry], about: &str) -> String {
    let whole = with_plural(entries, about);
    let is_there = |name| find(entries, name).is_ok();
    if whole != about && !is_there(&whole) && is_there(about) { about.to_owned() } else { whole }
}

fn with_plural(entries: &[Entry], about: &str) -> String {
    let Some((kind, rest)) = about.split_once('/') else { return about.to_owned() };
    let kind = kind.to_lowercase();
    let (word, group) = kind.split_once('.').map_or((&*kind, None), |(word, group)| (word, Some(group)));
    let is_it = |names: &&Names| {
        // kubectl accepts a version before the group: deployments.v1.apps.
        let is_group =
            |group: &str| group == names.group || group.split_once('.').is_some_and(|(_, group)| group == names.group);
        (names.plural == word || names.others.iter().any(|name| name == word)) && group.is_none_or(is_group)
    };
    let names: Vec<Names> = built_in().chain(custom(entries)).collect();
    names.iter().find(is_it).map_or_else(|| about.to_owned(), |names| format!("{}/{rest}", names.plural))
}

fn built_in() -> impl Iterator<Item = Names> {
    Table::newest().resources().iter().map(|row| Names {
        group: row.kind.group.to_string(),
        plural: row.plural.clone(),
        others: row.short_names.iter().chain([&row.singular]).cloned().chain([row.kind.kind.to_lowercase()]).collect(),
    })
}

/// The kinds whose CustomResourceDefinitions the log contains.
fn custom(entries: &[Entry]) -> impl Iterator<Item = Names> {
    let definitions = entries
        .iter()
        .filter(|entry| entry.stage == Stage::ObjectChange && entry.subject.starts_with("customresourcedefinitions/"));
    definitions.filter_map(|entry| {
        let spec = entry.data.get("whole")?.get("spec")?;
        let names = spec.get("names")?;
        let text = |name: &str| names.get(name).and_then(Value::as_str).map(str::to_lowercase);
        let short = names.get("shortNames").and_then(Value::as_array).into_iter().flatten();
        let short = short.filter_map(|name| name.as_str().map(str::to_owned));
        let others = short.chain(text("singular")).chain(text("kind")).collect();
        Some(Names { group: spec.get("group")?.as_str()?.to_owned(), plural: text("plural")?, others })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use coracle_journal::{Detail, EntryId, Recorder};
    use serde_json::json;

    fn log() -> Vec<Entry> {
        let recorder = Recorder::ring(10);
        recorder.record("store", Stage::ObjectChange, || {
            let names = json!({"plural": "boats", "singular": "boat", "shortNames": ["bt"], "kind": "Boat"});
            let whole = json!({"spec": {"group": "example.com", "names": names}});
            Detail::about("customresourcedefinitions/boats.example.com").with("whole", whole)
        });
        for pod in ["pods/jobs/web-1", "pods/ingress/web-1"] {
            recorder.record("store", Stage::StoreCommit, || Detail::about(pod).with("op", "create"));
        }
        recorder.entries(EntryId(0))
    }

    #[test]
    fn kinds_are_called_as_kubectl_takes_them() {
        let log = log();
        for (about, whole) in [
            ("rs/web", "replicasets/web"),
            ("replicaset/web", "replicasets/web"),
            ("ReplicaSet/shop/web", "replicasets/shop/web"),
            ("deploy/web", "deployments/web"),
            ("Deployment/web", "deployments/web"),
            ("deployments.apps/web", "deployments/web"),
            ("deployment.v1.apps/web", "deployments/web"),
            ("po/x", "pods/x"),
            ("svc/x", "services/x"),
            ("netpol/x", "networkpolicies/x"),
            ("pods/default/web-1", "pods/default/web-1"),
            ("bt/coracle", "boats/coracle"),
            ("Boat/coracle", "boats/coracle"),
            ("boats.example.com/coracle", "boats/coracle"),
        ] {
            assert_eq!(with_plural_kind(&log, about), whole);
        }
        for other in ["#412", "rev=31", "web-1", "default/web-1", "rs.batch/web", "kube-system/x"] {
            assert_eq!(with_plural_kind(&log, other), other);
        }
        assert_eq!(with_plural_kind(&[], "bt/coracle"), "bt/coracle");
        assert_eq!(
            with_plural_kind(&log, "jobs/web-1"),
            "jobs/web-1",
            "a pod of a namespace that is called as a kind is"
        );
        assert_eq!(with_plural_kind(&log, "ingress/web-1"), "ingress/web-1");
        assert_eq!(with_plural_kind(&log, "ingress/web-2"), "ingresses/web-2");
    }
}
