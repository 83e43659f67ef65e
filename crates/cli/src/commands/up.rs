use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::pin::pin;

use anyhow::{Context, Result};
use clap::Args;
use coracle_ambient::Ambient;
use coracle_cluster::controllers::{CertificateKey, CertificateKeys};
use coracle_cluster::stages::{Stage, read_stages};
use coracle_cluster::{ApiServerOptions, Builder, Cluster, SavedNodes, StoreSpec, controllers};
use coracle_cluster::{Images, KeyFiles, read_keys};
use coracle_control::{ControlledCluster, Error};
use coracle_journal::{Header, Recorder};
use coracle_pki::Credential;
use coracle_release::Release;
use coracle_scenario::parse::{read_text, yaml};
use coracle_scenario::{FaultList, FaultyServer, RunningFaults};
use coracle_secure_serving::MetricsListener;
use coracle_viewer::serve::ServedPage;
use futures_util::future::{Either, select};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::commands::audit_flags::close;
use crate::commands::detached::detached;
use crate::commands::env::StateArgs;
use crate::commands::greeting::Greeting;
use crate::commands::node_flags::NodeFlags;
use crate::commands::prepared_cluster::{PreparedCluster, flush, launch, more_nodes, readiness};
use crate::commands::release_flags::ReleaseFlags;
use crate::commands::scheduler_configuration;
use crate::commands::server_flags::{SecureServing, ServerFlags};
use crate::commands::service_account_flags::sign_by;
use crate::commands::time_flag::TimeFlag;
use crate::commands::wait_for_ready::{WaitFlags, announce, complain, until_ready};
use crate::exec_folder::ExecFolder;
use crate::faults_api::read_faults;
use crate::flags::controller_manager::ControllerFlags;
use crate::handed_on::Signals;
use crate::interrupt::interrupted;
use crate::output::note;
use crate::page_socket::{LOOPBACK, PageSocket, address};
use crate::progress::Progress;
use crate::random::random_letters;
use crate::runtime::runtime;
use crate::state::StateFolder;
use crate::state_release;
use crate::{exit, state};

/// The addresses of load balancers: a documentation range of RFC 5737, so that they lead to no real host.
pub(super) const LOAD_BALANCERS: &str = "198.51.100.0/24";
/// The admission plug-in that restricts nodes to their own objects.
pub(super) const NODE_RESTRICTION: &str = "NodeRestriction";

/// The number of event log entries that are kept in memory in addition to the file.
const KEPT_ENTRIES: usize = 10_000;

/// The number of entries in memory for the page: about 10 MB for a cluster with small objects, and as much as a page
/// can draw quickly.
pub(super) const VIEWED_ENTRIES: usize = 100_000;

/// The maximum size of the entries in memory, because entries contain complete objects.
pub(super) const KEPT_BYTES: usize = 64 << 20;

