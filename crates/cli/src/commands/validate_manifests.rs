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
use bytes::Bytes;
use coracle_cluster::{ApiServerOptions, Cluster, Transport, boxed};
use coracle_meta::{GroupVersionKind, Scope};
use coracle_release::Release;
use coracle_scenario::parse::Problem;
use coracle_sim::{ClockMode, Settle, run_in, settle};
use coracle_yaml::{YamlNode, YamlValue};
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};

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
    let api = cluster.service();
    for namespace in namespaces(documents) {
        let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
        apply(&api, &format!("/api/v1/namespaces/{namespace}"), &object).await?;
    }
    let mut problems = Vec::new();
    for group in 0..=NEEDED.len() + 1 {
        // Custom kinds are served, quotas are counted, and policies are compiled before others need them.
        let _ = settle(&cluster, Settle { quiet: Duration::from_secs(5), ..Settle::default() }).await;
        for document in documents.iter().filter(|document| document.group() == group) {
            problems.extend(document.problems(&cluster, &api).await?);
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

/// Applies an object; the code and the answer.
async fn apply(api: &Transport, path: &str, object: &Value) -> Result<(StatusCode, Value)> {
    let query = format!("fieldManager={MANAGER}&force=true&fieldValidation=Strict");
    let request = Request::builder().method(Method::PATCH).uri(format!("{path}?{query}"));
    send(api, request.header("content-type", "application/apply-patch+yaml"), object).await
}

async fn send(api: &Transport, request: http::request::Builder, object: &Value) -> Result<(StatusCode, Value)> {
    let request = request.body(boxed(Full::new(Bytes::from(object.to_string()))))?;
    let answer = api.send(request).await.map_err(|error| anyhow::anyhow!("{error}"))?;
    let code = answer.status();
    let bytes = answer.into_body().collect().await.map_err(|error| anyhow::anyhow!("{error}"))?.to_bytes();
    Ok((code, serde_json::from_slice(&bytes).unwrap_or_default()))
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

    async fn problems(&self, cluster: &Cluster, api: &Transport) -> Result<Vec<Problem>> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (api_version, kind) = (text(&self.value["apiVersion"]), text(&self.value["kind"]));
        if api_version.is_empty() || kind.is_empty() {
            return Ok(vec![self.problem("", "a manifest needs `apiVersion` and `kind`".to_owned())]);
        }
        let (group, version) = api_version.rsplit_once('/').unwrap_or(("", &api_version));
        let kinds = cluster.registry().kinds();
        let Some(found) = kinds.kind(&GroupVersionKind::new(group, version, &kind)) else {
            let release = cluster.registry().release();
            let why =
                format!("Kubernetes {release} has no kind {kind:?} in {api_version:?}, and no manifest defines it");
            return Ok(vec![self.problem("kind", why)]);
        };
        let metadata = &self.value["metadata"];
        let namespace = match (found.row().scope, text(&metadata["namespace"])) {
            (Scope::Cluster, _) => String::new(),
            (_, namespace) if namespace.is_empty() => "/namespaces/default".to_owned(),
            (_, namespace) => format!("/namespaces/{namespace}"),
        };
        let root = if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") };
        let collection = format!("{root}{namespace}/{}", found.row().plural);
        let name = text(&metadata["name"]);
        let (code, answer) = if name.is_empty() {
            let create = Request::builder().method(Method::POST).uri(format!("{collection}?fieldValidation=Strict"));
            send(api, create.header("content-type", "application/json"), &self.value).await?
        } else {
            apply(api, &format!("{collection}/{name}"), &self.value).await?
        };
        if code.is_success() { Ok(Vec::new()) } else { Ok(self.of_status(&answer)) }
    }

    /// The problems in a refusal: one for each field that it names.
    fn of_status(&self, status: &Value) -> Vec<Problem> {
        let message = status["message"].as_str().unwrap_or("the API server refuses the object").to_owned();
        let causes = status["details"]["causes"].as_array().cloned().unwrap_or_default();
        let of_cause = |cause: &Value| {
            let field = cause["field"].as_str().filter(|field| !field.is_empty())?;
            Some(self.problem(field, format!("{field}: {}", cause["message"].as_str().unwrap_or_default())))
        };
        let problems: Vec<Problem> = causes.iter().filter_map(of_cause).collect();
        if !problems.is_empty() {
            return problems;
        }
        vec![self.problem(named_field(&message), message.clone())]
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
