//! The routes of one resource.

use std::sync::Arc;

use coracle_meta::{GroupVersionKind, Scope};
use coracle_release::Release;

use super::parameters::{
    DELETE, DELETE_COLLECTION, DELETE_OPTIONS, LIST, LIST_OPTIONS, PATCH, Parameter, SHARDS, WRITE,
};
use super::route::{ANY, CUSTOM, CUSTOM_PATCHES, LOG, Model, OBJECT, PATCHES, RequestBody, Route, STREAM, root_of};
use super::{Descriptions, META, operation_id, type_name};
use crate::table::{ResourceRow, SubresourceRow, Table, Trait};

/// The routes of a resource. Built-in and custom kinds differ in formats, and in the documentation of deletions.
///
/// In Kubernetes: `registerResourceHandlers`, and `generateBuilder` for custom kinds.
pub(super) fn of_resource(
    release: &Release,
    row: &ResourceRow,
    is_custom: bool,
    descriptions: &dyn Descriptions,
) -> Vec<Route> {
    let has_shards = release.has("ListsCanBeSharded");
    Routes { table: Table::of(release), has_shards, row, is_custom, descriptions, out: Vec::new() }.all()
}

/// One method of a route.
struct Call<'a> {
    method: &'static str,
    action: &'static str,
    /// The first word of the operation id.
    word: &'a str,
    subresource: &'a str,
    suffix: &'a str,
}

struct Routes<'a> {
    table: &'a Arc<Table>,
    /// Whether lists have the parameter of shards.
    has_shards: bool,
    row: &'a ResourceRow,
    is_custom: bool,
    descriptions: &'a dyn Descriptions,
    out: Vec<Route>,
}