/// Starts a cluster and keeps it until Ctrl-C.
#[derive(Debug, Args)]
pub(crate) struct Up {
    #[command(flatten)]
    state: StateArgs,
    /// Run in the background: return when the API server is ready; `coracle down` stops it
    #[arg(short, long)]
    detach: bool,
    #[command(flatten)]
    wait: WaitFlags,
    /// Write nothing to disk except the kubeconfig
    #[arg(long)]
    ephemeral: bool,
    /// How time passes: real, stepped (`coracle clock` and `coracle settle` advance it), or scaled=N
    ///
    /// Other than real only with --ephemeral. In stepped time the clock stands still until it is advanced; scaled=60 is 60
    /// times as fast as the machine's clock.
    #[arg(long, value_name = "real|stepped|scaled=N", default_value = "real")]
    time: TimeFlag,
    /// The seed of all randomness, such as the suffixes of pod names [default: from the operating system]
    #[arg(long, value_name = "NUMBER", help_heading = "Randomness")]
    seed: Option<u64>,
    /// Start without add-ons: no CSI driver, no metrics-server and no addresses for load balancers
    #[arg(long)]
    empty: bool,
    /// The minimum number of simulated nodes, with the names node-1, node-2 and so on; other nodes in the stored state
    /// also run
    #[arg(long, value_name = "COUNT", default_value_t = 2)]
    nodes: usize,
    #[command(flatten)]
    node: NodeFlags,
    /// Serve the resource usage of pods as metrics.k8s.io, as metrics-server does [default: true, or false with
    /// --empty]
    #[arg(long, value_name = "true|false", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    metrics_server: Option<bool>,
    /// Drive nodes and pods by KWOK's Stages: the sets fast, general and chaos, files of Stages, or `objects` for only
    /// the Stage objects of the API
    #[arg(long, value_name = "SET|FILE", value_delimiter = ',')]
    stages: Vec<String>,
    /// The images of this file: which exist, how long a pull takes, and what their programs do, as a scenario lists them
    #[arg(long, value_name = "FILE")]
    images: Option<PathBuf>,
    /// A flag of the controllers, as NAME=VALUE; `coracle controller-manager --help` lists them
    #[arg(long, value_name = "NAME=VALUE")]
    kube_controller_manager_arg: Vec<String>,
    /// A KubeSchedulerConfiguration of kubescheduler.config.k8s.io/v1: profiles, plug-ins and their arguments
    #[arg(long, value_name = "FILE")]
    scheduler_config: Option<PathBuf>,
    /// Serve /healthz and /metrics of the scheduler on this address, without authentication
    #[arg(long, value_name = "ADDRESS:PORT", help_heading = "Metrics")]
    scheduler_metrics: Option<SocketAddr>,
    /// Cause the faults of this file, in the format of `faults:` in a scenario, from the moment at which the cluster is
    /// ready; `coracle fault` lists, adds and removes faults
    #[arg(long, value_name = "FILE")]
    faults: Option<PathBuf>,
    /// Write the event log to this file, for `coracle story`; compressed if the name ends with .gz
    #[arg(long, value_name = "FILE")]
    events: Option<PathBuf>,
    /// Serve a live page of the event log on its own socket, by default on loopback and a free port. The link contains
    /// a secret. A user who has the link can read everything except the contents of Secrets. The page shows the last
    /// 100,000 entries of the event log, or fewer if they exceed 64 MiB
    #[arg(long, value_name = "ADDRESS[:PORT]", num_args = 0..=1, require_equals = true, default_missing_value = LOOPBACK, value_parser = address)]
    view: Option<SocketAddr>,
    /// Serve /healthz and /metrics of the controllers on this address, without authentication
    #[arg(long, value_name = "ADDRESS:PORT", help_heading = "Metrics")]
    controller_metrics: Option<SocketAddr>,
    #[command(flatten)]
    server: ServerFlags,
}

/// A running cluster with its listener, its folder and its kubeconfig.
pub(crate) struct RunningCluster {
    pub(crate) cluster: Cluster,
    pub(crate) faults: RunningFaults,
    pub(crate) serving: SecureServing,
    pub(crate) kubeconfig: PathBuf,
    /// The link to the page, if it is served.
    pub(crate) page: Option<String>,
    _claim: state::Claim,
    _tasks: JoinSet<()>,
}

/// What a greeting says about a cluster that runs.
struct GreetingFacts {
    /// Whether the state folder had data before.
    known: bool,
    release: Release,
    limits: Vec<String>,
    /// The nodes of the state in addition to the requested ones.
    more: Vec<String>,
    page: Option<String>,
    url: String,
}

/// The current time, for the first line of an event log.
pub(super) fn now() -> String {
    coracle_meta::format_time(Ambient::system().clock.now())
}

impl Up {
    /// `coracle up --ephemeral` with so many nodes, and without other flags.
    pub(crate) fn in_memory(state: StateArgs, nodes: usize) -> Self {
        Self {
            state,
            server: ServerFlags::default(),
            detach: false,
            wait: WaitFlags::default(),
            ephemeral: true,
            time: TimeFlag::default(),
            seed: None,
            empty: false,
            metrics_server: None,
            nodes,
            node: NodeFlags::default(),
            stages: Vec::new(),
            images: None,
            faults: None,
            events: None,
            view: None,
            controller_metrics: None,
            scheduler_config: None,
            scheduler_metrics: None,
            kube_controller_manager_arg: Vec::new(),
        }
    }

    /// Serves a live page, too.
    pub(crate) fn viewed_at(self, view: Option<SocketAddr>) -> Self {
        Self { view, ..self }
    }

    pub(crate) fn run(self) -> Result<u8> {
        if self.detach {
            return detached(&self.state.folder(), &self.server.release()?, self.wait.timeout());
        }
        run_on_worker(self.serve())
    }

