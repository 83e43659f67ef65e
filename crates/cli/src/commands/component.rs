use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use clap::{ArgAction, Args};
use coracle_ambient::Ambient;
use coracle_client::kubeconfig::{Kubeconfig, KubeconfigError};
use coracle_client::{AsServiceAccount, Client, Https};
use coracle_cluster::controllers::Identities;
use coracle_cluster::read_keys;
use coracle_cluster::scheduler::Configuration;
use coracle_cluster::{Ended, LeaderTimings, controllers};
use coracle_journal::Recorder;
use coracle_meta::ObjectKey;
use coracle_secure_serving::MetricsListener;

use crate::commands::scheduler_configuration;
use crate::commands::up::{controller_flags, runtime, server_ambient, unreadable};
use crate::exit;
use crate::interrupt::interrupted;

/// Runs the controllers alone.
#[derive(Debug, Args)]
pub(crate) struct ControllerManager {
    /// The kubeconfig: the address of the API server and the credentials
    #[arg(long, value_name = "FILE")]
    kubeconfig: PathBuf,
    /// A flag of the controllers, as NAME=VALUE
    #[arg(long = "arg", value_name = "NAME=VALUE")]
    flags: Vec<String>,
    /// Serve /healthz and /metrics of the controllers on this address, without authentication
    #[arg(long, value_name = "ADDRESS:PORT")]
    metrics: Option<SocketAddr>,
    #[command(flatten)]
    keys: Box<Keys>,
    #[command(flatten)]
    election: Election,
}

/// Runs the scheduler alone.
#[derive(Debug, Args)]
pub(crate) struct Scheduler {
    /// The kubeconfig: the address of the API server and the credentials; by default the one in the configuration
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// A KubeSchedulerConfiguration of kubescheduler.config.k8s.io/v1: profiles, plug-ins and their arguments
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Serve /healthz and /metrics of the scheduler on this address, without authentication
    #[arg(long, value_name = "ADDRESS:PORT")]
    metrics: Option<SocketAddr>,
    #[command(flatten)]
    election: Election,
}

/// Leader election, with the flags of Kubernetes' components.
#[derive(Clone, Copy, Debug, Args)]
struct Election {
    /// Act only while this process holds the component's Lease in kube-system, and exit when it loses the Lease
    #[arg(long, num_args = 0..=1, default_missing_value = "true", action = ArgAction::Set)]
    leader_elect: Option<bool>,
    /// How long other processes wait before they take a Lease that is not renewed [default: 15s]
    #[arg(long, value_parser = span, value_name = "DURATION")]
    leader_elect_lease_duration: Option<Duration>,
    /// How long a leader tries to renew its Lease before it gives up [default: 10s]
    #[arg(long, value_parser = span, value_name = "DURATION")]
    leader_elect_renew_deadline: Option<Duration>,
    /// The time between two attempts to acquire or renew the Lease [default: 2s]
    #[arg(long, value_parser = span, value_name = "DURATION")]
    leader_elect_retry_period: Option<Duration>,
}

impl Election {
    /// The timings of leader election; `None` if it is off.
    fn timings(self) -> Result<Option<LeaderTimings>> {
        self.timings_over(None)
    }

    /// The same, with the settings of a file as defaults. In Kubernetes: the checks of
    /// `leaderelection.NewLeaderElector`.
    fn timings_over(self, file: Option<LeaderTimings>) -> Result<Option<LeaderTimings>> {
        let default = file.unwrap_or_default();
        let timings = LeaderTimings {
            lease: self.leader_elect_lease_duration.unwrap_or(default.lease),
            renew_deadline: self.leader_elect_renew_deadline.unwrap_or(default.renew_deadline),
            retry: self.leader_elect_retry_period.unwrap_or(default.retry),
        };
        let wrong = match timings {
            LeaderTimings { lease, renew_deadline, .. } if lease <= renew_deadline => {
                "--leader-elect-lease-duration must be longer than --leader-elect-renew-deadline"
            }
            LeaderTimings { renew_deadline, retry, .. } if renew_deadline <= retry.mul_f64(1.2) => {
                "--leader-elect-renew-deadline must be longer than 1.2 times --leader-elect-retry-period"
            }
            LeaderTimings { retry, .. } if retry.is_zero() => "--leader-elect-retry-period must not be zero",
            _ => return Ok(self.leader_elect.unwrap_or(file.is_some()).then_some(timings)),
        };
        Err(exit::Usage(wrong.to_owned()).into())
    }
}

fn span(text: &str) -> Result<Duration, String> {
    coracle_meta::parse_duration(text).ok_or_else(|| "not a duration such as 15s or 1m30s".to_owned())
}

