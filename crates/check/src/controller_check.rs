use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use coracle_cluster::controllers::Selection;
use coracle_meta::Object;
use coracle_release::Release;
use coracle_sim::ClockMode;
use futures_util::FutureExt;

use crate::check_report::CheckReport;
use crate::limits::Limits;
use crate::pace::Pace;
use crate::plan::Plan;
use crate::plan_file::PlanFile;
use crate::plan_origin::PlanOrigin;
use crate::properties::{Holds, Properties, WrittenProperty};
use crate::rbac::{ObservedPermissions, RbacReport, Roles};
use crate::replay::replayed;
use crate::rest::MOST_CHANGES;
use crate::search::search;
use crate::search_progress::SearchProgress;
use crate::search_stop::SearchStop;
use crate::subject::{ProgramHost, Start, Subject};
use crate::trial::{Prepared, Setup, prepare};
use crate::user_work::NAMESPACE;
use crate::workload::Workload;
use crate::{Connection, Error, WorkloadUser, given, limits, plan_file, plan_writer};

/// The name of a controller without one.
const NAME: &str = "controller";
/// How many plans are tried if nothing else is said.
const PLANS: usize = 300;
/// The same for a program.
const PLANS_OF_A_PROGRAM: usize = 60;
/// How many programs run at once if nothing else is said. They wait most of the time.
const JOBS_OF_A_PROGRAM: usize = 6;

/// A controller that is checked, with what it needs.
///
/// A user creates each sample, changes it, and changes it back. Then it does so in a hurry: it replaces the sample by
/// another of the same name twice, and changes it twice. At the end it deletes the sample. Meanwhile faults strike the
/// requests and watches of the controller. The author can add a workload, and properties that have to hold.
#[must_use]
pub struct ControllerCheck {
    name: String,
    release: Release,
    subject: Subject,
    pace: Pace,
    controllers: Option<Vec<String>>,
    given: Vec<(String, String)>,
    samples: Vec<(String, String)>,
    limits: Limits,
    parts: BTreeMap<String, Start>,
    workload: Option<WrittenWorkload>,
    properties: Vec<WrittenProperty>,
    known: Vec<String>,
    replayed: Vec<(String, String)>,
    plans: Option<PathBuf>,
    pages: bool,
    only: Vec<String>,
    faults: Option<Vec<String>>,
    roles: Roles,
    stop: SearchStop,
    progress: SearchProgress,
}

/// The work of a user as the author gave it.
enum WrittenWorkload {
    Code(Workload),
    /// The name and the text of a file.
    Scenario(PathBuf, String),
}