    async fn serve(self) -> Result<u8> {
        let started = Instant::now();
        if self.time != TimeFlag::Real && !self.ephemeral {
            let why = "--time: a clock other than the machine's needs a cluster in memory: add --ephemeral";
            return Err(exit::Usage(why.to_owned()).into());
        }
        let folder = self.state.folder();
        let known = folder.data().exists();
        let starting = Progress::of("starting the cluster");
        let time = self.time.start()?;
        let prepared = self.prepare(&folder, &time.to_string()).await?;
        let options = prepared.controlled(&folder, time, self.seed);
        let PreparedCluster { serving, token, page, named, audit, claim, tasks: _tasks, .. } = prepared;
        let controlled = ControlledCluster::start(options).await.map_err(|error| match error {
            // A wrong option is a wrong command line.
            Error::Cluster(of_cluster) => of_cluster.into(),
            other => anyhow::Error::from(other),
        })?;
        // From now on the saved state of nodes is older than the store.
        let _ = std::fs::remove_file(folder.nodes());
        // A new state has no nodes of before. The request would wait for its turn after the start of all controllers.
        let more = if known && !self.ephemeral { more_nodes(&controlled, &named).await? } else { Vec::new() };
        controlled.settle_at_start().await?;
        serving.write_kubeconfig_with(&folder.kubeconfig(), Credential::Token(&token))?;
        drop(starting);
        let generation = controlled.generation()?;
        let release = generation.cluster.registry().release().clone();
        let limits = generation.cluster.limits().to_vec();
        drop(generation);
        let url = serving.url();
        let greeting = self.greeting(&folder, &GreetingFacts { known, release, limits, more, page, url });
        let stop = std::sync::Arc::new(tokio::sync::Notify::new());
        let served = tokio::spawn(serving.listener.serve(coracle_control::transport(&controlled), {
            let stop = std::sync::Arc::clone(&stop);
            async move { stop.notified().await }
        }));
        let code = self.stay(&greeting, &controlled, started).await;
        note!("stopping");
        let _stopping = Progress::of("stopping the cluster");
        stop.notify_one();
        let saved = controlled.generation().ok().map(|generation| generation.cluster.kubelet().clone());
        let recorder = controlled.recorder();
        controlled.end().await;
        if let Some(kubelet) = saved.filter(|_| !self.ephemeral) {
            keep_nodes(&folder, &kubelet.save())?;
        }
        recorder.close().context("cannot write the event log")?;
        let _ = served.await;
        close(audit.as_ref());
        drop(claim);
        code
    }

    /// Waits for a ready cluster if that was asked for, greets, and waits for a signal. Returns the exit code.
    async fn stay(&self, greeting: &Greeting, controlled: &ControlledCluster, started: Instant) -> Result<u8> {
        let Some(within) = self.wait.timeout() else {
            greeting.print(started.elapsed())?;
            return Ok(interrupted().await);
        };
        let mut interrupted = pin!(interrupted());
        let ready = pin!(until_ready(within, || async { readiness(controlled).await }));
        let readiness = match select(interrupted.as_mut(), ready).await {
            Either::Left((code, _)) => return Ok(code),
            Either::Right((readiness, _)) => readiness?,
        };
        if !readiness.is_ready() {
            complain(&readiness, within);
            return Ok(exit::NOT_IN_TIME);
        }
        greeting.print(started.elapsed())?;
        announce(&readiness)?;
        Ok(interrupted.await)
    }

    /// What the command says when the cluster is ready.
    fn greeting(&self, folder: &StateFolder, facts: &GreetingFacts) -> Greeting {
        let kept = match (self.ephemeral, facts.known) {
            (true, _) => "gone when it stops".to_owned(),
            (false, true) => format!("found again in {}", folder.data().display()),
            (false, false) => format!("kept in {}", folder.data().display()),
        };
        let more = (!facts.more.is_empty()).then(|| {
            let (asked, flag, names) = (self.nodes, folder.flag(), facts.more.join(", "));
            format!(
                "--nodes {asked}, and {names}, which the state has from before; remove one with  coracle kubectl{flag} \
                 delete node NAME"
            )
        });
        let kubeconfig = folder.kubeconfig();
        let files = format!("kubeconfig {} (yours is untouched); objects are {kept}", kubeconfig.display());
        let page = facts.page.as_ref().map(|link| format!("page {link}"));
        let time = match self.time {
            TimeFlag::Real => None,
            TimeFlag::Stepped => {
                let flag = folder.flag();
                Some(format!(
                    "time stands still; advance it with  coracle clock{flag} advance 1h  or  coracle settle{flag}"
                ))
            }
            TimeFlag::Scaled(factor) => Some(format!("time passes {factor} times as fast as the machine's")),
        };
        Greeting {
            release: facts.release.clone(),
            notes: folder.new_notes(&facts.limits).into_iter().map(str::to_owned).collect(),
            url: facts.url.clone(),
            nodes: self.nodes + facts.more.len(),
            facts: more.into_iter().chain([files]).chain(time).chain(page).collect(),
            flag: folder.flag(),
        }
    }

