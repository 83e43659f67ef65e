use coracle_meta::{FieldSelector, GroupResource, LabelSelector, Status};
use http::{HeaderMap, Method, Uri};
use percent_encoding::percent_decode_str;
use serde_json::Value;

use crate::table::{MetricsOutput, Rows};
use crate::{GROUP, documents};

/// The fields that a field selector may name. In Kubernetes: `DefaultMetaV1FieldSelectorConversion`.
const FIELDS: [&str; 2] = ["metadata.name", "metadata.namespace"];

/// A request, read.
#[derive(Clone, Debug)]
pub(crate) struct MetricsRequest {
    pub(crate) target: Target,
    pub(crate) namespace: String,
    /// Empty for all.
    pub(crate) name: String,
    pub(crate) labels: LabelSelector,
    pub(crate) fields: FieldSelector,
    pub(crate) form: MetricsOutput,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Target {
    /// Discovery or OpenAPI.
    Document(Value),
    /// In this version of the group.
    Metrics(&'static str, MeasuredKind),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MeasuredKind {
    Nodes,
    Pods,
}

impl MetricsRequest {
    /// Reads a request to a server that serves these versions.
    ///
    /// # Errors
    /// The `Status` for a request that the server does not serve.
    pub(crate) fn read(
        method: &Method,
        uri: &Uri,
        headers: &HeaderMap,
        versions: &'static [&'static str],
    ) -> Result<Self, Status> {
        let path = percent_decode_str(uri.path()).decode_utf8_lossy();
        let steps: Vec<&str> = path.trim_matches('/').split('/').collect();
        let query = Query(uri.query().unwrap_or(""));
        let accepted = headers.get(http::header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or("");
        let form = form(accepted, &query.text("includeObject"))?;
        let served = |wanted: &str| versions.iter().find(|version| **version == wanted).copied();
        let (version, steps) = match steps.as_slice() {
            ["apis", GROUP, version, inner @ ..] if !inner.is_empty() => {
                (served(version).ok_or_else(nothing_here)?, inner)
            }
            other => return Self::for_document(other, versions, form),
        };
        let (which, namespace, name) = match steps {
            ["nodes"] => (MeasuredKind::Nodes, "", ""),
            ["nodes", name] => (MeasuredKind::Nodes, "", *name),
            ["pods"] => (MeasuredKind::Pods, "", ""),
            ["namespaces", namespace, "pods"] => (MeasuredKind::Pods, *namespace, ""),
            ["namespaces", namespace, "pods", name] => (MeasuredKind::Pods, *namespace, *name),
            _ => return Err(nothing_here()),
        };
        let is_watch = ["true", "1"].contains(&query.text("watch").as_str());
        if *method != Method::GET || is_watch {
            let resource = if which == MeasuredKind::Nodes { "nodes" } else { "pods" };
            let verb = if is_watch { "watch" } else { method.as_str() };
            return Err(Status::method_not_supported(&GroupResource::new(GROUP, resource), &verb.to_lowercase()));
        }
        let labels = LabelSelector::parse(&query.text("labelSelector"));
        let fields = FieldSelector::parse(&query.text("fieldSelector"));
        let (labels, fields) = (labels.map_err(bad)?, fields.map_err(bad)?);
        let unknown = fields.requirements.iter().find(|wanted| !FIELDS.contains(&wanted.field.as_str()));
        if let Some(unknown) = unknown {
            let known = r#"only "metadata.name", "metadata.namespace""#;
            return Err(Status::bad_request(format!("{:?} is not a known field selector: {known}", unknown.field)));
        }
        let (namespace, name) = (namespace.to_owned(), name.to_owned());
        Ok(Self { target: Target::Metrics(version, which), namespace, name, labels, fields, form })
    }

    fn for_document(path: &[&str], versions: &[&str], form: MetricsOutput) -> Result<Self, Status> {
        let document = documents::document(path, versions).ok_or_else(nothing_here)?;
        let (labels, fields) = Default::default();
        let (namespace, name) = (String::new(), String::new());
        Ok(Self { target: Target::Document(document), namespace, name, labels, fields, form })
    }
}

fn bad(error: impl std::fmt::Display) -> Status {
    Status::bad_request(error.to_string())
}

fn nothing_here() -> Status {
    Status::failure(404, "NotFound", "the server could not find the requested resource")
}

struct Query<'a>(&'a str);

impl Query<'_> {
    /// The first value of a name, decoded; empty if the name is missing.
    fn text(&self, name: &str) -> String {
        let pair = self.0.split('&').filter_map(|pair| pair.split_once('=')).find(|(own, _)| *own == name);
        let value = pair.map_or(String::new(), |(_, value)| value.replace('+', " "));
        percent_decode_str(&value).decode_utf8_lossy().into_owned()
    }
}

