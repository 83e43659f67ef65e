use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use clap::Args;
use coracle_cluster::{ApiServerOptions, ServiceRoutes};
use coracle_pki::{Authority, Credential, kubeconfig};
use coracle_release::Release;
use coracle_secure_serving::{Listener, ServingCertificates};
use coracle_tls::{Identity, OldestTls};

use crate::commands::advertise_flags::AdvertiseFlags;
use crate::commands::api_flags::ApiFlags;
use crate::commands::audit_flags::AuditFlags;
use crate::commands::front_proxy_flags::FrontProxyFlags;
use crate::commands::kubelet_client_flags::KubeletClientFlags;
use crate::commands::release_flags::ReleaseFlags;
use crate::commands::service_account_flags::ServiceAccountFlags;
use crate::commands::webhook_flags::WebhookFlags;
use crate::exit;
use crate::flags::api_server_unused::ApiServerUnused;
use crate::flags::headings::{
    ADMISSION, AUDIT, AUTHENTICATION, FRONT_PROXIES, NODE_CALLS, REQUESTS, SERVICE_ACCOUNTS, SERVICES,
};
use crate::flags::unused::Given;
use crate::flags::values::cidrs;

/// The flags of an API server; names and meanings are kube-apiserver's.
#[derive(Debug, Args)]
pub(crate) struct ServerFlags {
    /// The address to listen on; any address except loopback accepts connections from other machines
    #[arg(long, value_name = "IP", default_value = "127.0.0.1")]
    bind_address: IpAddr,
    /// The HTTPS port; 0 for a free one
    #[arg(long, value_name = "PORT")]
    secure_port: Option<u16>,
    /// A file of tokens: token,user,uid,"group1,group2"
    #[arg(long, value_name = "FILE", help_heading = AUTHENTICATION)]
    token_auth_file: Option<PathBuf>,
    /// Accept requests without credentials as system:anonymous; never with AlwaysAllow
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true", default_value_t = true,
        action = clap::ArgAction::Set, help_heading = AUTHENTICATION)]
    anonymous_auth: bool,
    /// The authorization modes: Node, RBAC, Webhook, AlwaysAllow, AlwaysDeny
    #[arg(long, value_name = "MODES", default_value = "Node,RBAC", help_heading = AUTHENTICATION)]
    authorization_mode: String,
    #[command(flatten, next_help_heading = AUTHENTICATION)]
    webhooks: WebhookFlags,
    #[command(flatten, next_help_heading = SERVICE_ACCOUNTS)]
    service_accounts: ServiceAccountFlags,
    /// Admission plug-ins to enable in addition to the default ones, such as NodeRestriction, which `coracle up`
    /// enables
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = ADMISSION)]
    enable_admission_plugins: Vec<String>,
    /// Admission plug-ins to disable
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = ADMISSION)]
    disable_admission_plugins: Vec<String>,
    #[command(flatten, next_help_heading = REQUESTS)]
    api: ApiFlags,
    #[command(flatten, next_help_heading = AUDIT)]
    audit: AuditFlags,
    /// The range of cluster IPs of Services
    #[arg(long, value_name = "CIDR", value_parser = cidrs, default_value = "10.0.0.0/16", help_heading = SERVICES)]
    service_cluster_ip_range: String,
    /// The program that serves a Service, such as a webhook: NAMESPACE/NAME[:PORT]=HOST:PORT
    #[arg(long, value_name = "ADDRESS", help_heading = SERVICES)]
    service_address: Vec<String>,
    #[command(flatten, next_help_heading = SERVICES)]
    advertise: AdvertiseFlags,
    #[command(flatten, next_help_heading = FRONT_PROXIES)]
    front_proxy: FrontProxyFlags,
    #[command(flatten, next_help_heading = NODE_CALLS)]
    pub(crate) kubelet_client: KubeletClientFlags,
    #[command(flatten)]
    unused: Given<ApiServerUnused>,
}

impl Default for ServerFlags {
    fn default() -> Self {
        Self {
            bind_address: IpAddr::from([127, 0, 0, 1]),
            secure_port: None,
            token_auth_file: None,
            service_cluster_ip_range: "10.0.0.0/16".to_owned(),
            enable_admission_plugins: Vec::new(),
            disable_admission_plugins: Vec::new(),
            authorization_mode: "Node,RBAC".to_owned(),
            advertise: AdvertiseFlags::default(),
            service_accounts: ServiceAccountFlags::default(),
            anonymous_auth: true,
            front_proxy: FrontProxyFlags::default(),
            kubelet_client: KubeletClientFlags::default(),
            webhooks: WebhookFlags::default(),
            audit: AuditFlags::default(),
            api: ApiFlags::default(),
            service_address: Vec::new(),
            unused: Given::default(),
        }
    }
}

/// An API server's listener, its certificates and its client authentication.
pub(crate) struct SecureServing {
    pub(crate) listener: Listener,
    pub(crate) authority: Arc<Authority>,
    /// The certificates and the protocol of the listener, for further ones.
    pub(crate) certificates: (ServingCertificates, OldestTls),
}