/// Checks a controller. `run` is called for each of its starts, and drops with it when it is killed.
///
/// ```
/// use coracle::api::core_v1::ConfigMap;
/// use coracle::runtime::{Api, ListParams};
///
/// // A controller that only looks does nothing wrong.
/// coracle::check(|connection| async move {
///     let maps = Api::<ConfigMap>::of(&connection.client());
///     let _ = maps.list(&ListParams::default()).await;
///     std::future::pending().await
/// })
/// .sample("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {size: '1'}}")
/// .plans(20)
/// .run();
/// ```
pub fn check<F>(run: impl Fn(Connection) -> F + Send + Sync + 'static) -> ControllerCheck
where
    F: Future<Output = ()> + Send + 'static,
{
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let start = move |connection| run(connection).boxed();
    ControllerCheck::new(Subject::InProcess(Arc::new(start)), Pace::VIRTUAL, PLANS, jobs)
}

/// Checks a program, in real time. `host` opens a socket for each run, where the program finds the API server.
pub fn check_program(host: ProgramHost) -> ControllerCheck {
    ControllerCheck::new(Subject::Program(host), Pace::REAL, PLANS_OF_A_PROGRAM, JOBS_OF_A_PROGRAM)
}

impl std::fmt::Debug for ControllerCheck {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ControllerCheck")
            .field("name", &self.name)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

impl ControllerCheck {
    fn new(subject: Subject, pace: Pace, plans: usize, jobs: usize) -> Self {
        let limits =
            Limits { seed: 1, plans, from: 1, jobs, known_only: false, first_only: false, only: None, faults: None };
        Self {
            name: NAME.to_owned(),
            release: Release::default(),
            subject,
            pace,
            controllers: None,
            given: Vec::new(),
            samples: Vec::new(),
            limits,
            parts: BTreeMap::new(),
            workload: None,
            properties: Vec::new(),
            known: Vec::new(),
            replayed: Vec::new(),
            plans: None,
            pages: false,
            only: Vec::new(),
            faults: None,
            roles: Roles::default(),
            stop: SearchStop::default(),
            progress: SearchProgress::default(),
        }
    }

    /// The name of the controller: its component, its user, and what faults select.
    pub fn named(mut self, name: &str) -> Self {
        name.clone_into(&mut self.name);
        self
    }

    /// A CustomResourceDefinition, as YAML or JSON.
    pub fn crd(self, text: impl Into<String>) -> Self {
        self.given_text("the CRD", text)
    }

    /// Objects that exist before the controller starts, as YAML or JSON.
    pub fn given(self, text: impl Into<String>) -> Self {
        self.given_text("the given objects", text)
    }

    fn given_text(mut self, what: &str, text: impl Into<String>) -> Self {
        self.given.push((what.to_owned(), text.into()));
        self
    }

    /// The roles of the controller's manifests: it may do what they permit, and nothing else. Without roles it is an
    /// administrator.
    pub fn roles(mut self, roles: Roles) -> Self {
        self.roles = roles;
        self
    }

    /// An object that the controller acts on, as YAML or JSON. Without a workload, there is at least one.
    pub fn sample(self, text: impl Into<String>) -> Self {
        self.sample_from("the sample", text)
    }

    /// As [`given`](Self::given); messages name the text as `file`.
    pub fn given_from(self, file: &str, text: impl Into<String>) -> Self {
        self.given_text(file, text)
    }

    /// As [`sample`](Self::sample); messages name the text as `file`.
    pub fn sample_from(mut self, file: &str, text: impl Into<String>) -> Self {
        self.samples.push((file.to_owned(), text.into()));
        self
    }

    /// Another controller of this process, which runs in the same cluster under this name. Faults strike it, and the
    /// checks judge it, as they do with the first controller.
    pub fn part<F>(mut self, name: &str, run: impl Fn(Connection) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.parts.insert(name.to_owned(), Arc::new(move |connection| run(connection).boxed()));
        self
    }

    /// What the user does after its work with the samples. At the end it deletes what it has created.
    ///
    /// ```
    /// # coracle::check(|connection| async move {
    /// #     let maps = coracle::runtime::Api::<coracle::api::core_v1::ConfigMap>::of(&connection.client());
    /// #     let _ = maps.list(&coracle::runtime::ListParams::default()).await;
    /// #     std::future::pending().await
    /// # })
    /// .workload(async |user| {
    ///     user.create("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {size: '1'}}").await?;
    ///     user.settled().await?;
    ///     user.patch("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {size: '2'}}").await
    /// })
    /// .eventually("the last size is there", "configmaps.exists(m, m.metadata.name == 'a' && m.data.size == '2')")
    /// .plans(20)
    /// .run();
    /// ```
    pub fn workload<F>(mut self, work: F) -> Self
    where
        F: AsyncFn(&WorkloadUser<'_>) -> Result<(), Error> + Send + Sync + 'static,
    {
        self.workload = Some(WrittenWorkload::Code(Workload::Code(Arc::new(work))));
        self
    }

    /// As [`workload`](Self::workload), with the steps of a scenario. Its `always`, `never` and `eventually` are
    /// properties, and its `faults` are in each run. `path` is for messages and for files that the scenario names.
    pub fn workload_from(mut self, path: impl AsRef<Path>, text: impl Into<String>) -> Self {
        self.workload = Some(WrittenWorkload::Scenario(path.as_ref().to_owned(), text.into()));
        self
    }

    /// An expression (CEL) over all objects that has to be true at every revision. `sentence` names it in reports.
    pub fn always(self, sentence: &str, cel: &str) -> Self {
        self.property(Holds::Always, sentence, cel)
    }

    /// An expression (CEL) over all objects that must not be true at any revision.
    pub fn never(self, sentence: &str, cel: &str) -> Self {
        self.property(Holds::Never, sentence, cel)
    }

    /// An expression (CEL) over all objects that has to be true at rest, after all faults have ended.
    pub fn eventually(self, sentence: &str, cel: &str) -> Self {
        self.property(Holds::Eventually, sentence, cel)
    }

    fn property(mut self, holds: Holds, sentence: &str, cel: &str) -> Self {
        let (sentence, cel) = (sentence.to_owned(), cel.to_owned());
        self.properties.push(WrittenProperty { holds, sentence, cel });
        self
    }

    /// The controllers of the cluster that run, by their names in Kubernetes. Without it, the garbage collector runs if the
    /// controller creates objects with owners, and else none.
    pub fn controllers<'n>(mut self, names: impl IntoIterator<Item = &'n str>) -> Self {
        self.controllers = Some(names.into_iter().map(str::to_owned).collect());
        self
    }

    /// How many plans are tried; 300 without it.
    pub fn plans(mut self, plans: usize) -> Self {
        self.limits.plans = plans;
        self
    }

    /// The Kubernetes release of the clusters, the default one without it.
    pub fn kubernetes(mut self, release: Release) -> Self {
        self.release = release;
        self
    }

    /// The seed of the runs; 1 without it. One seed gives one report.
    pub fn seed(mut self, seed: u64) -> Self {
        self.limits.seed = seed;
        self
    }

    /// How many threads run plans; one for each processor without it. It does not change the report.
    pub fn jobs(mut self, jobs: usize) -> Self {
        self.limits.jobs = jobs;
        self
    }

    /// The number of the first plan; 1 without it. So a search that was stopped is continued.
    pub fn from(mut self, number: usize) -> Self {
        self.limits.from = number;
        self
    }

    /// The words of the checks that count, such as `leaves-behind`; all without it.
    pub fn only<'w>(mut self, checks: impl IntoIterator<Item = &'w str>) -> Self {
        self.only.extend(checks.into_iter().map(str::to_owned));
        self
    }

    /// The words of the faults that are tried, such as `kill`; all without it. With an empty list, the controller is
    /// checked without faults only.
    pub fn faults<'w>(mut self, words: impl IntoIterator<Item = &'w str>) -> Self {
        self.faults = Some(words.into_iter().map(str::to_owned).collect());
        self
    }

    /// The search ends when this is asked to.
    pub fn stopped_by(mut self, stop: &SearchStop) -> Self {
        self.stop = stop.clone();
        self
    }

    /// The search counts its runs here.
    pub fn counted_by(mut self, progress: &SearchProgress) -> Self {
        self.progress = progress.clone();
        self
    }

    /// The folder for plans that break the controller, one file each. The plans in it are tried first.
    pub fn out(mut self, folder: impl Into<PathBuf>) -> Self {
        self.plans = Some(folder.into());
        self
    }

    /// A page with both runs, with and without the faults, is written next to each of these files.
    pub fn pages(mut self) -> Self {
        self.pages = true;
        self
    }

    /// A plan that is replayed: the text of a file that a search has written. Then no other plan is tried, and the report
    /// shows what has changed. Messages name the text as `file`.
    pub fn replay(mut self, file: &str, text: impl Into<String>) -> Self {
        self.replayed.push((file.to_owned(), text.into()));
        self
    }

    /// A plan that is tried first: the text of a file that a search has written.
    pub fn plan(mut self, text: impl AsRef<str>) -> Self {
        self.known.push(text.as_ref().to_owned());
        self
    }

    /// The search ends with the first plan that fails a check.
    pub fn until_found(mut self) -> Self {
        self.limits.first_only = true;
        self
    }

    /// Searches until the first plan that fails a check.
    ///
    /// # Panics
    /// With what was found, if a check fails with or without a fault; and if the controller cannot be checked.
    pub fn run(self) {
        match self.until_found().search() {
            Ok(report) => assert!(!report.fails(), "\n{report}"),
            Err(error) => panic!("the controller cannot be checked: {error}"),
        }
    }

    /// Searches through all plans, and returns what was found and what was tried.
    ///
    /// # Errors
    /// If what was given is not valid, if the API server refuses it, or if a cluster does not start.
    pub fn search(mut self) -> Result<CheckReport, Error> {
        let (mut given, samples) = (read(&self.given)?, read(&self.samples)?);
        given.extend(self.roles.bound_to(&self.name)?);
        if samples.is_empty() && self.workload.is_none() {
            let why = "there is no sample: give an object that the controller acts on, or a workload";
            return Err(Error::Input(why.to_owned()));
        }
        let mut limits = self.limits.clone();
        limits.only = (!self.only.is_empty()).then(|| limits::checks(&self.only)).transpose()?;
        limits.faults = self.faults.as_deref().map(limits::faults).transpose()?;
        let files = self.replayed_files()?;
        let known = match files.as_slice() {
            [] => self.known_plans()?,
            files => files.iter().map(|(_, file)| file.plan.clone()).collect(),
        };
        limits.known_only = !files.is_empty();
        if limits.known_only {
            limits.plans = known.len();
        }
        let prepared = prepare(&self.release, &given, &samples)?;
        let controllers = self.controllers.as_ref().map(|names| names.join(",").parse::<Selection>());
        let controllers = controllers.transpose().map_err(|error| Error::Input(error.to_string()))?;
        let (workload, properties) = demanded(&self.name, self.workload.take(), &self.properties, &prepared)?;
        let keeps_logs = self.pages || !files.is_empty();
        let Self { name, subject, pace, stop, progress, roles, plans, pages, parts, .. } = self;
        let (permissions, has_roles) = (ObservedPermissions::default(), !roles.is_empty());
        let setup = Setup {
            name,
            subject,
            parts,
            pace,
            controllers,
            prepared,
            workload,
            properties,
            has_roles,
            permissions,
            stop,
            progress,
            keeps_logs,
            most_changes: MOST_CHANGES,
        };
        let mut report = search(&setup, &limits, known)?;
        report.replayed = replayed(&files, &report.known_runs, &setup.prepared.work);
        let namespaces = samples.iter().map(|sample| sample.namespace().to_owned());
        let namespaces = namespaces.map(|name| if name.is_empty() { NAMESPACE.to_owned() } else { name }).collect();
        let namespaced = setup.prepared.namespaced.clone();
        report.rbac = RbacReport::of(&setup.name, &setup.permissions, roles, namespaces, namespaced);
        if let Some(folder) = &plans {
            let origin = PlanOrigin {
                component: setup.name.clone(),
                scenario: None,
                work: setup.prepared.work.clone(),
                has_one_log: setup.pace.clock == ClockMode::Virtual,
            };
            plan_writer::write_all(folder, &origin, &mut report.found, pages)?;
        }
        Ok(report)
    }

    /// The plans that are tried first.
    fn known_plans(&self) -> Result<Vec<Plan>, Error> {
        let mut known = plan_file::parse_all(&self.known, &self.name)?;
        if let Some(folder) = &self.plans {
            known.extend(plan_file::read_all(folder, &self.name)?);
        }
        Ok(known)
    }

    /// The plans that are replayed.
    fn replayed_files(&self) -> Result<Vec<(String, PlanFile)>, Error> {
        let read = |(name, text): &(String, String)| {
            let bad = |why: String| Error::Input(format!("{name}: {why}"));
            let file = plan_file::parse(Path::new(name), text)?;
            let (other, own) = (&file.component, &self.name);
            if let Some(scenario) = &file.scenario {
                let scenario = scenario.display();
                return Err(bad(format!("it is a plan of the scenario {scenario}, and not of a controller")));
            }
            if other != own {
                return Err(bad(format!(
                    "it is a plan of the controller `{other}`, and this one has the name `{own}`"
                )));
            }
            Ok((name.clone(), file))
        };
        self.replayed.iter().map(read).collect()
    }
}

