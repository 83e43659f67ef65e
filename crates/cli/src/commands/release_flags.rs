use anyhow::Result;
use clap::Args;
use coracle_release::Release;

use crate::exit;
use crate::output::note;

/// The environment variable that chooses the release where `--kubernetes` is not given, for programs that start
/// Coracle as kube-apiserver.
const VARIABLE: &str = "CORACLE_KUBERNETES";

/// The release of Kubernetes, and its feature gates.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ReleaseFlags {
    /// The release of Kubernetes, such as 1.36; `coracle versions` lists them [default: the newest, or
    /// CORACLE_KUBERNETES]
    #[arg(long, value_name = "VERSION", value_parser = Release::named)]
    kubernetes: Option<Release>,
    /// Feature gates of the release, as NAME=BOOL; a note names those that have no effect here
    #[arg(long, value_name = "NAME=BOOL,...")]
    feature_gates: Vec<String>,
}

impl ReleaseFlags {
    /// The flags that choose a release; `None` for the default.
    pub(crate) fn of(kubernetes: Option<Release>) -> Self {
        Self { kubernetes, feature_gates: Vec::new() }
    }

    /// Whether a flag chooses a release or a gate.
    pub(crate) fn is_given(&self) -> bool {
        self.kubernetes.is_some() || !self.feature_gates.is_empty()
    }

    /// The chosen release with its switched gates.
    ///
    /// # Errors
    /// If the variable names no release, or if the release does not have a gate.
    pub(crate) fn release(&self) -> Result<Release> {
        let release = match (&self.kubernetes, std::env::var(VARIABLE)) {
            (Some(release), _) => release.clone(),
            (None, Ok(version)) if !version.is_empty() => {
                Release::named(&version).map_err(|error| exit::Usage(format!("{VARIABLE}: {error}")))?
            }
            (None, _) => Release::default(),
        };
        let list = self.feature_gates.join(",");
        Ok(release.with_gates(&list).map_err(|error| exit::Usage(format!("--feature-gates: {error}")))?)
    }

    /// The same; prints a note about the gates that have no effect.
    pub(crate) fn noted(&self) -> Result<Release> {
        let release = self.release()?;
        let idle: Vec<&str> = release.switched().filter(|gate| !Release::has_effect(gate)).collect();
        if !idle.is_empty() {
            note!("note: --feature-gates: no effect in Coracle: {}", idle.join(", "));
        }
        Ok(release)
    }
}