/// The users with a kubeconfig: file name, user name and groups.
pub(crate) const IDENTITIES: [(&str, &str, &[&str]); 4] = [
    ("admin", "kubernetes-admin", &["system:masters"]),
    ("controller-manager", "system:kube-controller-manager", &[]),
    ("scheduler", "system:kube-scheduler", &[]),
    ("kubelet", coracle_cluster::SIMULATED_NODES_USER, &[]),
];

impl ServerFlags {
    /// Sets the flags of the release.
    pub(crate) fn choose(&mut self, release: &ReleaseFlags) {
        self.api.choose(release);
    }

    /// The release of the cluster.
    ///
    /// # Errors
    /// If there is no such release, or if it does not have a feature gate.
    pub(crate) fn release(&self) -> Result<Release> {
        self.api.release()
    }

    /// The configuration of the API server from the flags; the defaults are kept in `folder`.
    pub(crate) fn options(&self, folder: &Path) -> Result<ApiServerOptions> {
        self.unused.check()?;
        if let Some(path) = &self.token_auth_file {
            std::fs::read_to_string(path)
                .map_err(|error| exit::Usage(format!("--token-auth-file {}: {error}", path.display())))?;
        }
        let mut options = ApiServerOptions {
            authorization_mode: self.authorization_mode.clone(),
            anonymous_auth: self.anonymous_auth,
            enable_admission_plugins: self.enable_admission_plugins.clone(),
            disable_admission_plugins: self.disable_admission_plugins.clone(),
            service_cluster_ip_range: self.service_cluster_ip_range.clone(),
            token_auth_file: self.token_auth_file.clone(),
            service_accounts: self.service_accounts.spec()?,
            service_routes: service_routes(&self.service_address)?,
            ..ApiServerOptions::default()
        };
        self.front_proxy.set_or_make(&mut options, folder)?;
        if self.kubelet_client.is_said() {
            self.kubelet_client.set(&mut options)?;
        }
        self.webhooks.set(&mut options)?;
        self.audit.set(&mut options)?;
        self.api.set(&mut options)?;
        Ok(options)
    }

    /// Sets the address of a server that listens at `listening`.
    pub(crate) fn advertise(&self, options: &mut ApiServerOptions, listening: SocketAddr) {
        options.advertised = Some(listening);
        options.advertise_address = self.advertise.address(listening);
    }

    /// Loads the authority in `folder` and listens; `preferred` is the port if the flags set none.
    pub(crate) async fn open(
        &self,
        folder: &Path,
        preferred: u16,
        options: &mut ApiServerOptions,
    ) -> Result<SecureServing> {
        let authority = Arc::new(Authority::open(folder)?);
        let names = ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"];
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut addresses = vec![self.bind_address, IpAddr::from([127, 0, 0, 1])];
        addresses.extend(first_address(&self.service_cluster_ip_range));
        let identity = authority.server(&names, &addresses)?;
        let address = SocketAddr::new(self.bind_address, self.secure_port.unwrap_or(preferred));
        let front_proxy_authority = self.front_proxy.authority(options);
        let serving_certificates =
            ServingCertificates { front_proxy_authority, ..ServingCertificates::of(identity, authority.certificate()) };
        let oldest_tls = self.api.oldest_tls();
        let listener = Listener::bind(address, serving_certificates.clone(), oldest_tls).await?;
        options.root_ca = Some(authority.certificate().to_owned());
        options.client_ca = Some(authority.certificate().to_owned());
        Ok(SecureServing { listener, authority, certificates: (serving_certificates, oldest_tls) })
    }
}

impl SecureServing {
    /// `https://127.0.0.1:41234`
    pub(crate) fn url(&self) -> String {
        let mut address = self.listener.address();
        if address.ip().is_unspecified() {
            address.set_ip(IpAddr::from([127, 0, 0, 1]));
        }
        format!("https://{address}")
    }

    /// Writes a kubeconfig for `user` with a client certificate, readable only by its owner.
    pub(crate) fn write_kubeconfig(&self, path: &Path, user: &str, groups: &[&str]) -> Result<()> {
        let identity: Identity = self.authority.client(user, groups)?;
        self.write_kubeconfig_with(path, Credential::Certificate(&identity))
    }

    /// Writes a kubeconfig with this credential, readable only by its owner.
    pub(crate) fn write_kubeconfig_with(&self, path: &Path, credential: Credential<'_>) -> Result<()> {
        let text = kubeconfig("coracle", &self.url(), self.authority.certificate(), credential);
        coracle_pki::write_private(path, &text).with_context(|| format!("cannot write {}", path.display()))
    }
}

/// The routes of `--service-address`.
pub(crate) fn service_routes(addresses: &[String]) -> Result<ServiceRoutes> {
    let mut routes = ServiceRoutes::default();
    for address in addresses {
        routes.add_address(address).map_err(|error| exit::Usage(error.to_string()))?;
    }
    Ok(routes)
}

/// The address of the service `kubernetes`: the first one of the range.
fn first_address(range: &str) -> Option<IpAddr> {
    let (network, _) = range.split_once('/')?;
    match network.parse().ok()? {
        IpAddr::V4(network) => Some(IpAddr::from((u32::from(network) + 1).to_be_bytes())),
        IpAddr::V6(network) => Some(IpAddr::from((u128::from(network) + 1).to_be_bytes())),
    }
}
