//! Checks manifests of Kubernetes offline: a control plane in this process, in virtual time, takes them all.
//!
//! ```text
//! files --YamlNode--> Document, in an order in which each finds what it needs --apply, strict--> Status --> Problem
//! ```
//! So the checks are those of the API server: schemas, validation, defaults, CEL rules of custom kinds, admission
//! policies and quotas among the manifests. Not here: webhooks, which would have to run, and what a cluster already has.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use coracle_client::{Api, Client, Patch, WriteParams};
use coracle_cluster::{ApiServerOptions, Cluster};
use coracle_meta::{GroupVersionResource, Object, ObjectKey, Scope, Status};
use coracle_release::Release;
use coracle_scenario::parse::Problem;
use coracle_sim::{ClockMode, Settle, run_in, settle};
use coracle_yaml::{YamlNode, YamlValue};
use serde_json::Value;

/// The manager of the fields, as in `kubectl apply --server-side`.
const MANAGER: &str = "coracle-validate";
/// The group of scenarios, lessons, exercises and plans.
const OWN_GROUP: &str = "coracle.dev/";
/// The kinds that other objects need, in groups; the other kinds come after them.
const NEEDED: [&[&str]; 2] = [
    &["Namespace", "CustomResourceDefinition"],
    &[
        "ServiceAccount",
        "ResourceQuota",
        "LimitRange",
        "PriorityClass",
        "StorageClass",
        "RuntimeClass",
        "IngressClass",
        "ClusterRole",
        "Role",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        "MutatingAdmissionPolicy",
        "MutatingAdmissionPolicyBinding",
    ],
];
/// The kinds that would refuse all that follows, because their programs do not run.
const LAST: &[&str] = &["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration", "APIService"];

/// An object in a file.
struct Document<'a> {
    file: &'a Path,
    text: &'a str,
    node: YamlNode,
    value: Value,
}

/// Whether a text has manifests: objects of Kubernetes, and no document of Coracle.
pub(super) fn are_in(text: &str) -> bool {
    let Ok(nodes) = YamlNode::parse_all(text) else { return false };
    let versions = nodes.iter().map(|node| field(node, "apiVersion").zip(field(node, "kind")));
    let versions: Option<Vec<_>> = versions.collect();
    versions.is_some_and(|all| !all.is_empty() && all.iter().all(|(version, _)| !version.starts_with(OWN_GROUP)))
}

fn field<'a>(node: &'a YamlNode, name: &str) -> Option<&'a str> {
    let YamlValue::Object(fields) = &node.value else { return None };
    let field = fields.iter().find(|field| field.name == name)?;
    match &field.node.value {
        YamlValue::Scalar(value) => value.as_str(),
        _ => None,
    }
}

/// All problems of manifests, in the order of the files.
///
/// # Errors
/// If the control plane does not start.
pub(super) fn problems(manifests: &[(PathBuf, String)], release: &Release) -> Result<Vec<Problem>> {
    let mut found = Vec::new();
    let mut documents = Vec::new();
    for (file, text) in manifests {
        match YamlNode::parse_all(text) {
            Ok(nodes) => documents.extend(nodes.into_iter().flat_map(objects).filter_map(|node| {
                let value = Value::from(&node);
                (!value.is_null()).then(|| Document { file, text, node, value })
            })),
            Err(error) => {
                found.push(Problem { file: file.clone(), line: error.line, column: 1, message: error.to_string() })
            }
        }
    }
    found.extend(run_in(ClockMode::Virtual, applied(&documents, release.clone()))??);
    found.sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
    Ok(found)
}

/// The items of a list, or the object itself.
fn objects(node: YamlNode) -> Vec<YamlNode> {
    let YamlValue::Object(fields) = &node.value else { return vec![node] };
    if field(&node, "kind") != Some("List") {
        return vec![node];
    }
    let items = fields.iter().find(|field| field.name == "items").map(|field| &field.node.value);
    match items {
        Some(YamlValue::List(items)) => items.clone(),
        _ => vec![node],
    }
}

