use serde::{Deserialize, Serialize};

/// The number of the form of events files. Another number means that a reader of this one would misunderstand; new stages and
/// new words do not change it, because readers pass over what they do not know.
pub const SCHEMA: u32 = 1;

/// What an events file says of itself in its first line: what was run, and how to run it again.
///
/// ```
/// use coracle_journal::{Header, SCHEMA};
///
/// let header = Header::new("2026-01-01T00:00:00Z").of_scenario("web", "sha256:00").run("virtual", 7);
/// assert_eq!((header.schema, header.seed), (SCHEMA, Some(7)));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Whose log it is: always `coracle`.
    pub log: Mark,
    /// The form of what follows: [`SCHEMA`].
    pub schema: u32,
    /// The version of the program that wrote it.
    pub version: String,
    /// The time of day at which the log begins, on the cluster's clock, as in RFC 3339.
    pub start: String,
    /// How the clock ran: `virtual`, `real` or `scaled=N`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// The seed of all randomness.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// The scenario's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scenario: Option<String>,
    /// The scenario file's own text, hashed: `sha256:` and 64 hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// What happened to the controllers meanwhile, as `coracle run --disturb` takes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disturb: Option<String>,
    /// The step that was put into the run: after which event, and its file's own text, hashed: `#412 sha256:…`, and ` fork@41` where a new
    /// cluster went on from a fork of the store at that revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<String>,
}

/// The word by which an events file is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mark {
    /// `coracle`.
    #[default]
    #[serde(rename = "coracle")]
    Coracle,
}

impl Header {
    /// A log of this program that begins at this time of day.
    pub fn new(start: impl Into<String>) -> Self {
        Self {
            log: Mark::Coracle,
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            start: start.into(),
            mode: None,
            seed: None,
            scenario: None,
            hash: None,
            disturb: None,
            change: None,
        }
    }

    /// Of this scenario, whose file has this hash.
    #[must_use]
    pub fn of_scenario(mut self, name: &str, hash: &str) -> Self {
        (self.scenario, self.hash) = (Some(name.to_owned()), Some(hash.to_owned()));
        self
    }

    /// Run in this mode with this seed.
    #[must_use]
    pub fn run(mut self, mode: impl Into<String>, seed: u64) -> Self {
        (self.mode, self.seed) = (Some(mode.into()), Some(seed));
        self
    }
}
