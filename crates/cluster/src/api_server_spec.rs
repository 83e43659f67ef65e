use std::path::PathBuf;
use std::sync::Arc;

use coracle_admission::{Configurations, DefaultTolerationSeconds};
use coracle_apiserver::{Audit, Limits, RequestHeaders};
use coracle_schema::openapi::{Descriptions, Undescribed};

use coracle_registry::{ExpressionPool, RunningComponents};

use crate::runtime_config::RuntimeConfig;
use crate::{AccessWebhookSpec, KubeletClient, ProxyClient, ServiceAccountSpec, ServiceRoutes, TokenWebhookSpec};

/// How an API server is configured. The names are those of kube-apiserver's flags.
#[derive(Clone)]
pub struct ApiServerSpec {
    /// `--authorization-mode`
    pub authorization_mode: String,
    /// `--anonymous-auth`: whether who shows no credentials is let in, as `system:anonymous`. Not with `AlwaysAllow`.
    pub anonymous_auth: bool,
    /// `--enable-admission-plugins`: plug-ins in addition to the default ones.
    pub enable_admission_plugins: Vec<String>,
    /// What is said to single plug-ins. In Kubernetes: `--admission-control-config-file`.
    pub admission_configurations: Configurations,
    /// `--disable-admission-plugins`
    pub disable_admission_plugins: Vec<String>,
    /// `--default-not-ready-toleration-seconds` and its sibling.
    pub default_tolerations: DefaultTolerationSeconds,
    /// `--service-node-port-range`: the first and the last.
    pub service_node_port_range: (u16, u16),
    /// `--event-ttl`, in seconds.
    pub event_seconds: i64,
    /// `--etcd-prefix`: the folder of the store below which all objects are.
    pub etcd_prefix: Option<String>,
    /// `--max-requests-inflight`, `--request-timeout` and their siblings.
    pub limits: Limits,
    /// `--runtime-config`: what is not served.
    pub runtime_config: RuntimeConfig,
    /// `--service-cluster-ip-range`
    pub service_cluster_ip_range: String,
    /// Fixed tokens, in the form of `--token-auth-file`.
    pub tokens: Option<String>,
    /// `--token-auth-file`, which is read again when it changes.
    pub token_auth_file: Option<PathBuf>,
    /// `--authentication-token-webhook-config-file` and its siblings.
    pub token_webhook: Option<TokenWebhookSpec>,
    /// `--authorization-webhook-config-file` and its siblings, for the mode `Webhook`.
    pub authorization_webhook: Option<AccessWebhookSpec>,
    /// Who issues service account tokens, by which keys and for how long.
    pub service_accounts: ServiceAccountSpec,
    /// `--service-address`, and services in this process: who answers for webhooks.
    pub service_routes: ServiceRoutes,
    /// `--proxy-client-cert-file` and its key: the client certificate for extension API servers.
    pub proxy_client: Option<ProxyClient>,
    /// `--kubelet-client-certificate` and its siblings: how nodes of other processes are called; none are without.
    pub kubelet_client: Option<KubeletClient>,
    /// `--client-ca-file`: the certificate authority of users (PEM), which is also published for extension API servers.
    pub client_ca: Option<String>,
    /// `--requestheader-client-ca-file` and its siblings: whose certificates front proxies show, PEM, and by which headers
    /// they say who is asking.
    pub request_headers: Option<(String, RequestHeaders)>,
    /// `--audit-policy-file` and `--audit-log-path`: what is kept of requests, and where.
    pub audit: Option<Audit>,
    /// The threads that run costly work. Without them, an API server in real time starts threads of its own, and one in
    /// virtual time runs the work in the tasks of the requests.
    pub expression_pool: Option<Arc<dyn ExpressionPool>>,
    /// The components that run in the process of the API server, for ComponentStatuses. Without this, the API server asks
    /// the components over the network.
    pub running_components: Option<Arc<dyn RunningComponents>>,
    /// The certificate authority of the serving certificate (PEM), which pods get in `kube-root-ca.crt`.
    pub root_ca: Option<String>,
    /// Where the API is reached from outside.
    pub advertised: Option<std::net::SocketAddr>,
    /// `--advertise-address`: where pods and other machines find this API server, by the endpoints of the service
    /// `kubernetes`; it has none without.
    pub advertise_address: Option<std::net::IpAddr>,
    /// What kinds and fields are for, as `kubectl explain` prints it.
    pub descriptions: Arc<dyn Descriptions + Send + Sync>,
}

impl std::fmt::Debug for ApiServerSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ApiServerSpec").field("advertised", &self.advertised).finish_non_exhaustive()
    }
}

impl Default for ApiServerSpec {
    fn default() -> Self {
        Self {
            authorization_mode: "Node,RBAC".to_owned(),
            anonymous_auth: true,
            enable_admission_plugins: Vec::new(),
            admission_configurations: Configurations::default(),
            disable_admission_plugins: Vec::new(),
            default_tolerations: DefaultTolerationSeconds::default(),
            service_node_port_range: (30000, 32767),
            event_seconds: 3600,
            etcd_prefix: None,
            limits: Limits::default(),
            runtime_config: RuntimeConfig::default(),
            service_cluster_ip_range: "10.0.0.0/16".to_owned(),
            tokens: None,
            token_auth_file: None,
            token_webhook: None,
            authorization_webhook: None,
            service_accounts: ServiceAccountSpec::default(),
            service_routes: ServiceRoutes::default(),
            proxy_client: None,
            kubelet_client: None,
            client_ca: None,
            request_headers: None,
            audit: None,
            expression_pool: None,
            running_components: None,
            root_ca: None,
            advertised: None,
            advertise_address: None,
            descriptions: Arc::new(Undescribed),
        }
    }
}

impl ApiServerSpec {
    /// Where the API is reached from outside; inside the process, the name of the service.
    pub(crate) fn url(&self) -> String {
        let inside = || "https://kubernetes.default.svc".to_owned();
        self.advertised.map_or_else(inside, |address| format!("https://{address}"))
    }

    /// What the endpoints of the service `kubernetes` say.
    pub(crate) fn public(&self) -> Option<std::net::SocketAddr> {
        let address = self.advertise_address.filter(|address| !address.is_loopback() && !address.is_unspecified())?;
        Some((address, self.advertised?.port()).into())
    }
}
