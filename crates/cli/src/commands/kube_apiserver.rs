use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::{ArgAction, Parser};
use coracle_cluster::{ApiServerOptions, CertificateFile, Cluster, StoreSpec, controllers};
use coracle_pki::Authority;
use coracle_scenario::RunningFaults;
use coracle_secure_serving::{Listener, ServingCertificates};
use coracle_sim::Wire;

use crate::commands::admission_configuration;
use crate::commands::advertise_flags::AdvertiseFlags;
use crate::commands::api_flags::ApiFlags;
use crate::commands::audit_flags::{AuditFlags, close};
use crate::commands::etcd::tolerant;
use crate::commands::etcd_servers::EtcdServersFlags;
use crate::commands::front_proxy_flags::FrontProxyFlags;
use crate::commands::kubelet_client_flags::KubeletClientFlags;
use crate::commands::release_flags::ReleaseFlags;
use crate::commands::server_flags::service_routes;
use crate::commands::service_account_flags::ServiceAccountFlags;
use crate::commands::up::run_on_worker;
use crate::commands::webhook_flags::WebhookFlags;
use crate::exit;
use crate::flags::api_server_unused::ApiServerUnused;
use crate::flags::headings::{
    ADMISSION, AUDIT, AUTHENTICATION, FRONT_PROXIES, NODE_CALLS, REQUESTS, SERVICE_ACCOUNTS, SERVICES, SERVING, STORE,
};
use crate::flags::unused::Given;
use crate::flags::values::cidrs;
use crate::interrupt::interrupted_or_orphaned;
use crate::output::note;
use crate::runtime::server_ambient;

/// Coracle's API server as a replacement of kube-apiserver in test environments such as envtest.
///
/// By default, no controllers run. `CORACLE_CONTROLLERS=true` in the environment starts all controllers, and a list of
/// names starts those; a scheduler and simulated nodes run with them. `CORACLE_NODES` sets the number of nodes
/// (default: 2). Unknown flags are ignored with a warning.
#[derive(Debug, Parser)]
#[command(name = "kube-apiserver", version = git_version(), display_name = "Kubernetes")]
pub(crate) struct KubeApiserver {
    /// The address to listen on
    #[arg(long, value_name = "IP", default_value = "0.0.0.0")]
    bind_address: IpAddr,
    /// The HTTPS port
    #[arg(long, value_name = "PORT", default_value_t = 6443)]
    secure_port: u16,
    /// The folder with apiserver.crt and apiserver.key, if no flags name other files
    #[arg(long, value_name = "DIR", default_value = "/var/run/kubernetes", help_heading = SERVING)]
    cert_dir: PathBuf,
    /// The serving certificate
    #[arg(long, value_name = "FILE", help_heading = SERVING)]
    tls_cert_file: Option<PathBuf>,
    /// The key of the serving certificate
    #[arg(long, value_name = "FILE", help_heading = SERVING)]
    tls_private_key_file: Option<PathBuf>,
    /// The certificate authority of clients
    #[arg(long, value_name = "FILE", help_heading = SERVING)]
    client_ca_file: Option<PathBuf>,
    #[command(flatten, next_help_heading = STORE)]
    etcd: EtcdServersFlags,
    /// A file of tokens: token,user,uid,"group1,group2"
    #[arg(long, value_name = "FILE", help_heading = AUTHENTICATION)]
    token_auth_file: Option<PathBuf>,
    /// Accept requests without credentials as system:anonymous; never with AlwaysAllow
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true", default_value_t = true,
        action = ArgAction::Set, help_heading = AUTHENTICATION)]
    anonymous_auth: bool,
    /// The authorization modes: Node, RBAC, Webhook, AlwaysAllow, AlwaysDeny
    #[arg(long, value_name = "MODES", value_delimiter = ',', default_value = "AlwaysAllow",
        help_heading = AUTHENTICATION)]
    authorization_mode: Vec<String>,
    #[command(flatten, next_help_heading = AUTHENTICATION)]
    webhooks: WebhookFlags,
    #[command(flatten, next_help_heading = SERVICE_ACCOUNTS)]
    service_accounts: ServiceAccountFlags,
    /// Admission plug-ins to enable in addition to the default ones
    #[arg(long, alias = "admission-control", value_name = "NAMES", value_delimiter = ',', help_heading = ADMISSION)]
    enable_admission_plugins: Vec<String>,
    /// The configuration of admission plug-ins: an AdmissionConfiguration
    #[arg(long, value_name = "FILE", help_heading = ADMISSION)]
    admission_control_config_file: Option<PathBuf>,
    /// Admission plug-ins to disable
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = ADMISSION)]
    disable_admission_plugins: Vec<String>,
    #[command(flatten, next_help_heading = REQUESTS)]
    api: ApiFlags,
    #[command(flatten, next_help_heading = AUDIT)]
    audit: AuditFlags,
    /// The range of cluster IPs of Services
    #[arg(long, value_name = "CIDR", value_parser = cidrs, default_value = "10.0.0.0/24", help_heading = SERVICES)]
    service_cluster_ip_range: String,
    /// The program that serves a Service, such as a webhook: NAMESPACE/NAME[:PORT]=HOST:PORT
    #[arg(long, value_name = "ADDRESS", help_heading = SERVICES)]
    service_address: Vec<String>,
    #[command(flatten, next_help_heading = SERVICES)]
    advertise: AdvertiseFlags,
    #[command(flatten, next_help_heading = FRONT_PROXIES)]
    front_proxy: FrontProxyFlags,
    #[command(flatten, next_help_heading = NODE_CALLS)]
    kubelet_client: KubeletClientFlags,
    #[command(flatten)]
    unused: Given<ApiServerUnused>,
}

