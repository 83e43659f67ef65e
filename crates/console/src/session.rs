//! One command while it runs: what it was given, its requests, and what it has printed.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use coracle_client::{Client, RawRequest};
use coracle_meta::{GroupVersionResource, ObjectKey, go_quote, percent};
use http::Method;
use http_body_util::BodyExt;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::flags::Flags;
use crate::input::Input;
use crate::kinds::{Kinds, ServedKind};
use crate::setting::Setting;

/// The accepted media type of objects.
pub(crate) const JSON: &str = "application/json";

/// One command while it runs.
pub(crate) struct CommandSession<'c> {
    pub(crate) setting: &'c Setting,
    pub(crate) client: Client,
    pub(crate) input: &'c Input,
    pub(crate) flags: Flags,
    /// The verb as messages name it: `create deployment`.
    pub(crate) command: String,
    pub(crate) out: String,
    pub(crate) err: String,
    kinds: Option<Arc<Kinds>>,
    warned: BTreeSet<String>,
}

/// Prints a line to the standard output of a session.
macro_rules! say {
    ($session:expr, $($text:tt)*) => {{
        $session.out.push_str(&format!($($text)*));
        $session.out.push('\n');
    }};
}

/// Prints a line to the standard error of a session.
macro_rules! complain {
    ($session:expr, $($text:tt)*) => {{
        $session.err.push_str(&format!($($text)*));
        $session.err.push('\n');
    }};
}

pub(crate) use {complain, say};

impl<'c> CommandSession<'c> {
    pub(crate) fn new(setting: &'c Setting, input: &'c Input, flags: Flags, command: String) -> Self {
        let client = match flags.text("as") {
            "" => setting.client.clone(),
            user => setting.client.impersonating(user),
        };
        let (out, err) = (String::new(), String::new());
        Self { setting, client, input, flags, command, out, err, kinds: None, warned: BTreeSet::new() }
    }

    /// The words that are not flags.
    pub(crate) fn args(&self) -> &[String] {
        &self.flags.args
    }

    /// The namespace of the command.
    pub(crate) fn namespace(&self) -> String {
        self.flags.text_or("namespace", &self.setting.namespace).to_owned()
    }

    /// Whether the command names its namespace.
    pub(crate) fn has_namespace(&self) -> bool {
        self.flags.has("namespace")
    }

    /// Whether the command refuses manifests without a kind.
    pub(crate) fn validates(&self) -> bool {
        matches!(self.command.as_str(), "apply" | "create")
            && !matches!(self.flags.text("validate"), "false" | "ignore")
    }

    /// The kinds of the server.
    pub(crate) async fn kinds(&mut self) -> Result<Arc<Kinds>, Failure> {
        if let Some(kinds) = &self.kinds {
            return Ok(kinds.clone());
        }
        let mut answers = Vec::new();
        for request in Kinds::requests() {
            answers.push(self.value(request).await?);
        }
        let kinds = Arc::new(Kinds::read(&answers));
        self.kinds = Some(kinds.clone());
        Ok(kinds)
    }

    /// Forgets the kinds, because the command may have changed them.
    pub(crate) fn forget_kinds(&mut self) {
        self.kinds = None;
    }

    /// A kind that every server has.
    pub(crate) async fn built_in(&mut self, group: &str, kind: &str) -> Result<ServedKind, Failure> {
        let kinds = self.kinds().await?;
        let found = kinds.of_group(group, kind).cloned();
        found.ok_or_else(|| Failure::text(format!("the server doesn't have a resource type {}", go_quote(kind))))
    }

    /// Sends a request, prints the warnings of the answer, and returns its body.
    pub(crate) async fn send(&mut self, request: RawRequest) -> Result<Bytes, Failure> {
        let path = request.path.clone();
        let answer = self.client.send_raw(request).await?;
        for header in answer.headers().get_all("warning") {
            let Some(text) = header.to_str().ok().and_then(warning_text) else { continue };
            if self.warned.insert(text.clone()) {
                complain!(self, "Warning: {text}");
            }
        }
        let body = answer.into_body().collect().await;
        Ok(body.map_err(|error| Failure::text(format!("no answer to {path}: {error}")))?.to_bytes())
    }

    /// Sends a request whose answer is JSON.
    pub(crate) async fn value(&mut self, request: RawRequest) -> Result<Value, Failure> {
        let body = self.send(request).await?;
        serde_json::from_slice(&body).map_err(|error| Failure::text(format!("malformed answer: {error}")))
    }

    /// Reads an object.
    pub(crate) async fn get(&mut self, kind: &ServedKind, namespace: &str, name: &str) -> Result<Value, Failure> {
        check_name(name)?;
        self.value(RawRequest::get(kind.path(namespace, name, ""), JSON)).await
    }

