//! `coracle check`: the faults that break a program.

use std::path::PathBuf;
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use coracle_check::{ControllerCheck, Roles, SearchProgress, SearchStop, check_program};
use coracle_release::Release;
use futures_util::FutureExt;

use crate::commands::budget::Budget;
use crate::commands::check_files::{ROLES, SAMPLES, definitions, folder, or_else, texts, unreadable};
use crate::commands::check_output::{CheckOutput, ReportFormat, SearchEnd};
use crate::commands::checked_program::{CheckedProgram, Network};
use crate::exit;
use crate::output::out;
use crate::progress::Progress;

/// The name of a controller, if no other is given, and its first seed.
pub(super) const NAME: &str = "controller";
pub(super) const SEED: u64 = 1;
/// The word of `--faults` for a check without faults.
const NO_FAULTS: &str = "none";
/// How often the end of a search is looked for.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Finds the faults that break a controller: a program in any language that uses KUBECONFIG.
#[derive(Debug, Args)]
pub(crate) struct CheckCommand {
    /// CustomResourceDefinitions: files, or folders with YAML files [default: config/crd/bases, or else charts/*/crds]
    #[arg(long, value_name = "PATH")]
    crd: Vec<PathBuf>,
    /// Objects that the controller acts on: files, or folders with YAML files [default: config/samples]
    #[arg(long, value_name = "PATH")]
    sample: Vec<PathBuf>,
    /// Objects that exist before the controller starts: files, or folders with YAML files
    #[arg(long, value_name = "PATH")]
    given: Vec<PathBuf>,
    /// The roles of the controller, and their bindings: files, or folders with YAML files; it may do what they permit, and
    /// nothing else [default: config/rbac; without roles it is an administrator]
    #[arg(long, value_name = "PATH")]
    role: Vec<PathBuf>,
    /// The controller is an administrator, although its manifests have roles
    #[arg(long, conflicts_with = "role")]
    admin: bool,
    /// A scenario with what a user does, and with `always`, `never`, `eventually` and `faults`. The samples of
    /// config/samples are not used then
    #[arg(long, value_name = "FILE")]
    workload: Option<PathBuf>,
    /// The name of the controller, which is its user [default: controller]
    #[arg(long, default_value = NAME, hide_default_value = true)]
    name: String,
    /// The faults that are tried, by their words; `none` only runs the checks without a fault [default: all]
    #[arg(long, value_name = "FAULT", value_delimiter = ',', num_args = 1)]
    faults: Vec<String>,
    /// The checks that count, by their words [default: all]
    #[arg(long, value_name = "CHECK", value_delimiter = ',', num_args = 1)]
    only: Vec<String>,
    /// When the search ends: after a number of plans, or after a time such as 90s
    #[arg(long, value_name = "PLANS|TIME", default_value = "60")]
    budget: Budget,
    /// The Kubernetes release of the clusters, such as 1.36; several are checked one after the other
    #[arg(long, value_name = "VERSION,...", value_delimiter = ',', num_args = 1, value_parser = Release::named, env = "CORACLE_KUBERNETES")]
    kubernetes: Vec<Release>,
    /// The number of the first plan, to continue a search that has ended
    #[arg(long, value_name = "PLAN", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    from: u64,
    /// How many clusters run at once
    #[arg(long, default_value_t = 6)]
    jobs: usize,
    /// The seed of names and uids
    #[arg(long, default_value_t = SEED)]
    seed: u64,
    /// A folder for what is found: for each finding a plan, and a page with the runs with and without its faults; the
    /// plans in the folder are tried first
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Replay the plan in this file, and no other; the report shows what has changed (may be repeated)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["faults", "from", "budget"])]
    plan: Vec<PathBuf>,
    /// Print the smallest Role that the controller needs, and what its manifests grant beyond it; the report goes to the
    /// standard error
    #[arg(long, conflicts_with = "format")]
    rbac: bool,
    /// The format of the report
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    format: ReportFormat,
    /// The program uses the network of this machine, and shares its ports with other runs
    #[arg(long)]
    host_network: bool,
    /// The program and its arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    command: Vec<String>,
}

impl CheckCommand {
    pub(crate) fn run(self) -> Result<u8> {
        if self.kubernetes.len() > 1 && (self.out.is_some() || self.rbac || self.format != ReportFormat::Text) {
            let why =
                "--kubernetes with several releases takes neither --out nor --rbac, and prints the report as text";
            return Err(exit::Usage(why.to_owned()).into());
        }
        if self.kubernetes.is_empty() {
            return self.run_in(&Release::default());
        }
        let mut worst = exit::PASS;
        for release in &self.kubernetes {
            if self.kubernetes.len() > 1 {
                out!("Kubernetes {release}")?;
            }
            worst = worst.max(self.run_in(release)?);
        }
        Ok(worst)
    }