/// The workload and the properties of a check, once the kinds of the cluster are known.
fn demanded(
    component: &str,
    workload: Option<WrittenWorkload>,
    written: &[WrittenProperty],
    prepared: &Prepared,
) -> Result<(Option<Workload>, Properties), Error> {
    let mut properties = Properties::default();
    let plurals: Vec<String> = prepared.kinds.keys().cloned().collect();
    for property in written {
        properties.add(property, &plurals)?;
    }
    let workload = match workload {
        None => None,
        Some(WrittenWorkload::Code(code)) => Some(code),
        Some(WrittenWorkload::Scenario(path, text)) => {
            let read = coracle_scenario::Workload::parse(&path, &text, component, prepared.served.clone());
            let scenario = read.map_err(|problem| Error::Input(problem.to_string()))?;
            properties.throughout.extend(scenario.throughout());
            properties.at_rest.extend(scenario.at_rest());
            Some(Workload::Scenario(Arc::new(scenario)))
        }
    };
    Ok((workload, properties))
}

/// The objects of texts, each with its name.
fn read(texts: &[(String, String)]) -> Result<Vec<Object>, Error> {
    let objects: Result<Vec<_>, _> = texts.iter().map(|(what, text)| given::objects(what, text)).collect();
    Ok(objects?.into_iter().flatten().collect())
}