    /// Reads an object; `None` if there is no such object.
    pub(crate) async fn find(
        &mut self,
        kind: &ServedKind,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Value>, Failure> {
        match self.get(kind, namespace, name).await {
            Ok(object) => Ok(Some(object)),
            Err(failure) if failure.is_not_found() => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// Reads the objects that selectors select, with their kind.
    pub(crate) async fn list(
        &mut self,
        kind: &ServedKind,
        namespace: &str,
        labels: &str,
        fields: &str,
    ) -> Result<Vec<Value>, Failure> {
        let path = kind.path(namespace, "", "") + &query(&[("fieldSelector", fields), ("labelSelector", labels)]);
        let answer = self.value(RawRequest::get(path, JSON)).await?;
        let Value::Object(mut answer) = answer else { return Ok(Vec::new()) };
        let items = match answer.remove("items") {
            Some(Value::Array(items)) => items,
            _ => Vec::new(),
        };
        let typed = |mut item: Value| {
            if let Value::Object(fields) = &mut item {
                fields.entry("apiVersion").or_insert_with(|| kind.api_version().into());
                fields.entry("kind").or_insert_with(|| kind.kind.clone().into());
            }
            item
        };
        Ok(items.into_iter().map(typed).collect())
    }

    /// Creates an object; `manager` is the field manager.
    pub(crate) async fn create(
        &mut self,
        kind: &ServedKind,
        namespace: &str,
        object: &Value,
        options: &WriteOptions<'_>,
    ) -> Result<Value, Failure> {
        let path = kind.path(namespace, "", "") + &options.query();
        self.write(Method::POST, path, JSON, object).await
    }

    /// Sends a request with a body of JSON.
    pub(crate) async fn write(
        &mut self,
        method: Method,
        path: String,
        content_type: &'static str,
        body: &Value,
    ) -> Result<Value, Failure> {
        let body = Bytes::from(body.to_string());
        self.value(RawRequest { method, path, accept: JSON, content_type, body }).await
    }

    /// Patches an object, or its subresource.
    pub(crate) async fn patch(
        &mut self,
        target: PatchTarget<'_>,
        content_type: &'static str,
        patch: &Value,
        options: &WriteOptions<'_>,
    ) -> Result<Value, Failure> {
        check_name(target.name)?;
        let path = target.kind.path(target.namespace, target.name, target.subresource) + &options.query();
        self.write(Method::PATCH, path, content_type, patch).await
    }

    /// Deletes an object; the answer is the object or a `Status`.
    pub(crate) async fn delete(
        &mut self,
        kind: &ServedKind,
        namespace: &str,
        name: &str,
        mut options: Value,
    ) -> Result<Value, Failure> {
        check_name(name)?;
        options["kind"] = json!("DeleteOptions");
        options["apiVersion"] = json!("v1");
        self.write(Method::DELETE, kind.path(namespace, name, ""), JSON, &options).await
    }

    /// The watch that starts after a version of an object of this name.
    pub(crate) async fn watch_one(
        &mut self,
        kind: &ServedKind,
        key: &ObjectKey,
        version: &str,
    ) -> Result<coracle_client::Watch<coracle_meta::Object>, Failure> {
        let resource = GroupVersionResource::new(kind.group.clone(), kind.version.clone(), kind.plural.clone());
        let api = coracle_client::Api::dynamic(&self.client, resource);
        let api = if kind.is_namespaced { api.within(&key.namespace) } else { api };
        let params = coracle_client::WatchParams {
            fields: format!("metadata.name={}", key.name),
            resource_version: (!version.is_empty()).then(|| version.to_owned()),
            ..coracle_client::WatchParams::default()
        };
        Ok(api.watch(&params).await?)
    }
}

/// An object, or its subresource, to patch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PatchTarget<'t> {
    pub(crate) kind: &'t ServedKind,
    pub(crate) namespace: &'t str,
    pub(crate) name: &'t str,
    pub(crate) subresource: &'t str,
}

impl<'t> PatchTarget<'t> {
    pub(crate) fn new(kind: &'t ServedKind, namespace: &'t str, name: &'t str) -> Self {
        Self { kind, namespace, name, subresource: "" }
    }
}

/// The options of a write.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WriteOptions<'o> {
    pub(crate) manager: &'o str,
    /// `Strict`, `Warn`, `Ignore`; empty for the server's default.
    pub(crate) validation: &'o str,
    pub(crate) is_dry_run: bool,
    pub(crate) is_forced: bool,
}

impl WriteOptions<'_> {
    fn query(&self) -> String {
        query(&[
            ("dryRun", if self.is_dry_run { "All" } else { "" }),
            ("fieldManager", self.manager),
            ("fieldValidation", self.validation),
            ("force", if self.is_forced { "true" } else { "" }),
        ])
    }
}

/// A query of the parameters that have a value.
pub(crate) fn query(parameters: &[(&str, &str)]) -> String {
    let mut text = String::new();
    for (name, value) in parameters.iter().filter(|(_, value)| !value.is_empty()) {
        text.push(if text.is_empty() { '?' } else { '&' });
        text.push_str(name);
        text.push('=');
        text.extend(percent::component(value));
    }
    text
}

/// In Kubernetes: `rest.Request.Name`.
fn check_name(name: &str) -> Result<(), Failure> {
    let wrong = coracle_meta::names::path_segment(name);
    if name.is_empty() {
        return Err(Failure::text("resource name may not be empty"));
    }
    if wrong.is_empty() {
        return Ok(());
    }
    Err(Failure::text(format!("invalid resource name {}: [{}]", go_quote(name), wrong.join(" "))))
}

/// The text of a `Warning` header: `299 - "text"`.
fn warning_text(header: &str) -> Option<String> {
    let quoted = header.splitn(3, ' ').nth(2)?;
    serde_json::from_str(quoted).ok().or_else(|| Some(quoted.trim_matches('"').to_owned()))
}
