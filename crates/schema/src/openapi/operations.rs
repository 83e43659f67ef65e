//! Paths with their methods.

use std::collections::BTreeMap;

use coracle_meta::{GroupVersion, GroupVersionKind, Scope};
use serde_json::{Map, Value, json};

use super::{META, Published, prefix, type_name};
use crate::table::{Node, ResourceRow, SubresourceRow, Table, Trait};

const ANY: [&str; 1] = ["*/*"];
const OBJECT: [&str; 3] = ["application/json", "application/vnd.kubernetes.protobuf", "application/yaml"];
const STREAM: [&str; 5] = [
    "application/json",
    "application/json;stream=watch",
    "application/vnd.kubernetes.protobuf",
    "application/vnd.kubernetes.protobuf;stream=watch",
    "application/yaml",
];
const LOG: [&str; 4] = ["application/json", "application/vnd.kubernetes.protobuf", "application/yaml", "text/plain"];
const CUSTOM: [&str; 2] = ["application/json", "application/yaml"];
const PATCHES: [&str; 4] = [
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
];
const CUSTOM_PATCHES: [&str; 3] =
    ["application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json"];

const LIST: [&str; 10] = [
    "allowWatchBookmarks",
    "continue",
    "fieldSelector",
    "labelSelector",
    "limit",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "timeoutSeconds",
    "watch",
];
const DELETE: [&str; 5] = [
    "dryRun",
    "gracePeriodSeconds",
    "ignoreStoreReadErrorWithClusterBreakingPotential",
    "orphanDependents",
    "propagationPolicy",
];
const DELETE_COLLECTION: [&str; 13] = [
    "continue",
    "dryRun",
    "fieldSelector",
    "gracePeriodSeconds",
    "ignoreStoreReadErrorWithClusterBreakingPotential",
    "labelSelector",
    "limit",
    "orphanDependents",
    "propagationPolicy",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "timeoutSeconds",
];
const WRITE: [&str; 3] = ["dryRun", "fieldManager", "fieldValidation"];
const PATCH: [&str; 4] = ["dryRun", "fieldManager", "fieldValidation", "force"];

/// What parameters of the generic verbs are, where they are no text.
const BOOLEANS: [&str; 6] = [
    "allowWatchBookmarks",
    "force",
    "ignoreStoreReadErrorWithClusterBreakingPotential",
    "orphanDependents",
    "sendInitialEvents",
    "watch",
];
const INTEGERS: [&str; 3] = ["gracePeriodSeconds", "limit", "timeoutSeconds"];

/// A document with one path, for what is no resource.
pub(super) fn single(path: &str, tag: &str, ty: Option<&str>) -> Map<String, Value> {
    let media: &[&str] = match (path, ty) {
        (_, None) => &["application/jwk-set+json"],
        ("/version/", _) => &["application/json"],
        _ => &OBJECT,
    };
    let schema = ty.map_or_else(text, reference);
    let operation = json!({
        "description": "get what is served at this path",
        "responses": responses(&["200"], media, &schema),
        "tags": [tag],
    });
    Map::from_iter([(path.to_owned(), json!({"get": operation}))])
}

/// All paths of a group version.
pub(super) fn of_version(version: &GroupVersion, resources: &[&Published<'_>]) -> Map<String, Value> {
    let root = format!("/{}/", prefix(version));
    let tag = format!("{}_{}", tag(&version.group), version.version);
    let list = format!("{META}.APIResourceList");
    let mut paths = single(&root, &tag, Some(&list));
    for published in resources {
        let paths_of = Paths { root: &root, tag: &tag, row: published.row, is_custom: published.schema.is_some() };
        for (path, (variables, operations)) in paths_of.all() {
            paths.insert(path, path_item(&variables, operations));
        }
    }
    paths
}

/// `core`, `apps`, `rbacAuthorization`: a group as operations are tagged with it.
pub(super) fn tag(group: &str) -> String {
    if group.is_empty() {
        return "core".to_owned();
    }
    let mut parts = group.strip_suffix(".k8s.io").unwrap_or(group).split(['.', '-']);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |mut tag, part| {
        let mut letters = part.chars();
        tag.extend(letters.next().map(|letter| letter.to_ascii_uppercase()));
        tag.push_str(letters.as_str());
        tag
    })
}

/// An operation before its parameters are told from those that all operations of the path have.
struct Operation {
    method: &'static str,
    parameters: Vec<Value>,
    body: Value,
}

type Operations = BTreeMap<String, (Vec<Value>, Vec<Operation>)>;

/// The paths of one resource.
struct Paths<'a> {
    root: &'a str,
    tag: &'a str,
    row: &'a ResourceRow,
    is_custom: bool,
}