async fn applied(documents: &[Document<'_>], release: Release) -> Result<Vec<Problem>> {
    let options = ApiServerOptions { release, ..ApiServerOptions::default() };
    let cluster =
        Cluster::builder().seed(1).api_server(options).start().await.context("cannot start the API server")?;
    let client = cluster.api_client();
    let api = Api::<Object>::dynamic(&client, GroupVersionResource::new("", "v1", "namespaces"));
    for name in namespaces(documents) {
        let mut namespace = Object::default();
        namespace.set("apiVersion", "v1");
        namespace.set("kind", "Namespace");
        namespace.set("metadata.name", name);
        // The objects in a namespace whose name is not valid are refused.
        let _ = api.create(&namespace).await;
    }
    let mut problems = Vec::new();
    for group in 0..=NEEDED.len() + 1 {
        // Custom kinds are served, quotas are counted, and policies are compiled before others need them.
        let _ = settle(&cluster, Settle { quiet: Duration::from_secs(5), ..Settle::default() }).await;
        for document in documents.iter().filter(|document| document.group() == group) {
            problems.extend(document.problems(&cluster, &client).await?);
        }
    }
    cluster.shutdown().await;
    Ok(problems)
}

/// The namespaces in which objects are, and which no manifest makes.
fn namespaces(documents: &[Document<'_>]) -> BTreeSet<String> {
    let text = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    let mut named: BTreeSet<String> =
        documents.iter().filter_map(|document| text(&document.value["metadata"]["namespace"])).collect();
    for document in documents.iter().filter(|document| document.value["kind"] == "Namespace") {
        named.remove(document.value["metadata"]["name"].as_str().unwrap_or_default());
    }
    named
}

impl Document<'_> {
    /// When it is applied.
    fn group(&self) -> usize {
        let kind = self.value["kind"].as_str().unwrap_or_default();
        let is_it = |kinds: &&[&str]| kinds.contains(&kind);
        match NEEDED.iter().position(&is_it) {
            Some(group) => group,
            None if is_it(&LAST) => NEEDED.len() + 1,
            None => NEEDED.len(),
        }
    }

    async fn problems(&self, cluster: &Cluster, client: &Client) -> Result<Vec<Problem>> {
        let object = match Object::from_value(self.value.clone()) {
            Ok(object) => object,
            Err(error) => return Ok(vec![self.problem("metadata", error.to_string())]),
        };
        let (api_version, kind) = (object.api_version(), object.kind());
        let is_named = !api_version.is_empty() && !kind.is_empty();
        let Some(wanted) = object.group_version_kind().filter(|_| is_named) else {
            return Ok(vec![self.problem("", "a manifest needs `apiVersion` and `kind`".to_owned())]);
        };
        let kinds = cluster.registry().kinds();
        let Some(found) = kinds.kind(&wanted) else {
            let release = cluster.registry().release();
            let why =
                format!("Kubernetes {release} has no kind {kind:?} in {api_version:?}, and no manifest defines it");
            return Ok(vec![self.problem("kind", why)]);
        };
        let namespace = match (found.row().scope, object.namespace()) {
            (Scope::Cluster, _) => "",
            (_, "") => "default",
            (_, namespace) => namespace,
        };
        let write = WriteParams {
            field_manager: MANAGER.to_owned(),
            field_validation: "Strict".to_owned(),
            ..WriteParams::default()
        };
        let resource = GroupVersionResource::new(&wanted.group, &wanted.version, &found.row().plural);
        let api = Api::<Object>::dynamic(client, resource).within(namespace).writing(write);
        let made = if object.name().is_empty() {
            api.create(&object).await
        } else {
            let apply = Patch::Apply { object: self.value.clone(), force: true };
            api.patch(&ObjectKey::new(namespace, object.name()), &apply).await
        };
        match made {
            Ok(_) => Ok(Vec::new()),
            Err(coracle_client::Error::Api(status)) => Ok(self.of_status(&status)),
            Err(error) => Err(error.into()),
        }
    }

    /// The problems in a refusal: one for each field that it names.
    fn of_status(&self, status: &Status) -> Vec<Problem> {
        let causes = status.details.iter().flat_map(|details| &details.causes);
        let of_fields = causes.filter(|cause| !cause.field.is_empty());
        let problems: Vec<Problem> =
            of_fields.map(|cause| self.problem(&cause.field, format!("{}: {}", cause.field, cause.message))).collect();
        if !problems.is_empty() {
            return problems;
        }
        vec![self.problem(named_field(&status.message), status.message.clone())]
    }

    /// A problem at a field: at its line, or at that of the nearest field around it.
    fn problem(&self, field: &str, message: String) -> Problem {
        let line = line_of(&self.node, field);
        let text = usize::try_from(line).ok().and_then(|line| self.text.lines().nth(line.checked_sub(1)?));
        let indent = text.map_or(0, |text| text.chars().take_while(|letter| " -".contains(*letter)).count());
        Problem { file: self.file.to_owned(), line, column: indent as u64 + 1, message }
    }
}

/// The field that a message of strict decoding names: `unknown field "spec.replica"`, or `.spec.replica: field not
/// declared in schema`.
fn named_field(message: &str) -> &str {
    let quoted = message.split('"').skip(1).step_by(2).find(|quoted| quoted.contains('.'));
    let of_schema = || message.split(' ').find_map(|word| word.strip_prefix('.')?.strip_suffix(':'));
    quoted.or_else(of_schema).unwrap_or_default()
}

/// The line of a field such as `spec.containers[0].image`, or of the nearest field around it that exists.
fn line_of(node: &YamlNode, field: &str) -> u64 {
    let (mut node, mut line) = (node, node.line());
    for step in field.split(['.', '[', ']']).filter(|step| !step.is_empty()) {
        let next = match &node.value {
            // A field is where its name stands.
            YamlValue::Object(fields) => {
                fields.iter().find(|field| field.name == step).map(|field| (&field.node, field.location.line()))
            }
            YamlValue::List(items) => {
                step.parse::<usize>().ok().and_then(|at| items.get(at)).map(|item| (item, item.line()))
            }
            YamlValue::Scalar(_) => None,
        };
        let Some(found) = next else { return line };
        (node, line) = found;
    }
    line
}
