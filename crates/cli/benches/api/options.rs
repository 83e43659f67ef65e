use std::path::PathBuf;
use std::time::Duration;

/// What is measured, and against which server.
#[derive(Debug, Default)]
pub(crate) struct Options {
    quick: bool,
    only: Vec<String>,
    /// A server that runs already.
    pub(crate) running: Option<Running>,
}

/// A server that somebody else started.
#[derive(Clone, Debug, Default)]
pub(crate) struct Running {
    /// `https://127.0.0.1:6443`
    pub(crate) url: String,
    /// The certificate of its authority.
    pub(crate) ca: PathBuf,
    /// The token of a user who may do everything.
    pub(crate) token: String,
    /// The processes whose CPU time and memory count.
    pub(crate) pids: Vec<u32>,
}

impl Options {
    pub(crate) fn from_arguments(mut arguments: impl Iterator<Item = String>) -> Self {
        let mut options = Self::default();
        let mut running = Running::default();
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().unwrap_or_else(|| panic!("{argument} wants a value"));
            match argument.as_str() {
                "--quick" => options.quick = true,
                "--only" => options.only = value().split(',').map(str::to_owned).collect(),
                "--url" => running.url = value(),
                "--ca" => running.ca = value().into(),
                "--token" => running.token = value(),
                "--pids" => running.pids = value().split(',').filter_map(|pid| pid.parse().ok()).collect(),
                "--bench" => {}
                other => panic!("unknown argument {other}"),
            }
        }
        options.running = (!running.url.is_empty()).then_some(running);
        options
    }

    pub(crate) fn wants(&self, part: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == part)
    }

    /// How long one row of the table is measured.
    pub(crate) fn round(&self) -> Duration {
        Duration::from_millis(if self.quick { 500 } else { 3000 })
    }

    /// The numbers of pods at which lists and memory are measured.
    pub(crate) fn populations(&self) -> &'static [usize] {
        if self.quick { &[10_000] } else { &[10_000, 100_000] }
    }

    /// How many watchers of one kind there are, and how many that each select one node's pods.
    pub(crate) fn watchers(&self) -> (usize, usize) {
        if self.quick { (1_000, 1_000) } else { (1_000, 5_000) }
    }
}
