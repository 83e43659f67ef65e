use std::path::PathBuf;
use std::sync::Arc;

use coracle_admission::{Configurations, DefaultTolerationSeconds};
use coracle_apiserver::{Audit, Limits, RequestHeaders};
use coracle_schema::openapi::{Descriptions, Undescribed};

use coracle_release::Release;

use coracle_registry::{ExpressionPool, RunningComponents};

use crate::runtime_config::RuntimeConfig;
use crate::{
    AccessWebhookSpec, KubeletClient, ProxyClient, RealTime, ServiceAccountSpec, ServiceRoutes, TokenWebhookSpec,
};

/// The configuration of an API server. The names are those of kube-apiserver's flags.
#[derive(Clone)]
pub struct ApiServerOptions {
    /// The release, with switched feature gates. In Kubernetes: the version of the binary, and `--feature-gates`.
    pub release: Release,
    /// `--authorization-mode`
    pub authorization_mode: String,
    /// `--anonymous-auth`: whether requests without credentials are accepted, as `system:anonymous`. Not with
    /// `AlwaysAllow`.
    pub anonymous_auth: bool,
    /// `--enable-admission-plugins`: plug-ins in addition to the default ones.
    pub enable_admission_plugins: Vec<String>,
    /// The configuration of plug-ins. In Kubernetes: `--admission-control-config-file`.
    pub admission_configurations: Configurations,
    /// `--disable-admission-plugins`
    pub disable_admission_plugins: Vec<String>,
    /// `--default-not-ready-toleration-seconds` and its sibling.
    pub default_tolerations: DefaultTolerationSeconds,
    /// `--service-node-port-range`: the first and the last.
    pub service_node_port_range: (u16, u16),
    /// `--event-ttl`, in seconds.
    pub event_seconds: i64,
    /// `--etcd-prefix`: the prefix of all keys in the store.
    pub etcd_prefix: Option<String>,
    /// `--max-requests-inflight`, `--request-timeout` and their siblings.
    pub limits: Limits,
    /// `--runtime-config`: enabled and disabled resources.
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
    /// The issuer, the keys and the lifetimes of service account tokens.
    pub service_accounts: ServiceAccountSpec,
    /// `--service-address`, and services in this process: the programs that serve webhooks.
    pub service_routes: ServiceRoutes,
    /// Where calls to other processes run while the clock of the cluster is paused; `None` for no such calls.
    pub real_time: Option<RealTime>,
    /// `--proxy-client-cert-file` and its key: the client certificate for extension API servers.
    pub proxy_client: Option<ProxyClient>,
    /// `--kubelet-client-certificate` and its siblings: the client for nodes in other processes; `None` for no such
    /// nodes.
    pub kubelet_client: Option<KubeletClient>,
    /// `--client-ca-file`: the certificate authority of users (PEM), which is also published for extension API servers.
    pub client_ca: Option<String>,
    /// `--requestheader-client-ca-file` and its siblings: the certificate authority of front proxies (PEM), and the
    /// headers with which they send the user.
    pub request_headers: Option<(String, RequestHeaders)>,
    /// `--audit-policy-file` and `--audit-log-path`: the audit policy and log.
    pub audit: Option<Audit>,
    /// The threads that run costly work. Without them, an API server in real time starts threads of its own, and one in
    /// virtual time runs the work in the tasks of the requests.
    pub expression_pool: Option<Arc<dyn ExpressionPool>>,
    /// The components that run in the process of the API server, for ComponentStatuses. Without this, the API server asks
    /// the components over the network.
    pub running_components: Option<Arc<dyn RunningComponents>>,
    /// The certificate authority of the serving certificate (PEM), which pods get in `kube-root-ca.crt`.
    pub root_ca: Option<String>,
    /// The external address of the API server.
    pub advertised: Option<std::net::SocketAddr>,
    /// `--advertise-address`: the address of this API server for pods and other machines, in the endpoints of the
    /// Service `kubernetes`; `None` for no endpoints.
    pub advertise_address: Option<std::net::IpAddr>,
    /// The descriptions of kinds and fields for `kubectl explain`.
    pub descriptions: Arc<dyn Descriptions + Send + Sync>,
}

impl std::fmt::Debug for ApiServerOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ApiServerOptions").field("advertised", &self.advertised).finish_non_exhaustive()
    }
}

impl Default for ApiServerOptions {
    fn default() -> Self {
        Self {
            release: Release::default(),
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
            real_time: None,
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

impl ApiServerOptions {
    /// The external URL of the API server; inside the process, the name of the Service.
    pub(crate) fn url(&self) -> String {
        let inside = || "https://kubernetes.default.svc".to_owned();
        self.advertised.map_or_else(inside, |address| format!("https://{address}"))
    }

    /// The address in the endpoints of the Service `kubernetes`.
    pub(crate) fn public(&self) -> Option<std::net::SocketAddr> {
        let address = self.advertise_address.filter(|address| !address.is_loopback() && !address.is_unspecified())?;
        Some((address, self.advertised?.port()).into())
    }
}
