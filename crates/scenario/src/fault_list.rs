use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use coracle_yaml::Spanned;
use serde::Deserialize;
use serde_json::Value;

use crate::BuiltIn;
use crate::component_words::controllers;
use crate::faulty_server::FaultyServer;
use crate::file::Fault;
use crate::parse::{Checker, Known, Problem, read_text, yaml};
use crate::written_fault::{needs_own_informers, plural_of};

/// The plurals of kinds, by `apiVersion` and kind.
pub type PluralsOfKinds = BTreeMap<(String, String), String>;

/// Faults for a running cluster, which were read and checked.
#[derive(Clone, Debug)]
pub struct FaultList {
    pub(crate) faults: Vec<Fault>,
    /// The kinds that they may name in addition to the built-in ones.
    pub(crate) custom: PluralsOfKinds,
}

impl FaultList {
    /// The controllers and nodes on which one of the faults acts alone, so that they need
    /// [informers of their own](coracle_cluster::Builder::own_informers). Controllers that do not exist are left out.
    pub fn own_informers(&self) -> BTreeSet<String> {
        let exists = |name: &String| name.starts_with("kubelet/") || controllers().any(|known| known == *name);
        self.faults.iter().filter_map(|fault| needs_own_informers(fault, &self.custom)).filter(exists).collect()
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Listed {
    faults: Vec<Spanned<Fault>>,
}

/// Reads a file with faults for a running cluster: one fault, a list of faults, or an object with the list `faults`, in
/// the format of a scenario. There are no steps. A requester that is not known may come later. A custom resource is
/// named as `PLURAL.GROUP`.
///
/// # Errors
/// If the file cannot be read or has another format, with its line and column.
pub fn read_faults(path: &Path, server: FaultyServer) -> Result<FaultList, Problem> {
    let text = read_text(path)?;
    parse_faults(path, &text)?.checked(path, &text, FaultContext::of(server))
}

/// What faults can name and act on when they are read.
#[derive(Clone, Debug)]
pub struct FaultContext {
    /// The server that has them.
    pub server: FaultyServer,
    /// The kinds that it serves in addition to the built-in ones.
    pub kinds: PluralsOfKinds,
    /// The controllers and nodes that share informers, so that no fault acts on them alone.
    pub sharing: BTreeSet<String>,
}

impl FaultContext {
    /// That of a server which has not started.
    pub fn of(server: FaultyServer) -> Self {
        Self { server, kinds: PluralsOfKinds::new(), sharing: BTreeSet::new() }
    }
}

/// A text with the format of faults, whose meaning is not checked.
#[derive(Clone, Debug, Deserialize)]
#[serde(from = "Vec<Spanned<Fault>>")]
pub struct UncheckedFaults(Vec<Fault>);

impl From<Vec<Spanned<Fault>>> for UncheckedFaults {
    fn from(faults: Vec<Spanned<Fault>>) -> Self {
        Self(faults.into_iter().map(|fault| fault.value).collect())
    }
}

/// Reads a text with faults for a running cluster; `path` is for messages.
///
/// # Errors
/// If it has another format, with its line and column.
pub fn parse_faults(path: &Path, text: &str) -> Result<UncheckedFaults, Problem> {
    let faults: Vec<Spanned<Fault>> = match yaml(path, text)? {
        Value::Array(_) => yaml(path, text)?,
        Value::Object(map) if map.contains_key("faults") => yaml::<Listed>(path, text)?.faults,
        _ => vec![yaml(path, text)?],
    };
    if faults.is_empty() {
        let message = "expected at least one fault, such as `do: {cut: scheduler}`".to_owned();
        return Err(Problem { file: path.to_owned(), line: 1, column: 1, message });
    }
    Ok(faults.into())
}

impl UncheckedFaults {
    pub(crate) fn into_list(self) -> Vec<Fault> {
        self.0
    }

    /// The faults, if their words, kinds and resources are known, and if they can act on what they name.
    ///
    /// # Errors
    /// What is wrong with one of them, with its line and column in `text`.
    pub fn checked(self, path: &Path, text: &str, context: FaultContext) -> Result<FaultList, Problem> {
        let FaultContext { server, kinds: mut custom, sharing } = context;
        let Self(mut faults) = self;
        for fault in &mut faults {
            name_custom_resources(fault, &mut custom);
        }
        let vocabulary = BuiltIn::default();
        let known = Known { custom: custom.clone(), sharing, ..Known::default() };
        let check = Checker { path, text, vocabulary: &vocabulary, known };
        faults.iter().try_for_each(|fault| check.running_fault(fault, server))?;
        Ok(FaultList { faults, custom })
    }
}

/// Adds the kinds and resources that are not built in.
pub(crate) fn name_foreign_kinds(fault: &Fault, custom: &mut PluralsOfKinds) {
    let event = fault.when.as_ref().and_then(|when| when.value.event.as_ref());
    let kinds = fault.action.value.get("kind").and_then(Value::as_str).into_iter();
    for kind in kinds.chain(event.map(|event| event.value.kind.value.as_str())) {
        if plural_of(kind, custom).is_err() {
            custom.insert((String::new(), kind.to_owned()), kind.to_lowercase());
        }
    }
    let resource = fault.when.as_ref().and_then(|when| when.value.resource.as_ref());
    if let Some(plural) = resource.and_then(|resource| resource.value.split('/').next()) {
        custom.insert((String::new(), plural.to_owned()), plural.to_owned());
    }
}

/// Adds the custom resources that a fault names as `PLURAL.GROUP`, and removes the groups from the names of resources.
pub(crate) fn name_custom_resources(fault: &mut Fault, custom: &mut PluralsOfKinds) {
    if let Some(kind) = fault.action.value.get("kind").and_then(Value::as_str)
        && let Some((plural, group)) = kind.split_once('.')
    {
        custom.insert((group.to_owned(), kind.to_owned()), plural.to_owned());
    }
    let resource = fault.when.as_mut().and_then(|when| when.value.resource.as_mut());
    if let Some(resource) = resource
        && let Some((plural, rest)) = resource.value.split_once('.')
    {
        let (group, subresource) = rest.split_once('/').map_or((rest, None), |(group, rest)| (group, Some(rest)));
        custom.insert((group.to_owned(), resource.value.clone()), plural.to_owned());
        resource.value = subresource.map_or_else(|| plural.to_owned(), |rest| format!("{plural}/{rest}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<FaultList, String> {
        let (path, context) = (Path::new("f.yaml"), FaultContext::of(FaultyServer::CLUSTER));
        let read = parse_faults(path, text).and_then(|faults| faults.checked(path, text, context));
        read.map_err(|why| why.to_string())
    }

    #[test]
    fn a_fault_a_list_and_an_object_with_a_list_are_read_in_yaml_and_json() {
        let fault = "{when: {by: my-operator, verb: create, resource: configmaps}, do: {lose: answer}}";
        let json = r#"{"when": {"by": "my-operator", "verb": "create"}, "do": {"refuse": 503}, "for": 3}"#;
        let (list, object, two) =
            (format!("- {fault}\n"), format!("faults:\n- {fault}\n"), format!("[{fault}, {json}]"));
        for (text, count) in [(fault, 1), (json, 1), (&list, 1), (&object, 1), (&two, 2)] {
            assert_eq!(read(text).unwrap().faults.len(), count, "{text}");
        }
    }

    #[test]
    fn custom_resources_are_named_with_their_groups() {
        let list = read(
            "- {when: {verb: update, resource: widgets.example.com/status}, do: {refuse: 503}}\n\
                         - {do: {lag: 5s, kind: gadgets.example.com, to: my-operator}}\n",
        )
        .unwrap();
        let resource = list.faults[0].when.as_ref().unwrap().value.resource.as_ref().unwrap();
        assert_eq!(resource.value, "widgets/status");
        assert_eq!(list.custom.values().collect::<Vec<_>>(), ["gadgets", "widgets"]);
    }

    #[test]
    fn a_fault_that_a_running_cluster_cannot_have_is_refused_with_its_place() {
        for (text, message) in [
            ("", "f.yaml:1:1: "),
            ("[]", "f.yaml:1:1: expected at least one fault"),
            ("{do: {loose: answer}}", "f.yaml:1:7: unknown fault `loose`, expected one of lose"),
            ("- do: {cut: a}\n- when: {wen: 1}\n  do: {cut: a}\n", "f.yaml:2:10: unknown field `wen`"),
            ("{when: {step: a}, do: {cut: a}}", "f.yaml:1:15: a running cluster has no steps"),
            ("{do: {cut: a}, for: {until: b}}", "f.yaml:1:22: a running cluster has no steps"),
            ("{do: {lag: 5s, kind: Pood}}", "f.yaml:1:16: unknown kind `Pood`; did you mean `Pod`?"),
            (
                "{do: {lag: 5s, kind: Widget}}",
                "f.yaml:1:16: unknown kind `Widget`; a custom resource is named as PLURAL.GROUP",
            ),
            (
                "{when: {resource: widgets}, do: {refuse: 503}}",
                "f.yaml:1:19: unknown resource `widgets`; a custom resource is named as PLURAL.GROUP",
            ),
            ("{do: {lag: 5s, verb: get}}", "f.yaml:1:16: `verb` does not apply"),
            ("{when: {verb: get, resource: pod}, do: {refuse: 503}}", "f.yaml:1:30: unknown resource `pod`"),
            ("{when: {cel: 'pods.size() ='}, do: {cut: a}}", "f.yaml:1:14: bad expression"),
            (
                "{when: {verb: create}, do: {refuse: 409}}",
                "f.yaml:1:15: `refuse: 409` strikes only update, patch, delete",
            ),
            ("{when: {verb: creat}, do: {refuse: 409}}", "f.yaml:1:15: unknown verb `creat`"),
            ("{do: {cut: csi-driver/attacher}}", "f.yaml:1:7: `attacher` is a part of `csi-driver` without requests"),
        ] {
            let found = read(text).unwrap_err();
            assert!(found.starts_with(message), "{text}: {found}");
        }
        assert!(read("{do: {cut: a-program-that-comes-later}}").is_ok());
    }

    #[test]
    fn an_api_server_alone_refuses_faults_of_components_and_nodes_with_their_place() {
        let path = Path::new("f.yaml");
        let check = |text: &str| {
            let faults = parse_faults(path, text).unwrap();
            let context = FaultContext::of(FaultyServer { has_components: false, ..FaultyServer::CLUSTER });
            faults.checked(path, text, context).map(drop).map_err(|why| why.to_string())
        };
        for (text, part) in [
            ("- do: {kill: scheduler}\n", "f.yaml:1:8: an API server alone has no component `scheduler`"),
            ("- do: {double: my-operator}\n", "f.yaml:1:8: an API server alone has no component `my-operator`"),
            ("- do: {node: {stop: node-1}}\n", "f.yaml:1:15: an API server alone has no simulated node `node-1`"),
        ] {
            let refusal = check(text).unwrap_err();
            assert!(refusal.starts_with(part), "{refusal}");
        }
        for text in ["{do: {cut: a}}", "{do: {lag: 1s}}", "{do: {store: {slow: 1s}}}", "{do: {stale: a}}"] {
            assert_eq!(check(text), Ok(()));
        }
    }

    #[test]
    fn a_store_that_is_not_in_memory_has_no_fault_but_its_compaction() {
        let path = Path::new("f.yaml");
        let check = |text: &str| {
            let context = FaultContext::of(FaultyServer { has_store_in_memory: false, ..FaultyServer::CLUSTER });
            let faults = parse_faults(path, text).unwrap();
            faults.checked(path, text, context).map(drop).map_err(|why| why.to_string())
        };
        for text in ["- do: {store: kill}\n", "- do: {store: full}\n", "- do: {store: {slow: 1s}}\n"] {
            let refusal = check(text).unwrap_err();
            assert!(refusal.starts_with("f.yaml:1:8: this store is on disk or in an etcd"), "{refusal}");
        }
        assert_eq!(check("{do: {store: compact}}"), Ok(()));
    }

    #[test]
    fn a_fault_of_one_controller_alone_is_refused_if_it_shares_its_informers() {
        let path = Path::new("f.yaml");
        let check = |text: &str| {
            let sharing = BTreeSet::from(["controller-manager/job".to_owned(), "kubelet/node-1".to_owned()]);
            let context = FaultContext { sharing, ..FaultContext::of(FaultyServer::CLUSTER) };
            let faults = parse_faults(path, text).unwrap();
            faults.checked(path, text, context).map(drop).map_err(|why| why.to_string())
        };
        for (text, message) in [
            (
                "{do: {lag: 5s, to: controller-manager/job}}",
                "f.yaml:1:16: `controller-manager/job` shares its informers",
            ),
            ("{do: {pause: controller-manager/job}}", "f.yaml:1:7: `controller-manager/job` shares its informers"),
            ("{do: {cut: controller-manager/job}}", "f.yaml:1:7: `controller-manager/job` shares its informers"),
            ("{do: {hang: {}, to: kubelet/node-1}}", "f.yaml:1:17: `kubelet/node-1` shares its informers"),
        ] {
            let refusal = check(text).unwrap_err();
            assert!(refusal.starts_with(message), "{text}: {refusal}");
        }
        for text in [
            "{do: {lag: 5s, to: controller-manager/replicaset}}",
            "{do: {kill: controller-manager/job}}",
            "{do: {cut: kubelet/node-1}}",
            "{when: {by: controller-manager/job, verb: create}, do: {lose: answer}}",
            "{do: {pause: controller-manager}}",
        ] {
            assert_eq!(check(text), Ok(()), "{text}");
        }
    }
}