    fn run_in(&self, release: &Release) -> Result<u8> {
        let (stop, budget) = (SearchStop::default(), self.budget.time());
        let roles = self.roles()?;
        let network = if self.host_network { Network::Host } else { Network::Own };
        let program = CheckedProgram::new(self.command.clone(), &self.name, roles.is_empty(), network)?;
        let done = SearchProgress::default();
        let check = self
            .of(check_program(program.host()))?
            .kubernetes(release.clone())
            .roles(roles)
            .stopped_by(&stop)
            .counted_by(&done);
        crate::open_files::raise_limit();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        #[expect(clippy::disallowed_methods, reason = "the search blocks its thread, and this one waits for signals")]
        let searching = std::thread::spawn(move || check.search());
        let progress = Progress::changing(move || match done.runs() {
            0 => "checking".to_owned(),
            1 => "checking: 1 run".to_owned(),
            runs => format!("checking: {runs} runs"),
        });
        let end = runtime.block_on(awaited(&searching, budget))?;
        // A search that has ended does not look at it.
        stop.ask();
        let searched = searching.join();
        program.kill();
        drop(progress);
        let output = CheckOutput { format: self.format, shows_roles: self.rbac, end, program: &program };
        match searched {
            Ok(Ok(report)) => output.show(&report),
            Ok(Err(error)) => output.explain(error),
            Err(_) => anyhow::bail!("the search panicked"),
        }
    }

    /// The roles of the manifests, if the program is no administrator.
    fn roles(&self) -> Result<Roles> {
        if self.admin {
            return Ok(Roles::default());
        }
        let files = texts("--role", &or_else(&self.role, || folder(ROLES)))?;
        let roles = Roles::of(&files).map_err(|error| exit::Usage(error.to_string()))?;
        if roles.is_empty() && !self.role.is_empty() {
            return Err(exit::Usage("--role: there is no role of a controller in these files".to_owned()).into());
        }
        Ok(roles)
    }

    /// The samples without a flag. A workload takes their place.
    fn usual_samples(&self) -> Vec<PathBuf> {
        if self.workload.is_some() { Vec::new() } else { folder(SAMPLES) }
    }

    /// The check with what the flags give.
    fn of(&self, mut check: ControllerCheck) -> Result<ControllerCheck> {
        let definitions = texts("--crd", &or_else(&self.crd, definitions))?;
        for (file, text) in definitions.into_iter().chain(texts("--given", &self.given)?) {
            check = check.given_from(&file, text);
        }
        let samples = texts("--sample", &or_else(&self.sample, || self.usual_samples()))?;
        if let Some(path) = &self.workload {
            let text = std::fs::read_to_string(path).map_err(|error| unreadable("--workload", path, &error))?;
            check = check.workload_from(path, text);
        } else if samples.is_empty() {
            let why = format!(
                "there is no sample: name an object that the controller acts on with --sample, put it into {SAMPLES}, or \
                 describe what a user does with --workload"
            );
            return Err(exit::Usage(why).into());
        }
        for (file, text) in samples {
            check = check.sample_from(&file, text);
        }
        for file in &self.plan {
            let text = std::fs::read_to_string(file).map_err(|error| unreadable("--plan", file, &error))?;
            check = check.replay(&file.display().to_string(), text);
        }
        if let Some(folder) = &self.out {
            check = check.out(folder).pages();
        }
        if !self.faults.is_empty() {
            let none = |word: &&str| *word != NO_FAULTS;
            check = check.faults(self.faults.iter().map(String::as_str).filter(none));
        }
        check = check.only(self.only.iter().map(String::as_str)).plans(self.budget.plans());
        let from = usize::try_from(self.from).unwrap_or(usize::MAX);
        Ok(check.named(&self.name).from(from).jobs(self.jobs).seed(self.seed))
    }
}

/// Waits for the end of a search, and for what ends it before.
async fn awaited<R>(searching: &JoinHandle<R>, budget: Option<Duration>) -> Result<SearchEnd> {
    let mut signals = crate::handed_on::Signals::catch()?;
    let done = async {
        while !searching.is_finished() {
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    };
    let within = async {
        match budget {
            Some(budget) => tokio::time::timeout(budget, done).await.is_ok(),
            None => done.map(|()| true).await,
        }
    };
    Ok(match signals.unless_one(within).await {
        Ok(true) => SearchEnd::Done,
        Ok(false) => SearchEnd::OutOfTime,
        Err(code) => SearchEnd::Interrupted(code),
    })
}
