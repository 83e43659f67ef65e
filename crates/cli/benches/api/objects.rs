use bytes::Bytes;
use serde_json::{Value, json};

pub(crate) const NAMESPACE: &str = "bench";

/// The kinds that the requests are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    ConfigMap,
    Pod,
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ConfigMap => "config map",
            Self::Pod => "pod",
        }
    }

    pub(crate) fn collection(self) -> String {
        let resource = match self {
            Self::ConfigMap => "configmaps",
            Self::Pod => "pods",
        };
        format!("/api/v1/namespaces/{NAMESPACE}/{resource}")
    }

    /// A new object: a config map of 1 KB, or a pod of 3 KB that is 6.3 KB once it is stored.
    pub(crate) fn object(self, name: &str) -> Bytes {
        match self {
            Self::ConfigMap => config_map(name),
            Self::Pod => pod(name, ""),
        }
    }
}

pub(crate) fn namespace() -> Bytes {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}).to_string().into()
}

fn config_map(name: &str) -> Bytes {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": {"app": "bench", "round": "0000000000"}},
        "data": {"content": "x".repeat(820)},
    })
    .to_string()
    .into()
}

/// A pod as a deployment's template makes them: two containers, probes, environment, volumes.
pub(crate) fn pod(name: &str, node: &str) -> Bytes {
    let mut pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": name, "namespace": NAMESPACE,
            "labels": {"app": "bench", "round": "0000000000", "pod-template-hash": "5d59d67564",
                "app.kubernetes.io/name": "web", "app.kubernetes.io/part-of": "shop"},
            "annotations": {"prometheus.io/scrape": "true", "prometheus.io/port": "8080"},
        },
        "spec": {
            "containers": [container("web"), container("proxy")],
            "volumes": [
                {"name": "config", "configMap": {"name": "web-config"}},
                {"name": "scratch", "emptyDir": {}},
            ],
            "terminationGracePeriodSeconds": 30,
            "nodeSelector": {"kubernetes.io/os": "linux"},
        },
    });
    if !node.is_empty() {
        pod["spec"]["nodeName"] = node.into();
    }
    pod.to_string().into()
}

fn container(name: &str) -> Value {
    let variables: Vec<Value> = (0..6)
        .map(|number| json!({"name": format!("SETTING_{number}"), "value": format!("value-of-setting-{number}-for-{name}")}))
        .collect();
    json!({
        "name": name, "image": format!("registry.example.com/shop/{name}:1.29.3"),
        "args": ["--listen=:8080", "--upstream=http://backend.shop.svc:9000", "--log-level=info"],
        "ports": [{"name": "http", "containerPort": 8080}],
        "env": variables,
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"cpu": "500m", "memory": "256Mi"}},
        "readinessProbe": {"httpGet": {"path": "/ready", "port": 8080}, "periodSeconds": 5},
        "livenessProbe": {"httpGet": {"path": "/live", "port": 8080}, "periodSeconds": 10},
        "volumeMounts": [{"name": "config", "mountPath": "/etc/web"}, {"name": "scratch", "mountPath": "/tmp"}],
    })
}

/// A merge patch that changes one label.
pub(crate) fn patch(round: u64) -> Bytes {
    json!({"metadata": {"labels": {"round": format!("{round:010}")}}}).to_string().into()
}

/// The object with its label changed; the label's value is of a fixed width, so nothing is parsed.
pub(crate) fn changed(object: &[u8], round: u64) -> Bytes {
    const LABEL: &[u8] = b"\"round\":\"";
    let mut bytes = object.to_vec();
    let at = bytes.windows(LABEL.len()).position(|window| window == LABEL).expect("the label is there") + LABEL.len();
    bytes[at..at + 10].copy_from_slice(format!("{round:010}").as_bytes());
    bytes.into()
}