impl Paths<'_> {
    fn all(&self) -> Operations {
        let mut out = Operations::new();
        let plural = &self.row.plural;
        let within = match self.row.scope {
            Scope::Namespaced => "namespaces/{namespace}/",
            Scope::Cluster => "",
        };
        let collection = format!("{}{within}{plural}", self.root);
        let item = format!("{collection}/{{name}}");
        self.add_collection(&collection, &mut out);
        self.add_item(&item, &mut out);
        if self.has("list") && self.row.scope == Scope::Namespaced {
            self.add(&format!("{}{plural}", self.root), vec![self.list()], &mut out);
        }
        if self.has("watch") && !self.is_custom {
            self.add_watches(&format!("{}watch/", self.root), within, &mut out);
        }
        for subresource in &self.row.subresources {
            self.add_subresource(&format!("{item}/{}", subresource.name), subresource, &mut out);
        }
        out
    }

    fn has(&self, verb: &str) -> bool {
        self.row.verbs.iter().any(|known| known == verb)
    }

    fn add(&self, path: &str, operations: Vec<Operation>, out: &mut Operations) {
        if operations.is_empty() {
            return;
        }
        let mut variables: Vec<Value> = path
            .split('/')
            .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
            .map(|name| parameter(name, "path", "string"))
            .collect();
        if operations.iter().all(|operation| !is_connect(operation)) {
            variables.push(parameter("pretty", "query", "string"));
        }
        out.insert(path.to_owned(), (variables, operations));
    }

    fn add_collection(&self, path: &str, out: &mut Operations) {
        let mut operations = Vec::new();
        if self.has("deletecollection") {
            let mut operation = self.operation("delete", "deletecollection", &self.row.kind, &DELETE_COLLECTION);
            self.give_body(&mut operation, self.any(), &format!("{META}.DeleteOptions"), Requirement::Optional);
            self.give_answers(&mut operation, &["200"], &reference(&format!("{META}.Status")));
            operations.push(operation);
        }
        if self.has("list") {
            operations.push(self.list());
        }
        if self.has("create") {
            operations.push(self.write("post", "post", &self.row.kind, &["200", "201", "202"]));
        }
        self.add(path, operations, out);
    }

    fn add_item(&self, path: &str, out: &mut Operations) {
        let mut operations = Vec::new();
        if self.has("delete") {
            let mut operation = self.operation("delete", "delete", &self.row.kind, &DELETE);
            self.give_body(&mut operation, self.any(), &format!("{META}.DeleteOptions"), Requirement::Optional);
            let answer = match self.row.has(Trait::ReturnsDeleted) && !self.is_custom {
                true => self.object(&self.row.kind),
                false => reference(&format!("{META}.Status")),
            };
            self.give_answers(&mut operation, &["200", "202"], &answer);
            operations.push(operation);
        }
        if self.has("get") {
            operations.push(self.get(&self.row.kind));
        }
        if self.has("patch") {
            operations.push(self.patch(&self.row.kind));
        }
        if self.has("update") {
            operations.push(self.write("put", "put", &self.row.kind, &["200", "201"]));
        }
        self.add(path, operations, out);
    }

    fn add_watches(&self, root: &str, within: &str, out: &mut Operations) {
        let plural = &self.row.plural;
        if !within.is_empty() {
            self.add(&format!("{root}{plural}"), vec![self.watch("watchlist")], out);
        }
        self.add(&format!("{root}{within}{plural}"), vec![self.watch("watchlist")], out);
        self.add(&format!("{root}{within}{plural}/{{name}}"), vec![self.watch("watch")], out);
    }

    fn add_subresource(&self, path: &str, subresource: &SubresourceRow, out: &mut Operations) {
        if subresource.kind.kind.ends_with("Options") {
            return self.add_connect(path, subresource, out);
        }
        let kind = &subresource.kind;
        let mut operations = Vec::new();
        for verb in &subresource.verbs {
            operations.push(match verb.as_str() {
                "create" => self.write("post", "post", kind, &["200", "201", "202"]),
                "get" if subresource.name == "log" => self.log(),
                "get" => self.get(kind),
                "patch" => self.patch(kind),
                "update" => self.write("put", "put", kind, &["200", "201"]),
                _ => continue,
            });
        }
        self.add(path, operations, out);
    }

    /// Streams and proxies: any content, every method, parameters from the fields of the options.
    fn add_connect(&self, path: &str, subresource: &SubresourceRow, out: &mut Operations) {
        let mut methods: Vec<_> = subresource.verbs.iter().filter_map(|verb| method(verb)).collect();
        let is_proxy = subresource.name == "proxy";
        if is_proxy {
            methods.extend(["head", "options"]);
        }
        let operations = |methods: &[&'static str]| -> Vec<Operation> {
            methods.iter().map(|method| self.connect(method, &subresource.kind)).collect()
        };
        self.add(path, operations(&methods), out);
        if is_proxy {
            self.add(&format!("{path}/{{path}}"), operations(&methods), out);
        }
    }

    fn operation(&self, method: &'static str, action: &str, kind: &GroupVersionKind, parameters: &[&str]) -> Operation {
        let body = json!({
            "description": format!("{action} {}", kind.kind),
            "tags": [self.tag],
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": {"group": kind.group, "version": kind.version, "kind": kind.kind},
        });
        let parameters = parameters.iter().map(|name| parameter(name, "query", parameter_type(name))).collect();
        Operation { method, parameters, body }
    }

    fn list(&self) -> Operation {
        let mut operation = self.operation("get", "list", &self.row.kind, &LIST);
        let list = self.row.kind.group_version().kind(self.row.list_kind.clone());
        let media: &[&str] = if self.is_custom { &CUSTOM } else { &STREAM };
        operation.body["responses"] = responses(&["200"], media, &self.object(&list));
        operation
    }

    fn watch(&self, action: &str) -> Operation {
        let mut operation = self.operation("get", action, &self.row.kind, &LIST);
        operation.body["responses"] = responses(&["200"], &STREAM, &reference(&format!("{META}.WatchEvent")));
        operation
    }

    fn get(&self, kind: &GroupVersionKind) -> Operation {
        // A single custom object is read with a resource version, which built-in ones do not publish.
        let parameters: &[&str] = if self.is_custom { &["resourceVersion"] } else { &[] };
        let mut operation = self.operation("get", "get", kind, parameters);
        self.give_answers(&mut operation, &["200"], &self.object(kind));
        operation
    }

    fn log(&self) -> Operation {
        let options = GroupVersionKind::new("", "v1", "PodLogOptions");
        let mut operation = self.operation("get", "get", &self.row.kind, &[]);
        operation.parameters = option_parameters(&options);
        operation.body["responses"] = responses(&["200"], &LOG, &text());
        operation
    }

    fn connect(&self, method: &'static str, options: &GroupVersionKind) -> Operation {
        let mut operation = self.operation(method, "connect", options, &[]);
        operation.parameters = option_parameters(options);
        operation.body["responses"] = responses(&["200"], &ANY, &text());
        operation
    }

    fn patch(&self, kind: &GroupVersionKind) -> Operation {
        let mut operation = self.operation("patch", "patch", kind, &PATCH);
        let (media, answers): (&[&str], &[&str]) =
            if self.is_custom { (&CUSTOM_PATCHES, &["200"]) } else { (&PATCHES, &["200", "201"]) };
        self.give_body(&mut operation, media, &format!("{META}.Patch"), Requirement::Required);
        self.give_answers(&mut operation, answers, &self.object(kind));
        operation
    }

    fn write(&self, method: &'static str, action: &str, kind: &GroupVersionKind, answers: &[&str]) -> Operation {
        let mut operation = self.operation(method, action, kind, &WRITE);
        operation.body["requestBody"] = json!({"content": content(self.any(), &self.object(kind)), "required": true});
        self.give_answers(&mut operation, answers, &self.object(kind));
        operation
    }

    /// The media types of bodies.
    fn any(&self) -> &'static [&'static str] {
        if self.is_custom { &CUSTOM } else { &ANY }
    }

    fn object(&self, kind: &GroupVersionKind) -> Value {
        if kind.group_version() == self.row.kind.group_version() {
            return reference(&type_name(self.row, &kind.kind));
        }
        let name = Table::v1_35().type_of_kind(kind).map_or(String::new(), |ty| ty.name.clone());
        reference(&name)
    }

    fn give_body(&self, operation: &mut Operation, media: &[&str], ty: &str, requirement: Requirement) {
        let mut body = json!({"content": content(media, &reference(ty))});
        if requirement == Requirement::Required {
            body["required"] = true.into();
        }
        operation.body["requestBody"] = body;
    }

    fn give_answers(&self, operation: &mut Operation, codes: &[&str], schema: &Value) {
        let media: &[&str] = if self.is_custom { &CUSTOM } else { &OBJECT };
        operation.body["responses"] = responses(codes, media, schema);
    }
}

