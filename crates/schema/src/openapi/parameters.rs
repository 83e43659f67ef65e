use coracle_meta::GroupVersionKind;

use crate::table::{Node, Table};

/// A parameter of a path or a query. They are in order by name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Parameter {
    pub name: String,
    /// `path` or `query`
    pub location: &'static str,
    pub ty: &'static str,
    pub description: &'static str,
}

pub(super) const LIST: [&str; 10] = [
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
pub(super) const DELETE: [&str; 5] = [
    "dryRun",
    "gracePeriodSeconds",
    "ignoreStoreReadErrorWithClusterBreakingPotential",
    "orphanDependents",
    "propagationPolicy",
];
pub(super) const DELETE_COLLECTION: [&str; 13] = [
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
pub(super) const WRITE: [&str; 3] = ["dryRun", "fieldManager", "fieldValidation"];
pub(super) const PATCH: [&str; 4] = ["dryRun", "fieldManager", "fieldValidation", "force"];

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

impl Parameter {
    fn new(name: &str, location: &'static str, ty: &'static str) -> Self {
        Self { name: name.to_owned(), location, ty, description: describe(name, location) }
    }

    /// One of those that the generic verbs have.
    pub(super) fn in_query(name: &str) -> Self {
        let ty = if BOOLEANS.contains(&name) {
            "boolean"
        } else if INTEGERS.contains(&name) {
            "integer"
        } else {
            "string"
        };
        Self::new(name, "query", ty)
    }

    /// Those that stand in braces in a path.
    pub(super) fn in_path(path: &str) -> impl Iterator<Item = Self> {
        let names = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
        names.map(|name| Self::new(name, "path", "string"))
    }

    /// Those that a kind of options has. Times are not among them.
    pub(super) fn of_options(options: &GroupVersionKind) -> Vec<Self> {
        let table = Table::v1_35();
        let Some(schema) = table.kind(options) else { return Vec::new() };
        let parameters = schema.root().fields().filter_map(|field| {
            let ty = field.ty().element().unwrap_or(field.ty());
            let ty = match ty.node() {
                Node::String => "string",
                Node::Bool => "boolean",
                Node::Int32 | Node::Int64 => "integer",
                _ => return None,
            };
            Some(Self::new(field.name(), "query", ty))
        });
        parameters.collect()
    }
}

/// What a parameter means.
fn describe(name: &str, location: &str) -> &'static str {
    match (name, location) {
        ("name", _) => "name of the object",
        ("namespace", _) => "namespace of the objects",
        ("path", _) => "the path that is asked of what is behind the proxy",
        ("allowWatchBookmarks", _) => "send bookmarks, which say up to which version nothing was missed",
        ("command", _) => "the program to run and its arguments",
        ("container", _) => "which container of the pod is meant; there is no need to say where it has one",
        ("continue", _) => "the token of the page before, to get the next one",
        ("dryRun", _) => "All: do everything but store the result",
        ("fieldManager", _) => "who is changing the object",
        ("fieldSelector", _) => "choose objects by their fields",
        ("fieldValidation", _) => "what becomes of unknown and duplicate fields: Ignore, Warn or Strict",
        ("follow", _) => "go on sending what is logged",
        ("force", _) => "take over fields that another manager has set",
        ("gracePeriodSeconds", _) => "how long the object may take to end",
        ("ignoreStoreReadErrorWithClusterBreakingPotential", _) => "delete the object even if it cannot be read",
        ("insecureSkipTLSVerifyBackend", _) => "do not ask the kubelet to prove who it is",
        ("labelSelector", _) => "choose objects by their labels",
        ("limit", _) => "how many objects a page has at most",
        ("limitBytes", _) => "after how many bytes the log is cut",
        ("orphanDependents", _) => "leave what depends on the object (deprecated: use propagationPolicy)",
        ("ports", _) => "which ports of the pod are forwarded",
        ("pretty", _) => "print with line breaks",
        ("previous", _) => "the log of the container that ran before this one",
        ("propagationPolicy", _) => "what becomes of what depends on the object: Orphan, Background or Foreground",
        ("resourceVersion", _) => "how old the answer may be",
        ("resourceVersionMatch", _) => "how resourceVersion is meant: Exact or NotOlderThan",
        ("sendInitialEvents", _) => "begin a watch with what is there",
        ("sinceSeconds", _) => "how old the first line may be, in seconds",
        ("stderr", _) => "pass on what the container writes as errors",
        ("stdin", _) => "pass on what the client sends to the container",
        ("stdout", _) => "pass on what the container writes",
        ("stream", _) => "which output is meant: All, Stdout or Stderr",
        ("tailLines", _) => "how many lines from the end are sent",
        ("timeoutSeconds", _) => "end the call after this time",
        ("timestamps", _) => "begin each line with its time",
        ("tty", _) => "give the container a terminal",
        ("watch", _) => "send changes as they happen instead of a list",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_parameter_says_what_it_means() {
        let of_options =
            ["PodExecOptions", "PodAttachOptions", "PodLogOptions", "PodPortForwardOptions", "PodProxyOptions"];
        let of_options = of_options.map(|kind| GroupVersionKind::new("", "v1", kind));
        let generic = [&LIST[..], &DELETE, &DELETE_COLLECTION, &WRITE, &PATCH].concat();
        let all = of_options.iter().flat_map(Parameter::of_options).chain(generic.into_iter().map(Parameter::in_query));
        let silent: Vec<_> = all.filter(|parameter| parameter.description.is_empty()).collect();
        assert_eq!(silent, []);
    }

    #[test]
    fn a_path_names_its_parameters() {
        let names: Vec<_> = Parameter::in_path("/a/{namespace}/b/{name}").map(|parameter| parameter.name).collect();
        assert_eq!(names, ["namespace", "name"]);
    }
}