    /// Starts a cluster that is not controlled from outside.
    pub(crate) async fn start(&self, folder: &StateFolder, ambient: Ambient) -> Result<RunningCluster> {
        let prepared = self.prepare(folder, "real").await?;
        let PreparedCluster { builder, log: (recorder, _), faults, serving, token, page, claim, tasks, .. } = prepared;
        let builder = builder.ambient(ambient).recorder(recorder);
        let (cluster, faults) = launch(builder, faults.as_ref()).await?;
        let kubeconfig = folder.kubeconfig();
        serving.write_kubeconfig_with(&kubeconfig, Credential::Token(&token))?;
        Ok(RunningCluster { cluster, faults, serving, kubeconfig, page, _claim: claim, _tasks: tasks })
    }

    /// Everything that a cluster needs before it starts.
    async fn prepare(&self, folder: &StateFolder, mode: &str) -> Result<PreparedCluster> {
        let stages = stages(&self.stages)?;
        let images = self.images.as_deref().map(images).transpose()?.unwrap_or_default();
        let server = FaultyServer { has_components: true, has_store_in_memory: self.ephemeral };
        let faults = read_faults(self.faults.as_deref(), server)?;
        let (mut controllers, key_files) = self.controllers()?;
        let release = self.server.release()?;
        let read = |file: &Path| scheduler_configuration::read(&release, "--scheduler-config", file);
        let scheduler = self.scheduler_config.as_deref().map(read).transpose()?;
        let scheduler = scheduler
            .map_or_else(|| coracle_cluster::scheduler::Config::of(&release), |configuration| configuration.config);
        let claim = self.claim(folder)?;
        let mut options = self.api_server_options(folder)?;
        let serving = self.server.open(&folder.pki(), 0, &mut options).await?;
        controllers.certificate_keys = CertificateKeys::all(CertificateKey::new(serving.authority.clone()));
        read_keys(&key_files, &mut controllers).map_err(|error| unreadable(error.into()))?;
        sign_by(&mut options.service_accounts, || service_account_key(&folder.pki()))?;
        let token = admin_token(&folder.pki())?;
        accept_admin_token(&mut options, &token);
        self.server.advertise(&mut options, serving.listener.address());
        let audit = options.audit.clone();
        let mut tasks = JoinSet::new();
        if let Some(address) = self.controller_metrics {
            let metrics = controllers.metrics.clone();
            serve_metrics(&mut tasks, address, move || metrics.text()).await?;
        }
        if let Some(address) = self.scheduler_metrics {
            let metrics = scheduler.metrics.clone();
            serve_metrics(&mut tasks, address, move || metrics.text()).await?;
        }
        let nodes = self.node.specs(self.nodes)?;
        let named: Vec<String> = nodes.iter().map(|node| node.name.clone()).collect();
        let builder = Cluster::builder().node_specs(nodes).store(self.store(folder)).api_server(options).images(images);
        let builder = self.with_options(builder.controllers(controllers).scheduler(scheduler), stages, folder);
        let own_informers = faults.as_ref().map(FaultList::own_informers).unwrap_or_default();
        let builder = builder.own_informers(own_informers);
        let header = Header { mode: Some(mode.to_owned()), ..Header::new(now()) };
        let socket = match self.view {
            Some(address) => Some(PageSocket::bind(address).await?),
            None => None,
        };
        let recorder = self.recorder(&header)?;
        if self.events.is_some() {
            tasks.spawn(flush(recorder.clone()));
        }
        let page = socket.map(|socket| serve_page(&mut tasks, socket, &recorder, &header));
        let log = (recorder, header);
        Ok(PreparedCluster { builder, log, faults, serving, token, page, named, audit, claim, tasks })
    }