impl Routes<'_> {
    fn all(mut self) -> Vec<Route> {
        let plural = &self.row.plural;
        let root = root_of(&self.row.kind.group_version());
        let namespaced = self.row.scope == Scope::Namespaced;
        let within = if namespaced { "namespaces/{namespace}/" } else { "" };
        let everywhere = namespaced.then(|| format!("{root}{plural}"));
        let (collection, watched) = (format!("{root}{within}{plural}"), format!("{root}watch/{within}{plural}"));
        let item = format!("{collection}/{{name}}");
        if let Some(everywhere) = everywhere.filter(|_| self.has("list")) {
            self.list(&everywhere, "ForAllNamespaces");
        }
        self.collection(&collection);
        self.item(&item);
        if self.has("watch") && !self.is_custom {
            if namespaced {
                self.watch(&format!("{root}watch/{plural}"), "watchlist", "ListForAllNamespaces");
            }
            self.watch(&watched, "watchlist", "List");
            self.watch(&format!("{watched}/{{name}}"), "watch", "");
        }
        for subresource in &self.row.subresources {
            self.subresource(&format!("{item}/{}", subresource.name), subresource);
        }
        self.out
    }

    fn has(&self, verb: &str) -> bool {
        self.row.verbs.iter().any(|known| known == verb)
    }

    /// A route with a response of this kind, without its own parameters and without a body.
    fn route(&self, path: &str, call: &Call<'_>, kind: &GroupVersionKind, answer: Model) -> Route {
        let is_of_namespace = self.row.scope == Scope::Namespaced && !call.suffix.ends_with("ForAllNamespaces");
        let namespaced = if is_of_namespace { "Namespaced" } else { "" };
        let (own, subresource) = (&self.row.kind.kind, operation_id::titled(call.subresource));
        let word = format!("{}{namespaced}{own}{subresource}{}", call.word, call.suffix);
        let named = operation_id::of_path(path, &word);
        let about = if self.is_custom { &self.row.kind } else { kind };
        Route {
            path: path.to_owned(),
            method: call.method,
            id: named.id,
            tag: named.tag,
            description: self.purpose(call),
            about: Some((call.action, about.clone())),
            consumes: if self.is_custom { CUSTOM } else { ANY },
            produces: if self.is_custom { CUSTOM } else { OBJECT },
            parameters: Parameter::in_path(path, &kind.kind).chain([Parameter::pretty()]).collect(),
            body: None,
            codes: &[200],
            answer,
        }
    }

    /// The description of a method. In Kubernetes: `Doc` in `registerResourceHandlers`.
    fn purpose(&self, call: &Call<'_>) -> String {
        let kind = &self.row.kind.kind;
        let part = |word: &str, end: &str| match call.subresource {
            "" => format!("{word}{end}"),
            subresource => format!("{word} {subresource} of{end}"),
        };
        let specified = format!(" the specified {kind}");
        let any = format!("{}{kind}", article(kind));
        match call.action {
            "list" if self.has("watch") && !self.is_custom => format!("list or watch objects of kind {kind}"),
            "list" => format!("list objects of kind {kind}"),
            "watchlist" => format!(
                "watch individual changes to a list of {kind}. deprecated: use the 'watch' parameter with a list operation instead."
            ),
            "watch" => format!(
                "watch changes to an object of kind {kind}. deprecated: use the 'watch' parameter with a list operation instead, \
                 filtered to a single item with the 'fieldSelector' parameter."
            ),
            "get" => part("read", &specified),
            "put" => part("replace", &specified),
            "patch" => part("partially update", &specified),
            "post" => part("create", &any),
            "delete" => part("delete", &any),
            "deletecollection" => format!("delete collection of {kind}"),
            _ => format!("connect {} requests to {} of {kind}", call.method.to_uppercase(), call.subresource),
        }
    }

    /// Adds parameters of the generic verbs to a route; they are fields of these options.
    fn give(&self, route: &mut Route, parameters: &[&str], options: &str) {
        let served = parameters.iter().filter(|name| self.has_shards || **name != SHARDS);
        let parameters = served.map(|name| Parameter::in_query(name, options, self.descriptions));
        route.parameters.extend(parameters);
    }

    fn collection(&mut self, path: &str) {
        if self.has("list") {
            self.list(path, "");
        }
        if self.has("create") {
            self.create(path, &self.row.kind, "");
        }
        if self.has("deletecollection") {
            let call = Call {
                method: "delete",
                action: "deletecollection",
                word: "deletecollection",
                subresource: "",
                suffix: "",
            };
            let mut route = self.route(path, &call, &self.row.kind, meta("Status"));
            // Custom kinds publish list options, but not delete options, for a deletion of a collection.
            if self.is_custom {
                self.give(&mut route, &LIST, LIST_OPTIONS);
            } else {
                let (list, delete): (Vec<&str>, Vec<&str>) =
                    DELETE_COLLECTION.into_iter().partition(|name| LIST.contains(name));
                self.give(&mut route, &list, LIST_OPTIONS);
                self.give(&mut route, &delete, DELETE_OPTIONS);
                route.body = Some(RequestBody { model: meta("DeleteOptions"), required: false });
            }
            self.out.push(route);
        }
    }

    fn item(&mut self, path: &str) {
        let kind = &self.row.kind;
        if self.has("get") {
            self.get(path, kind, "");
        }
        if self.has("update") {
            self.replace(path, kind, "");
        }
        if self.has("delete") {
            let call = Call { method: "delete", action: "delete", word: "delete", subresource: "", suffix: "" };
            let answer =
                if self.row.has(Trait::ReturnsDeleted) && !self.is_custom { self.object(kind) } else { meta("Status") };
            let mut route = self.route(path, &call, kind, answer);
            self.give(&mut route, &DELETE, DELETE_OPTIONS);
            route.body = Some(RequestBody { model: meta("DeleteOptions"), required: false });
            route.codes = &[200, 202];
            self.out.push(route);
        }
        if self.has("patch") {
            self.patch(path, kind, "");
        }
    }

    fn list(&mut self, path: &str, suffix: &str) {
        let call = Call { method: "get", action: "list", word: "list", subresource: "", suffix };
        let list = self.row.kind.group_version().kind(self.row.list_kind.clone());
        let mut route = self.route(path, &call, &self.row.kind, self.object(&list));
        self.give(&mut route, &LIST, LIST_OPTIONS);
        route.produces = if self.is_custom { CUSTOM } else { STREAM };
        self.out.push(route);
    }

    fn watch(&mut self, path: &str, action: &'static str, suffix: &str) {
        let call = Call { method: "get", action, word: "watch", subresource: "", suffix };
        let mut route = self.route(path, &call, &self.row.kind, meta("WatchEvent"));
        self.give(&mut route, &LIST, LIST_OPTIONS);
        route.produces = STREAM;
        self.out.push(route);
    }

    fn get(&mut self, path: &str, kind: &GroupVersionKind, subresource: &str) {
        let call = Call { method: "get", action: "get", word: "read", subresource, suffix: "" };
        let mut route = self.route(path, &call, kind, self.object(kind));
        // A get of a custom object publishes `resourceVersion`, which built-in kinds do not.
        if self.is_custom {
            self.give(&mut route, &["resourceVersion"], LIST_OPTIONS);
        }
        self.out.push(route);
    }

    fn create(&mut self, path: &str, kind: &GroupVersionKind, subresource: &str) {
        let call = Call { method: "post", action: "post", word: "create", subresource, suffix: "" };
        self.write(path, &call, kind, &[200, 201, 202]);
    }

    fn replace(&mut self, path: &str, kind: &GroupVersionKind, subresource: &str) {
        let call = Call { method: "put", action: "put", word: "replace", subresource, suffix: "" };
        self.write(path, &call, kind, &[200, 201]);
    }

    fn write(&mut self, path: &str, call: &Call<'_>, kind: &GroupVersionKind, codes: &'static [u16]) {
        let mut route = self.route(path, call, kind, self.object(kind));
        let options = if call.action == "post" { "CreateOptions" } else { "UpdateOptions" };
        self.give(&mut route, &WRITE, options);
        route.body = Some(RequestBody { model: self.object(kind), required: true });
        route.codes = codes;
        self.out.push(route);
    }

    fn patch(&mut self, path: &str, kind: &GroupVersionKind, subresource: &str) {
        let call = Call { method: "patch", action: "patch", word: "patch", subresource, suffix: "" };
        let mut route = self.route(path, &call, kind, self.object(kind));
        self.give(&mut route, &PATCH, "PatchOptions");
        route.body = Some(RequestBody { model: meta("Patch"), required: true });
        (route.consumes, route.codes) =
            if self.is_custom { (CUSTOM_PATCHES, &[200][..]) } else { (PATCHES, &[200, 201][..]) };
        self.out.push(route);
    }

    fn subresource(&mut self, path: &str, subresource: &SubresourceRow) {
        let (kind, name) = (&subresource.kind, subresource.name.as_str());
        if kind.kind.ends_with("Options") {
            return self.connect(path, subresource);
        }
        for verb in &subresource.verbs {
            match verb.as_str() {
                "create" => self.create(path, kind, name),
                "get" if name == "log" => self.log(path),
                "get" => self.get(path, kind, name),
                "patch" => self.patch(path, kind, name),
                "update" => self.replace(path, kind, name),
                _ => {}
            }
        }
    }

    fn log(&mut self, path: &str) {
        let call = Call { method: "get", action: "get", word: "read", subresource: "log", suffix: "" };
        let mut route = self.route(path, &call, &self.row.kind, Model::Text);
        let options = GroupVersionKind::new("", "v1", "PodLogOptions");
        let of_options = Parameter::of_options(self.table, &options, self.descriptions);
        route.parameters.retain(|parameter| of_options.iter().all(|option| option.name != parameter.name));
        route.parameters.extend(of_options);
        route.produces = LOG;
        self.out.push(route);
    }

    /// Streams and proxies: any content, every method, parameters from the fields of the options.
    fn connect(&mut self, path: &str, subresource: &SubresourceRow) {
        let mut methods: Vec<_> = subresource.verbs.iter().filter_map(|verb| method(verb)).collect();
        let is_proxy = subresource.name == "proxy";
        if is_proxy {
            methods.extend(["head", "options"]);
        }
        let paths =
            [(path.to_owned(), "")].into_iter().chain(is_proxy.then(|| (format!("{path}/{{path}}"), "WithPath")));
        for (path, suffix) in paths {
            for method in &methods {
                let word = format!("connect{}", operation_id::titled(method));
                let call = Call { method, action: "connect", word: &word, subresource: &subresource.name, suffix };
                let mut route = self.route(&path, &call, &subresource.kind, Model::Text);
                route.parameters.retain(|parameter| parameter.location == "path");
                route.parameters.extend(Parameter::of_options(self.table, &subresource.kind, self.descriptions));
                route.produces = ANY;
                self.out.push(route);
            }
        }
    }

    fn object(&self, kind: &GroupVersionKind) -> Model {
        Model::Named(if kind.group_version() == self.row.kind.group_version() {
            type_name(self.table, self.row, &kind.kind)
        } else {
            self.table.type_of_kind(kind).map_or(String::new(), |ty| ty.name.clone())
        })
    }
}

fn meta(kind: &str) -> Model {
    Model::Named(format!("{META}.{kind}"))
}

/// The article before a kind. In Kubernetes: `GetArticleForNoun`.
fn article(kind: &str) -> &'static str {
    if kind.ends_with('s') && !kind.ends_with("ss") {
        return " ";
    }
    if kind.starts_with(|letter: char| "aeiouAEIOU".contains(letter)) { " an " } else { " a " }
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