/// Whether a request without the body is refused.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Requirement {
    Required,
    Optional,
}

fn is_connect(operation: &Operation) -> bool {
    operation.body["x-kubernetes-action"] == "connect"
}

fn method(verb: &str) -> Option<&'static str> {
    Some(match verb {
        "create" => "post",
        "get" => "get",
        "update" => "put",
        "patch" => "patch",
        "delete" => "delete",
        _ => return None,
    })
}

/// The query parameters that a kind of options has. Times are not among them.
fn option_parameters(options: &GroupVersionKind) -> Vec<Value> {
    let Some(schema) = Table::v1_35().kind(options) else { return Vec::new() };
    let parameters = schema.root().fields().filter_map(|field| {
        let ty = field.ty().element().unwrap_or(field.ty());
        let ty = match ty.node() {
            Node::String => "string",
            Node::Bool => "boolean",
            Node::Int32 | Node::Int64 => "integer",
            _ => return None,
        };
        Some(parameter(field.name(), "query", ty))
    });
    parameters.collect()
}

fn parameter_type(name: &str) -> &'static str {
    if BOOLEANS.contains(&name) {
        "boolean"
    } else if INTEGERS.contains(&name) {
        "integer"
    } else {
        "string"
    }
}

fn parameter(name: &str, location: &str, ty: &str) -> Value {
    let schema = json!({"type": ty, "uniqueItems": true});
    let mut out = json!({"name": name, "in": location, "schema": schema, "description": describe(name, location)});
    if location == "path" {
        out["required"] = true.into();
    }
    out
}