/// The first of the accepted forms that is supported.
fn form(accepted: &str, include: &str) -> Result<MetricsOutput, Status> {
    let rows = match include {
        "None" => Rows::Nothing,
        "Object" => Rows::Object,
        _ => Rows::Metadata,
    };
    let form = |clause: &str| {
        let mut parameters = clause.split(';').map(str::trim);
        if !["application/json", "application/*", "*/*", ""].contains(&parameters.next()?) {
            return None;
        }
        let parameters: Vec<(&str, &str)> = parameters.filter_map(|parameter| parameter.split_once('=')).collect();
        let value = |name| parameters.iter().find(|(own, _)| *own == name).map(|(_, value)| *value);
        match (value("as"), value("v")) {
            (None, _) => Some(MetricsOutput::Objects),
            (Some("Table"), Some(version @ ("v1" | "v1beta1"))) => {
                Some(MetricsOutput::Table { version: version.to_owned(), rows })
            }
            _ => None,
        }
    };
    accepted.split(',').find_map(form).ok_or_else(|| {
        let offered = "application/json, application/json;as=Table;v=v1;g=meta.k8s.io";
        Status::failure(406, "NotAcceptable", format!("only the following media types are accepted: {offered}"))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::versions;

    fn read(target: &str, accept: &'static str) -> Result<MetricsRequest, Status> {
        let mut headers = HeaderMap::new();
        headers.insert(http::header::ACCEPT, http::HeaderValue::from_static(accept));
        MetricsRequest::read(&Method::GET, &target.parse().unwrap(), &headers, &versions::ALL)
    }

    #[test]
    fn a_path_says_whose_metrics_and_a_query_which_of_them() {
        let asked = read(
            "/apis/metrics.k8s.io/v1beta1/namespaces/a/pods?labelSelector=app%3Dweb&fieldSelector=metadata.name%3Db",
            "",
        );
        let asked = asked.unwrap();
        assert_eq!(
            (asked.target, asked.namespace.as_str(), asked.name.as_str()),
            (Target::Metrics("v1beta1", MeasuredKind::Pods), "a", "")
        );
        assert_eq!((asked.labels.to_string(), asked.fields.to_string()), ("app=web".into(), "metadata.name=b".into()));
        let node = read("/apis/metrics.k8s.io/v1/nodes/n", "application/vnd.kubernetes.protobuf, */*").unwrap();
        assert_eq!(
            (node.target, node.name.as_str(), node.form),
            (Target::Metrics("v1", MeasuredKind::Nodes), "n", MetricsOutput::Objects)
        );
    }

    #[test]
    fn unserved_paths_are_refused_like_other_api_servers() {
        let code = |target: &str, accept| read(target, accept).unwrap_err().code;
        let nodes = "/apis/metrics.k8s.io/v1beta1/nodes";
        assert_eq!(code("/apis/metrics.k8s.io/v1beta1/boats", ""), 404);
        assert_eq!(code("/apis/metrics.k8s.io/v2/nodes", ""), 404);
        assert_eq!(code(nodes, "application/vnd.kubernetes.protobuf"), 406);
        assert_eq!(code(&format!("{nodes}?watch=true"), ""), 405);
        assert_eq!(code(&format!("{nodes}?labelSelector=a%3D%3D%3D"), ""), 400);
        let why = read(&format!("{nodes}?fieldSelector=spec.x%3Dy"), "").unwrap_err().message;
        assert_eq!(why, r#""spec.x" is not a known field selector: only "metadata.name", "metadata.namespace""#);
    }

    #[test]
    fn a_table_is_given_to_who_asks_for_one() {
        let accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
        let form = read("/apis/metrics.k8s.io/v1beta1/pods?includeObject=Object", accept).unwrap().form;
        assert_eq!(form, MetricsOutput::Table { version: "v1".to_owned(), rows: Rows::Object });
    }

    proptest! {
        #[test]
        fn no_query_makes_it_panic(text in "\\PC*", accept in "\\PC*") {
            Query(&text).text("labelSelector");
            let _ = form(&accept, &text);
        }
    }
}
