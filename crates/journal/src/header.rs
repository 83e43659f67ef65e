use serde::{Deserialize, Serialize};

/// The version of the format of events files. Another version means that a reader of this one would misread the file.
/// New stages and new fields do not change it, because readers ignore what they do not know.
pub const SCHEMA: u32 = 1;

/// The first line of an events file: what was run, and how to run it again.
///
/// ```
/// use coracle_journal::{Header, SCHEMA};
///
/// let header = Header::new("2026-01-01T00:00:00Z").of_scenario("web", "sha256:00").run("virtual", 7);
/// assert_eq!((header.schema, header.seed), (SCHEMA, Some(7)));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The program that wrote the log: always `coracle`.
    pub log: Mark,
    /// The version of the format: [`SCHEMA`].
    pub schema: u32,
    /// The version of the program that wrote it.
    pub version: String,
    /// The time at which the log begins, on the cluster's clock, in RFC 3339.
    pub start: String,
    /// The mode of the clock: `virtual`, `real` or `scaled=N`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// The Kubernetes release of the cluster, such as `1.36`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kubernetes: Option<String>,
    /// The seed of all randomness.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// The scenario's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scenario: Option<String>,
    /// The hash of the scenario file's text: `sha256:` and 64 hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// The disturbance of the controllers, in the format of `coracle run --disturb`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disturb: Option<String>,
    /// The step that was inserted into the run: the event before it, and the hash of its file: `#412 sha256:…`. `
    /// fork@41` is added if a new cluster continued from a fork of the store at that revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<String>,
}

/// Identifies an events file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mark {
    /// `coracle`.
    #[default]
    #[serde(rename = "coracle")]
    Coracle,
}

impl Header {
    /// The header of a log of this program that begins at this time.
    pub fn new(start: impl Into<String>) -> Self {
        Self {
            log: Mark::Coracle,
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            start: start.into(),
            mode: None,
            kubernetes: None,
            seed: None,
            scenario: None,
            hash: None,
            disturb: None,
            change: None,
        }
    }

    /// Sets the scenario and the hash of its file.
    #[must_use]
    pub fn of_scenario(mut self, name: &str, hash: &str) -> Self {
        (self.scenario, self.hash) = (Some(name.to_owned()), Some(hash.to_owned()));
        self
    }

    /// Sets the mode and the seed of the run.
    #[must_use]
    pub fn run(mut self, mode: impl Into<String>, seed: u64) -> Self {
        (self.mode, self.seed) = (Some(mode.into()), Some(seed));
        self
    }
}