    /// Creates the state folder, and keeps other processes out of it.
    fn claim(&self, folder: &StateFolder) -> Result<state::Claim> {
        folder.create()?;
        let claim = folder.claim()?;
        folder.set_event_log(self.events.as_deref())?;
        if self.ephemeral {
            claim.mark_ephemeral()?;
        } else {
            state_release::settle(folder, &self.server.release()?)?;
        }
        Ok(claim)
    }

    fn api_server_options(&self, folder: &StateFolder) -> Result<ApiServerOptions> {
        let mut options = self.server.options(&folder.pki())?;
        // kube-apiserver disables it by default, and kubeadm enables it.
        let is_disabled = options.disable_admission_plugins.iter().any(|name| name == NODE_RESTRICTION);
        options.enable_admission_plugins.extend((!is_disabled).then(|| NODE_RESTRICTION.to_owned()));
        Ok(options)
    }

    fn store(&self, folder: &StateFolder) -> StoreSpec {
        if self.ephemeral { StoreSpec::Memory } else { StoreSpec::Sled(folder.data()) }
    }

    /// The builder with what the flags add to a cluster: drivers, servers, Stages, and saved nodes.
    fn with_options(&self, mut builder: Builder, stages: Option<Vec<Stage>>, folder: &StateFolder) -> Builder {
        if self.nodes > 0 && !self.empty {
            builder = builder.csi_driver();
        }
        builder = builder.metrics_server(self.metrics_server.unwrap_or(!self.empty));
        if let Some(stages) = stages {
            builder = builder.stages(stages);
        }
        if let Some(saved) = kept_nodes(folder).filter(|_| !self.ephemeral) {
            builder = builder.saved_nodes(saved);
        }
        builder
    }

    /// The configuration of the controllers, and the files of their keys.
    fn controllers(&self) -> Result<(controllers::Config, KeyFiles)> {
        let flags = ControllerFlags::of_pairs("--kube-controller-manager-arg", &self.kube_controller_manager_arg)?;
        let mut config = flags.config()?;
        if config.leader_election.is_some() {
            let why = "--kube-controller-manager-arg: --leader-elect: refused, because the controllers run in this process alone";
            return Err(exit::Usage(why.to_owned()).into());
        }
        if !self.empty && config.service_lb_range.is_none() {
            config.service_lb_range = coracle_meta::Cidr::parse(LOAD_BALANCERS).ok();
        }
        Ok((config, flags.key_files()?))
    }

    /// The event log: with a file, if one is set, and with entries in memory for the page, if it is served.
    fn recorder(&self, header: &Header) -> Result<Recorder> {
        let kept = if self.view.is_some() { VIEWED_ENTRIES } else { KEPT_ENTRIES };
        let recorder = match (&self.events, self.view) {
            (Some(path), _) => Recorder::file(path, kept, header)?,
            (None, Some(_)) => Recorder::ring(kept),
            (None, None) => Recorder::off(),
        };
        recorder.limit_bytes(KEPT_BYTES);
        Ok(recorder)
    }
}

/// Lets the API server accept the administrator's token, in addition to the tokens of a file.
pub(super) fn accept_admin_token(options: &mut ApiServerOptions, token: &str) {
    let line = format!("{token},kubernetes-admin,,system:masters\n");
    options.tokens = Some(match options.tokens.take() {
        Some(others) => format!("{line}{others}"),
        None => line,
    });
}

/// Serves the page of the cluster; returns its link.
fn serve_page(tasks: &mut JoinSet<()>, socket: PageSocket, recorder: &Recorder, header: &Header) -> String {
    let link = socket.link();
    let page = ServedPage::of_cluster(recorder.clone(), header.clone(), recorder.last());
    tasks.spawn(socket.serve(page));
    link
}

async fn serve_metrics(
    tasks: &mut JoinSet<()>,
    address: SocketAddr,
    text: impl Fn() -> String + Send + Sync + 'static,
) -> Result<()> {
    let listener = MetricsListener::bind(address, text).await?;
    tasks.spawn(async move { match listener.serve().await {} });
    Ok(())
}