/// What a parameter means.
fn describe(name: &str, location: &str) -> &'static str {
    match (name, location) {
        ("name", _) => "name of the object",
        ("namespace", _) => "namespace of the objects",
        ("path", _) => "the path that is asked of what is behind the proxy",
        ("allowWatchBookmarks", _) => "send bookmarks, which say up to which version nothing was missed",
        ("continue", _) => "the token of the page before, to get the next one",
        ("dryRun", _) => "All: do everything but store the result",
        ("fieldManager", _) => "who is changing the object",
        ("fieldSelector", _) => "choose objects by their fields",
        ("fieldValidation", _) => "what becomes of unknown and duplicate fields: Ignore, Warn or Strict",
        ("force", _) => "take over fields that another manager has set",
        ("gracePeriodSeconds", _) => "how long the object may take to end",
        ("labelSelector", _) => "choose objects by their labels",
        ("limit", _) => "how many objects a page has at most",
        ("orphanDependents", _) => "leave what depends on the object (deprecated: use propagationPolicy)",
        ("pretty", _) => "print with line breaks",
        ("propagationPolicy", _) => "what becomes of what depends on the object: Orphan, Background or Foreground",
        ("resourceVersion", _) => "how old the answer may be",
        ("resourceVersionMatch", _) => "how resourceVersion is meant: Exact or NotOlderThan",
        ("sendInitialEvents", _) => "begin a watch with what is there",
        ("timeoutSeconds", _) => "end the call after this time",
        ("watch", _) => "send changes as they happen instead of a list",
        _ => "",
    }
}

fn reference(ty: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{ty}")})
}

fn text() -> Value {
    json!({"type": "string"})
}

fn content(media: &[&str], schema: &Value) -> Value {
    media.iter().map(|media| ((*media).to_owned(), json!({"schema": schema}))).collect()
}

fn responses(codes: &[&str], media: &[&str], schema: &Value) -> Value {
    let words = |code: &str| match code {
        "200" => "OK",
        "201" => "Created",
        _ => "Accepted",
    };
    let answer =
        |code: &&str| ((*code).to_owned(), json!({"description": words(code), "content": content(media, schema)}));
    let mut out: Map<String, Value> = codes.iter().map(answer).collect();
    out.insert("401".to_owned(), json!({"description": "Unauthorized"}));
    Value::Object(out)
}

/// A path with its operations; the parameters that all of them have stand at the path.
fn path_item(variables: &[Value], operations: Vec<Operation>) -> Value {
    let mut shared = variables.to_vec();
    if let Some((first, rest)) = operations.split_first() {
        let in_all = |parameter: &&Value| rest.iter().all(|operation| operation.parameters.contains(parameter));
        shared.extend(first.parameters.iter().filter(in_all).cloned());
    }
    let mut out = Map::new();
    for mut operation in operations {
        operation.parameters.retain(|parameter| !shared.contains(parameter));
        if !operation.parameters.is_empty() {
            operation.body["parameters"] = operation.parameters.into();
        }
        out.insert(operation.method.to_owned(), operation.body);
    }
    shared.sort_by_key(|parameter| {
        let text = |name: &str| parameter[name].as_str().unwrap_or_default().to_owned();
        (text("name"), text("in"))
    });
    out.insert("parameters".to_owned(), shared.into());
    Value::Object(out)
}
