use coracle_meta::percent;
use http::Method;
use serde_json::Value;

use super::session::{Ask, Session};
use super::tool_answer::Refusal;

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const DEFAULT_NAMESPACE: &str = "default";

/// A resource that the API serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Resource {
    group: String,
    version: String,
    pub(super) plural: String,
    pub(super) kind: String,
    pub(super) is_namespaced: bool,
    /// Its singular and its short names.
    names: Vec<String>,
}

/// All resources that the API serves; the preferred version of each comes first.
pub(super) struct Resources(Vec<Resource>);

impl Resources {
    /// Asks the API.
    pub(super) async fn of(session: &Session) -> Result<Self, Refusal> {
        let mut all = Vec::new();
        for path in ["/api", "/apis"] {
            let groups = session.ask(Ask::of(Method::GET, path).accepting(AGGREGATED)).await?;
            all.extend(read(&groups));
        }
        Ok(Self(all))
    }

    /// The resource with a name as kubectl takes it: `pods`, `pod`, `po`, `Pod`, `deployments.apps`.
    pub(super) fn named(&self, name: &str) -> Result<&Resource, Refusal> {
        let lower = name.to_lowercase();
        let (plain, rest) = lower.split_once('.').unwrap_or((&lower, ""));
        let is_of =
            |one: &&Resource| rest.is_empty() || rest == one.group || rest == format!("{}.{}", one.version, one.group);
        let found = self.0.iter().filter(|one| one.is_called(plain)).find(is_of);
        found.ok_or_else(|| {
            let plurals = self.0.iter().map(|one| one.plural.as_str());
            let near = coracle_scenario::parse::nearest(plain, plurals);
            let near = near.map_or(String::new(), |near| format!("; did you mean {near:?}?"));
            Refusal::new(format!("the server does not have a resource type {name:?}{near}"))
        })
    }

    /// The resource of an object.
    pub(super) fn of_object(&self, object: &Value) -> Result<&Resource, Refusal> {
        let text = |field: &str| {
            object[field].as_str().ok_or_else(|| Refusal::new(format!("an object needs `{field}`, as a text")))
        };
        let (api_version, kind) = (text("apiVersion")?, text("kind")?);
        let found = self.0.iter().find(|one| one.kind == kind && one.api_version() == api_version);
        found.ok_or_else(|| Refusal::new(format!("the server serves no kind {kind:?} in {api_version:?}")))
    }
}

impl Resource {
    /// The path of its collection, or of an object. The namespace is `default` if none is given; an empty one stands for
    /// all.
    pub(super) fn path(&self, namespace: Option<&str>, name: Option<&str>) -> String {
        let root = if self.group.is_empty() { "/api".to_owned() } else { format!("/apis/{}", self.group) };
        let namespace = match namespace.unwrap_or(DEFAULT_NAMESPACE) {
            "" => String::new(),
            namespace => format!("/namespaces/{}", percent::component(namespace)),
        };
        let namespace = if self.is_namespaced { namespace } else { String::new() };
        let name = name.map_or(String::new(), |name| format!("/{}", percent::component(name)));
        format!("{root}/{}{namespace}/{}{name}", self.version, self.plural)
    }

    /// The path of an object, from its metadata.
    pub(super) fn path_of(&self, object: &Value) -> Result<String, Refusal> {
        let metadata = |field: &str| object["metadata"][field].as_str();
        let name = metadata("name").filter(|name| !name.is_empty());
        let name = name.ok_or_else(|| Refusal::new(format!("a {} needs `metadata.name`", self.kind)))?;
        Ok(self.path(metadata("namespace"), Some(name)))
    }

    fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    fn is_called(&self, name: &str) -> bool {
        self.plural == name || self.kind.to_lowercase() == name || self.names.iter().any(|known| known == name)
    }
}

fn read(groups: &Value) -> Vec<Resource> {
    let items = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut all = Vec::new();
    for group in items(&groups["items"]) {
        for version in items(&group["versions"]) {
            for served in items(&version["resources"]) {
                let short = items(&served["shortNames"]);
                all.push(Resource {
                    group: text(&group["metadata"]["name"]),
                    version: text(&version["version"]),
                    plural: text(&served["resource"]),
                    kind: text(&served["responseKind"]["kind"]),
                    is_namespaced: served["scope"] == "Namespaced",
                    names: short.iter().chain([&served["singularResource"]]).map(text).collect(),
                });
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn served() -> Resources {
        let group = |name: &str, version: &str, resource: Value| json!({"metadata": {"name": name}, "versions": [{"version": version, "resources": [resource]}]});
        Resources(read(&json!({"items": [
            group("", "v1", json!({"resource": "pods", "responseKind": {"kind": "Pod"}, "scope": "Namespaced",
                "singularResource": "pod", "shortNames": ["po"]})),
            group("apps", "v1", json!({"resource": "deployments", "responseKind": {"kind": "Deployment"},
                "scope": "Namespaced", "singularResource": "deployment", "shortNames": ["deploy"]})),
            group("", "v1", json!({"resource": "nodes", "responseKind": {"kind": "Node"}, "scope": "Cluster",
                "singularResource": "node", "shortNames": ["no"]})),
        ]})))
    }

    #[test]
    fn a_resource_has_the_names_that_kubectl_takes() {
        let served = served();
        for name in ["deployments", "deployment", "deploy", "Deployment", "deployments.apps", "deploy.v1.apps"] {
            assert_eq!(served.named(name).unwrap().plural, "deployments", "{name}");
        }
        let unknown = served.named("deploymnts").unwrap_err().message;
        assert!(unknown.contains("did you mean \"deployments\"?"), "{unknown}");
        assert!(served.named("pods.apps").is_err());
    }

    #[test]
    fn a_path_has_a_namespace_if_the_resource_has_one() {
        let served = served();
        let path = |name: &str, namespace, object| served.named(name).unwrap().path(namespace, object);
        assert_eq!(path("pods", None, None), "/api/v1/namespaces/default/pods");
        assert_eq!(path("pods", Some(""), None), "/api/v1/pods");
        assert_eq!(path("deploy", Some("a"), Some("b")), "/apis/apps/v1/namespaces/a/deployments/b");
        assert_eq!(path("nodes", Some("a"), Some("b/c")), "/api/v1/nodes/b%2Fc");
    }

    #[test]
    fn an_object_without_its_kind_or_name_is_refused() {
        let served = served();
        let refused =
            |object: Value| served.of_object(&object).and_then(|one| one.path_of(&object)).unwrap_err().message;
        assert!(refused(json!({"kind": "Pod"})).contains("`apiVersion`"));
        assert!(refused(json!({"apiVersion": "v2", "kind": "Pod"})).contains("no kind \"Pod\" in \"v2\""));
        assert!(refused(json!({"apiVersion": "v1", "kind": "Pod", "metadata": {}})).contains("`metadata.name`"));
    }
}