/// Whether controllers, scheduler and nodes run in addition to the API server: `true`, or the names of controllers.
const CONTROLLERS: &str = "CORACLE_CONTROLLERS";
/// The number of simulated nodes in that case.
const NODES: &str = "CORACLE_NODES";

/// The version that `--version` prints.
fn git_version() -> &'static str {
    ReleaseFlags::default().release().unwrap_or_default().git_version()
}

impl KubeApiserver {
    pub(crate) fn run(arguments: Vec<String>) -> Result<u8> {
        let flags: Self = tolerant(arguments)?;
        run_on_worker(flags.serve())
    }

    async fn serve(self) -> Result<u8> {
        let address = SocketAddr::new(self.bind_address, self.secure_port);
        let mut options = self.options()?;
        let listener = Listener::bind(address, self.serving_certificates(&options)?, self.api.oldest_tls()).await?;
        options.advertised = Some(listener.address());
        options.advertise_address = self.advertise.address(listener.address());
        if self.etcd.etcd_servers.is_empty() {
            return Err(exit::Usage("--etcd-servers must be specified".to_owned()).into());
        }
        let audit = options.audit.clone();
        let store = StoreSpec::Etcd(self.etcd.read()?);
        let wire = Wire::default();
        let builder = Cluster::builder().ambient(server_ambient()).store(store).api_server(options);
        let cluster = match beside()? {
            Some((controllers, nodes)) => builder.controllers(controllers).nodes(nodes),
            None => builder.api_server_only(),
        }
        .transport_layer_for_all(wire.layer())
        .start()
        .await?;
        for limit in cluster.limits() {
            note!("note: {limit}");
        }
        let mut code = Ok(exit::PASS);
        let faults = RunningFaults::new(&cluster, &wire);
        let front = coracle_control::faults_in_front_of(cluster.front_door(), &faults);
        let stop = async {
            code = cluster.unless_ended(interrupted_or_orphaned()).await;
            if code.is_ok() {
                // A cluster stops without faults.
                faults.remove(|_| true);
                cluster.shutdown().await;
            }
        };
        listener.serve(front, stop).await;
        close(audit.as_ref());
        Ok(code?)
    }