/// Key files, with the flags of kube-controller-manager.
#[derive(Debug, Default, Args)]
struct Keys {
    /// The key that signs the tokens in Secrets of service accounts; without it, no controller fills these Secrets
    #[arg(long, value_name = "FILE")]
    service_account_private_key_file: Option<String>,
    /// The CA bundle of the API server, which controllers publish to pods; by default the CA of the kubeconfig
    #[arg(long, value_name = "FILE")]
    root_ca_file: Option<String>,
    /// The certificate authority that signs approved CertificateSigningRequests
    #[arg(long, value_name = "FILE")]
    cluster_signing_cert_file: Option<String>,
    /// The key of this certificate authority
    #[arg(long, value_name = "FILE")]
    cluster_signing_key_file: Option<String>,
    /// The maximum validity of signed certificates; by default a year
    #[arg(long, value_name = "DURATION")]
    cluster_signing_duration: Option<String>,
    /// The certificate authority of the signer kubernetes.io/kubelet-serving
    #[arg(long, value_name = "FILE")]
    cluster_signing_kubelet_serving_cert_file: Option<String>,
    /// The key of this certificate authority
    #[arg(long, value_name = "FILE")]
    cluster_signing_kubelet_serving_key_file: Option<String>,
    /// The certificate authority of the signer kubernetes.io/kube-apiserver-client-kubelet
    #[arg(long, value_name = "FILE")]
    cluster_signing_kubelet_client_cert_file: Option<String>,
    /// The key of this certificate authority
    #[arg(long, value_name = "FILE")]
    cluster_signing_kubelet_client_key_file: Option<String>,
    /// The certificate authority of the signer kubernetes.io/kube-apiserver-client
    #[arg(long, value_name = "FILE")]
    cluster_signing_kube_apiserver_client_cert_file: Option<String>,
    /// The key of this certificate authority
    #[arg(long, value_name = "FILE")]
    cluster_signing_kube_apiserver_client_key_file: Option<String>,
    /// The certificate authority of the signer kubernetes.io/legacy-unknown
    #[arg(long, value_name = "FILE")]
    cluster_signing_legacy_unknown_cert_file: Option<String>,
    /// The key of this certificate authority
    #[arg(long, value_name = "FILE")]
    cluster_signing_legacy_unknown_key_file: Option<String>,
}

impl Keys {
    /// The flags of the controllers, as NAME=VALUE.
    fn flags(&self) -> impl Iterator<Item = String> {
        let flags = [
            ("service-account-private-key-file", &self.service_account_private_key_file),
            ("root-ca-file", &self.root_ca_file),
            ("cluster-signing-cert-file", &self.cluster_signing_cert_file),
            ("cluster-signing-key-file", &self.cluster_signing_key_file),
            ("cluster-signing-duration", &self.cluster_signing_duration),
            ("cluster-signing-kubelet-serving-cert-file", &self.cluster_signing_kubelet_serving_cert_file),
            ("cluster-signing-kubelet-serving-key-file", &self.cluster_signing_kubelet_serving_key_file),
            ("cluster-signing-kubelet-client-cert-file", &self.cluster_signing_kubelet_client_cert_file),
            ("cluster-signing-kubelet-client-key-file", &self.cluster_signing_kubelet_client_key_file),
            ("cluster-signing-kube-apiserver-client-cert-file", &self.cluster_signing_kube_apiserver_client_cert_file),
            ("cluster-signing-kube-apiserver-client-key-file", &self.cluster_signing_kube_apiserver_client_key_file),
            ("cluster-signing-legacy-unknown-cert-file", &self.cluster_signing_legacy_unknown_cert_file),
            ("cluster-signing-legacy-unknown-key-file", &self.cluster_signing_legacy_unknown_key_file),
        ];
        flags.into_iter().filter_map(|(name, value)| Some(format!("{name}={}", value.as_ref()?)))
    }
}

impl ControllerManager {
    pub(crate) fn run(self) -> Result<u8> {
        let flags: Vec<String> = self.flags.iter().cloned().chain(self.keys.flags()).collect();
        let mut config = controller_flags("--arg", &flags)?;
        config.leader_election = self.election.timings()?;
        let kubeconfig = read(&self.kubeconfig)?;
        // In Kubernetes, too, pods get the certificate authority that the program itself trusts.
        let authority = kubeconfig.certificate_authority.as_deref().unwrap_or_default();
        config.root_ca = String::from_utf8_lossy(authority).into_owned();
        read_keys(&mut config).map_err(unreadable)?;
        let anonymous = kubeconfig.without_credentials().connect().map_err(refused)?;
        until_interrupted(&kubeconfig, |client, ambient, recorder, stop| async move {
            if let Some(address) = self.metrics {
                let metrics = config.metrics.clone();
                let listener = MetricsListener::bind(address, move || metrics.text()).await.context("--metrics")?;
                tokio::spawn(async move { match listener.serve().await {} });
            }
            if config.own_identity_for_all {
                return Ok(controllers::run(config, client.clone(), &client, ambient, recorder, stop).await);
            }
            let accounts = ServiceAccounts { https: anonymous, asker: client.clone(), ambient: ambient.clone() };
            Ok(controllers::run(config, client, &accounts, ambient, recorder, stop).await)
        })
    }
}

