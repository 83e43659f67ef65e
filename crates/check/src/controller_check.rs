use std::path::PathBuf;
use std::sync::Arc;

use coracle_cluster::controllers::Selection;
use coracle_meta::Object;
use futures_util::FutureExt;

use crate::check_report::CheckReport;
use crate::pace::Pace;
use crate::search::{Limits, search};
use crate::subject::{ProgramHost, Subject};
use crate::trial::{Setup, prepare};
use crate::{Connection, Error, given, plan_file};

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
/// another of the same name twice, and changes it twice. At the end it deletes the sample. Meanwhile faults strike the requests and watches of the controller.
#[must_use]
pub struct ControllerCheck {
    name: String,
    subject: Subject,
    pace: Pace,
    controllers: Option<Vec<String>>,
    given: Vec<(String, String)>,
    samples: Vec<(String, String)>,
    limits: Limits,
    known: Vec<String>,
    plans: Option<PathBuf>,
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
        let limits = Limits { seed: 1, plans, jobs, first_only: false };
        let (given, samples) = (Vec::new(), Vec::new());
        let name = NAME.to_owned();
        Self { name, subject, pace, controllers: None, given, samples, limits, known: Vec::new(), plans: None }
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

    /// An object that the controller acts on, as YAML or JSON. There is at least one.
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

    /// The folder for plans that break the controller, one file each. The plans in it are tried first.
    pub fn keep_plans(mut self, folder: impl Into<PathBuf>) -> Self {
        self.plans = Some(folder.into());
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
    pub fn search(self) -> Result<CheckReport, Error> {
        let read = |texts: &[(String, String)]| -> Result<Vec<Object>, Error> {
            let objects: Result<Vec<_>, _> = texts.iter().map(|(what, text)| given::objects(what, text)).collect();
            Ok(objects?.into_iter().flatten().collect())
        };
        let (given, samples) = (read(&self.given)?, read(&self.samples)?);
        if samples.is_empty() {
            return Err(Error::Input("there is no sample: give an object that the controller acts on".to_owned()));
        }
        let mut known = plan_file::parse_all(&self.known, &self.name)?;
        if let Some(folder) = &self.plans {
            known.extend(plan_file::read_all(folder, &self.name)?);
        }
        let prepared = prepare(&given, &samples)?;
        let controllers = self.controllers.map(|names| names.join(",").parse::<Selection>());
        let controllers = controllers.transpose().map_err(|error| Error::Input(error.to_string()))?;
        let setup = Setup { name: self.name, subject: self.subject, pace: self.pace, controllers, prepared };
        let report = search(&setup, &self.limits, known)?;
        if let Some(folder) = &self.plans {
            for found in &report.found {
                plan_file::write(folder, &setup, found)?;
            }
        }
        Ok(report)
    }
}