/// The saved state of the nodes; `None` if it does not exist or has another version.
fn kept_nodes(folder: &StateFolder) -> Option<SavedNodes> {
    let bytes = std::fs::read(folder.nodes()).ok()?;
    match SavedNodes::read(&bytes) {
        Ok(saved) => Some(saved),
        Err(error) => {
            note!("note: {}: {error}; pods are found as after a crash", folder.nodes().display());
            None
        }
    }
}

/// Saves the state of the nodes when the cluster stops.
fn keep_nodes(folder: &StateFolder, saved: &SavedNodes) -> Result<()> {
    let part = folder.path().join("nodes.part");
    std::fs::write(&part, saved.to_bytes())
        .and_then(|()| std::fs::rename(&part, folder.nodes()))
        .with_context(|| format!("cannot write {}", folder.nodes().display()))
}

/// The key that signs service account tokens: stored, so that tokens remain valid after a restart.
pub(crate) fn service_account_key(folder: &Path) -> Result<String> {
    kept(&folder.join("service-account.key"), || Ok(coracle_pki::new_service_account_key()?))
}

/// The administrator's token: stored, so that clients still work after a restart.
pub(super) fn admin_token(folder: &Path) -> Result<String> {
    kept(&folder.join("admin.token"), random_letters)
}

/// The secret in a file that only its owner can read; the file is created if it does not exist.
fn kept(path: &Path, make: impl FnOnce() -> Result<String>) -> Result<String> {
    if path.exists() {
        return std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()));
    }
    let secret = make()?;
    coracle_pki::write_private(path, &secret)?;
    Ok(secret)
}

/// The requested Stages; `None` if none were requested.
fn stages(names: &[String]) -> Result<Option<Vec<Stage>>> {
    if names.is_empty() {
        return Ok(None);
    }
    let files = names.iter().filter(|name| *name != "objects");
    let read = files.map(|name| read_stages(name).map_err(|refusal| exit::Usage(format!("--stages: {refusal}"))));
    Ok(Some(read.collect::<Result<Vec<_>, _>>()?.concat()))
}

/// The images that a file lists.
fn images(path: &Path) -> Result<Images> {
    let read = read_text(path).and_then(|text| yaml(path, &text));
    Ok(read.map_err(|problem| exit::Usage(format!("--images: {problem}")))?)
}

/// An invalid file in a flag is a usage error.
pub(crate) fn unreadable(error: coracle_cluster::Error) -> exit::Usage {
    exit::Usage(error.to_string())
}

/// Runs a server as a task on a runtime of its own. The tasks that it wakes while it starts run next on the same
/// thread. A future that blocks its thread would wait hundreds of times for another thread to wake up.
pub(crate) fn run_on_worker(serve: impl Future<Output = Result<u8>> + Send + 'static) -> Result<u8> {
    runtime()?.block_on(async { tokio::spawn(serve).await.context("the server panicked")? })
}

/// Runs a command with a temporary cluster in memory, which is removed afterwards with all its files. A signal before
/// the cluster is ready aborts the start.
pub(crate) fn with_a_cluster_of_its_own<F>(
    release: &ReleaseFlags,
    run: impl FnOnce(&std::path::Path, Signals) -> F,
) -> Result<u8>
where
    F: Future<Output = Result<u8>>,
{
    let runtime = runtime()?;
    // Signals are caught before the folder is created; otherwise a signal would leave it behind.
    let mut signals = runtime.block_on(async { Signals::catch() })?;
    let folder = ExecFolder::create()?;
    let mut up = Up { empty: true, metrics_server: None, ..Up::in_memory(StateArgs::at(folder.path().to_owned()), 2) };
    up.server.choose(release);
    runtime.block_on(async {
        let state = up.state.folder();
        let starting = Progress::of("starting the cluster");
        // A panic must end the tested command.
        let running = match signals.unless_one(up.start(&state, Ambient::system())).await {
            Ok(started) => started?,
            Err(code) => return Ok(code),
        };
        drop(starting);
        let front = coracle_control::faults_in_front_of(running.cluster.front_door(), &running.faults);
        let serving = tokio::spawn(running.serving.listener.serve(front, std::future::pending()));
        let code = running.cluster.unless_ended(run(&running.kubeconfig, signals)).await?;
        let _stopping = Progress::of("stopping the cluster");
        running.cluster.shutdown().await;
        serving.abort();
        code
    })
}