/// The controllers' own identities, with tokens that the program requests.
struct ServiceAccounts {
    https: Https,
    asker: Client,
    ambient: Ambient,
}

impl Identities for ServiceAccounts {
    fn client(&self, account: &str) -> Client {
        let key = ObjectKey::new("kube-system", account);
        let clock = self.ambient.clock.clone();
        Client::new(AsServiceAccount::new(self.https.clone(), &self.asker, key, clock), &self.ambient)
    }
}

impl Scheduler {
    pub(crate) fn run(self) -> Result<u8> {
        let read_file = self.config.as_deref().map(scheduler_configuration::read).transpose()?;
        let (mut config, said, named) = match read_file {
            Some(Configuration { config, leader_election, kubeconfig, .. }) => (config, leader_election, kubeconfig),
            None => Default::default(),
        };
        config.leader_election = self.election.timings_over(said)?;
        let Some(kubeconfig) = self.kubeconfig.or(named.map(PathBuf::from)) else {
            return Err(exit::Usage("--kubeconfig is missing: how to reach the API server".to_owned()).into());
        };
        until_interrupted(&read(&kubeconfig)?, |client, ambient, recorder, stop| async move {
            if let Some(address) = self.metrics {
                let metrics = config.metrics.clone();
                let listener = MetricsListener::bind(address, move || metrics.text()).await.context("--metrics")?;
                tokio::spawn(async move { match listener.serve().await {} });
            }
            Ok(coracle_cluster::scheduler::run(config, client, ambient, recorder, stop).await)
        })
    }
}

/// A future that completes when the process must stop.
pub(crate) type Stop = std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;

pub(crate) fn read(kubeconfig: &Path) -> Result<Kubeconfig> {
    Ok(Kubeconfig::read(kubeconfig).map_err(refused)?)
}

fn refused(error: KubeconfigError) -> exit::Usage {
    exit::Usage(format!("--kubeconfig: {:#}", anyhow::Error::from(error)))
}

pub(crate) fn until_interrupted<F: Future<Output = Result<Ended>>>(
    kubeconfig: &Kubeconfig,
    run: impl FnOnce(Client, Ambient, Recorder, Stop) -> F,
) -> Result<u8> {
    let service = kubeconfig.connect().map_err(refused)?;
    runtime()?.block_on(async {
        let ambient = server_ambient();
        let client = Client::new(service, &ambient);
        let (said, code) = tokio::sync::oneshot::channel();
        let stop = Box::pin(async move {
            let _ = said.send(interrupted().await);
        });
        if run(client, ambient, Recorder::off(), stop).await? == Ended::LeadershipLost {
            anyhow::bail!("leader election lost: another process may act now");
        }
        Ok(code.await.unwrap_or(exit::FAILED))
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Flags {
        #[command(flatten)]
        election: Election,
    }

    fn read(flags: &[&str]) -> Result<Option<LeaderTimings>, String> {
        let words = std::iter::once("coracle").chain(flags.iter().copied());
        let flags = Flags::try_parse_from(words).map_err(|error| error.to_string())?;
        flags.election.timings().map_err(|error| error.to_string())
    }

    #[test]
    fn leader_election_is_off_by_default() {
        assert_eq!(read(&[]), Ok(None));
        assert_eq!(read(&["--leader-elect=false"]), Ok(None));
        assert_eq!(read(&["--leader-elect"]), Ok(Some(LeaderTimings::default())));
        let short = read(&["--leader-elect=true", "--leader-elect-lease-duration=1m30s"]).unwrap().unwrap();
        assert_eq!(short.lease, Duration::from_secs(90));
    }

    #[test]
    fn timings_that_permit_two_leaders_are_refused() {
        assert!(read(&["--leader-elect", "--leader-elect-lease-duration=10s"]).unwrap_err().contains("longer"));
        assert!(read(&["--leader-elect", "--leader-elect-retry-period=9s"]).unwrap_err().contains("1.2 times"));
        assert!(read(&["--leader-elect", "--leader-elect-retry-period=0s"]).unwrap_err().contains("zero"));
        assert!(read(&["--leader-elect", "--leader-elect-retry-period=soon"]).unwrap_err().contains("duration"));
    }
}