    fn options(&self) -> Result<ApiServerOptions> {
        self.unused.check()?;
        self.token_auth_file.as_deref().map(|path| read(path, "--token-auth-file")).transpose()?;
        let client_ca = self.client_ca_file.as_deref().map(|path| read(path, "--client-ca-file")).transpose()?;
        let mut options = ApiServerOptions {
            authorization_mode: self.authorization_mode.join(","),
            anonymous_auth: self.anonymous_auth,
            enable_admission_plugins: self.enable_admission_plugins.clone(),
            admission_configurations: admission_configuration::read(self.admission_control_config_file.as_deref())?,
            disable_admission_plugins: self.disable_admission_plugins.clone(),
            service_cluster_ip_range: self.service_cluster_ip_range.clone(),
            token_auth_file: self.token_auth_file.clone(),
            service_routes: service_routes(&self.service_address)?,
            service_accounts: self.service_accounts.spec()?,
            client_ca,
            ..ApiServerOptions::default()
        };
        self.front_proxy.set(&mut options)?;
        self.kubelet_client.set(&mut options)?;
        self.webhooks.set(&mut options)?;
        self.audit.set(&mut options)?;
        self.api.set(&mut options)?;
        Ok(options)
    }

    /// The serving certificates and client authentication. The serving certificate is the one in the flags, the one
    /// in the folder, or a new one of the server's own authority.
    fn serving_certificates(&self, options: &ApiServerOptions) -> Result<ServingCertificates> {
        let client_authority = match &self.client_ca_file {
            Some(path) => CertificateFile::File(path.clone()),
            // The key of this authority is discarded, so no client certificate is accepted.
            None => Authority::new()?.certificate().into(),
        };
        let front_proxy_authority = self.front_proxy.authority(options);
        let in_folder = |file: &str| self.cert_dir.join(file);
        let certificate = self.tls_cert_file.clone().unwrap_or_else(|| in_folder("apiserver.crt"));
        let key = self.tls_private_key_file.clone().unwrap_or_else(|| in_folder("apiserver.key"));
        if self.tls_cert_file.is_none() && !certificate.exists() {
            let names = ["localhost".to_owned(), "kubernetes.default.svc".to_owned()];
            let addresses = [self.bind_address, IpAddr::from([127, 0, 0, 1])];
            let identity = Authority::new()?.server(&names, &addresses)?;
            return Ok(ServingCertificates {
                front_proxy_authority,
                ..ServingCertificates::of(identity, client_authority)
            });
        }
        read(&certificate, "--tls-cert-file")?;
        read(&key, "--tls-private-key-file")?;
        let (certificate, key) = (CertificateFile::File(certificate), CertificateFile::File(key));
        Ok(ServingCertificates { certificate, key, client_authority, front_proxy_authority })
    }
}

/// Which controllers run in addition to the API server, and how many nodes; `None` for no controllers.
fn beside() -> Result<Option<(controllers::Config, usize)>> {
    let list = match std::env::var(CONTROLLERS).unwrap_or_default().as_str() {
        "" | "false" => return Ok(None),
        "true" => "*".to_owned(),
        list => list.to_owned(),
    };
    let controllers = list.parse::<controllers::Selection>();
    let controllers = controllers.map_err(|error| exit::Usage(format!("{CONTROLLERS}: {error}")))?;
    let config = controllers::Config { controllers, ..controllers::Config::default() };
    let nodes = std::env::var(NODES).unwrap_or_else(|_| "2".to_owned());
    let nodes = nodes.parse().map_err(|_| exit::Usage(format!("{NODES}: `{nodes}` is not a number")))?;
    Ok(Some((config, nodes)))
}

fn read(path: &Path, flag: &str) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("{flag}: cannot read {}", path.display()))
}
