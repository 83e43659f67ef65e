use std::path::{Path, PathBuf};

use coracle_scenario::{BuiltIn, Scenario, parse};

use super::accepted::Accepted;
use super::scenario_limits::ScenarioLimits;
use super::scenario_report::ScenarioReport;
use super::scenario_search::search;
use super::scenario_trial::ScenarioSetup;
use crate::plan::Plan;
use crate::plan_document::{COMPONENT, beside};
use crate::plan_file::PlanFile;
use crate::plan_origin::PlanOrigin;
use crate::replay::replayed;
use crate::{Error, plan_file, plan_writer};

/// How many plans are tried if nothing else is said.
const PLANS: usize = 300;
/// How many runs may make one plan shorter if nothing else is said.
const SHRINKING: usize = 30;
/// How many runs without a fault there are if nothing else is said.
const FAULTLESS: u64 = 5;

/// A component of the cluster that is checked, with a scenario as its work.
///
/// The scenario runs with faults of the requests and watches of the component. What it has to do in each of these runs:
/// keep the `always` and `never` of the scenario, meet the conditions of its steps, end with the objects with which it
/// ends without a fault, and pass the checks of `docs/checks.md`.
#[derive(Clone, Debug)]
#[must_use]
pub struct ScenarioCheck {
    scenario: Scenario,
    path: PathBuf,
    component: String,
    limits: ScenarioLimits,
    plans: Option<PathBuf>,
    pages: bool,
    replayed: Vec<(String, PlanFile)>,
}

impl ScenarioCheck {
    /// Checks the controller manager with the scenario in this file.
    ///
    /// # Errors
    /// If the file is not a scenario, with its line and column.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let scenario = parse::read(path, &BuiltIn::default()).map_err(|problem| Error::Input(problem.to_string()))?;
        let jobs = std::thread::available_parallelism().map_or(1, usize::from);
        let (component, path) = (COMPONENT.to_owned(), path.to_owned());
        let limits = ScenarioLimits {
            seed: 1,
            plans: PLANS,
            jobs,
            faultless: FAULTLESS,
            first_only: false,
            shrinking: SHRINKING,
            known_only: false,
            accepted: Vec::new(),
        };
        let (plans, pages, replayed) = (None, false, Vec::new());
        Ok(Self { scenario, path, component, limits, plans, pages, replayed })
    }

    /// Replays the plan of a scenario, and no other; the report shows what has changed. `path` is its file.
    ///
    /// # Errors
    /// If it is a plan of a program, or the scenario cannot be read.
    pub fn of_plan(path: &Path, plan: PlanFile) -> Result<Self, Error> {
        let Some(scenario) = &plan.scenario else {
            return Err(Error::Input(format!("{}: it is a plan of a program, and not of a scenario", path.display())));
        };
        let check = Self::read(&beside(path, scenario))?.of(&plan.component).seed(plan.seed);
        Ok(check.replay(path, plan))
    }

    /// A plan that is replayed. Then no other plan is tried.
    fn replay(mut self, path: &Path, plan: PlanFile) -> Self {
        self.replayed.push((path.display().to_string(), plan));
        self.limits.known_only = true;
        self
    }

    /// A folder: each plan that breaks the component becomes a file, and is tried first in the next search.
    pub fn out(mut self, folder: impl Into<PathBuf>) -> Self {
        self.plans = Some(folder.into());
        self
    }

    /// Next to each file of [`out`](Self::out), a page with the runs with and without the faults.
    pub fn pages(mut self) -> Self {
        self.pages = true;
        self
    }

    /// The component: `controller-manager`, `scheduler`, `kubelet`, or a controller such as
    /// `controller-manager/replicaset`.
    pub fn of(mut self, component: &str) -> Self {
        component.clone_into(&mut self.component);
        self
    }

    /// How many plans are tried; 300 without it.
    pub fn plans(mut self, plans: usize) -> Self {
        self.limits.plans = plans;
        self
    }

    /// The seed of the runs, and of the choice of plans; 1 without it. One seed gives one report.
    pub fn seed(mut self, seed: u64) -> Self {
        self.limits.seed = seed;
        self
    }

    /// How many threads run plans; one for each processor without it.
    pub fn jobs(mut self, jobs: usize) -> Self {
        self.limits.jobs = jobs;
        self
    }

    /// How many runs without a fault there are; 5 without it. What differs between them is not compared.
    pub fn faultless(mut self, runs: u64) -> Self {
        self.limits.faultless = runs.max(1);
        self
    }

    /// Deviations that are no fault of the component.
    pub fn accepting(mut self, accepted: &[Accepted]) -> Self {
        self.limits.accepted.extend_from_slice(accepted);
        self
    }

    /// The search ends with the first plan that breaks the component.
    pub fn until_found(mut self) -> Self {
        self.limits.first_only = true;
        self
    }

    /// How many runs may make one plan shorter; 30 without it.
    pub fn shrinking(mut self, runs: usize) -> Self {
        self.limits.shrinking = runs;
        self
    }

    /// Searches through the plans.
    ///
    /// # Errors
    /// If there is no such component, or a cluster does not start.
    pub fn search(self) -> Result<ScenarioReport, Error> {
        let built_in = BuiltIn::default();
        built_in.check_component(&self.component).map_err(Error::Input)?;
        let origin = PlanOrigin {
            component: self.component.clone(),
            scenario: Some(self.path.clone()),
            work: self.scenario.hash.clone(),
            has_one_log: true,
        };
        let known = self.known_plans(&origin)?;
        let Self { scenario, path, component, limits, plans, pages, replayed: files } = self;
        let setup = ScenarioSetup { scenario, path, component, settles: true, keeps_logs: false };
        let mut report = search(setup, &limits, &built_in.kinds_by_plural(), &known)?;
        report.check.replayed = replayed(&files, &report.check.known_runs, &origin.work);
        if let Some(folder) = &plans {
            plan_writer::write_all(folder, &origin, &mut report.check.found, pages)?;
        }
        Ok(report)
    }

    /// The plans that are tried first.
    fn known_plans(&self, origin: &PlanOrigin) -> Result<Vec<Plan>, Error> {
        let mut known: Vec<Plan> = self.replayed.iter().map(|(_, file)| file.plan.clone()).collect();
        if let (false, Some(folder)) = (self.limits.known_only, &self.plans) {
            let files = plan_file::files_in(folder)?;
            known.extend(files.into_iter().filter(|file| origin.is_of(folder, file)).map(|file| file.plan));
        }
        Ok(known)
    }
}
