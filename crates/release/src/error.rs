use crate::data::RELEASES;

/// No release has this version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no Kubernetes release {asked:?} here; the releases are {}{}", known(), near(nearest.as_deref()))]
pub struct UnknownRelease {
    /// What was asked for.
    pub asked: String,
    /// The release that is closest to it.
    pub nearest: Option<String>,
}

/// What is wrong with a list of feature gates.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GateError {
    /// An item is not `Name=true` or `Name=false`.
    #[error("{item:?} is not of the form Name=true or Name=false")]
    Form {
        /// The item.
        item: String,
    },
    /// The release has no gate of this name.
    #[error("unrecognized feature gate: {name} (Kubernetes {release}{})", near(nearest.as_deref()))]
    Unknown {
        /// The name.
        name: String,
        /// The version of the release.
        release: &'static str,
        /// The gate of the release with the most similar name.
        nearest: Option<String>,
    },
    /// The gate cannot be switched any more.
    #[error("cannot set feature gate {name} to {wanted}, feature is locked to {}", !wanted)]
    Locked {
        /// The name.
        name: String,
        /// The value that was asked for.
        wanted: bool,
    },
}

fn known() -> String {
    let versions: Vec<&str> = RELEASES.iter().map(|data| data.version).collect();
    match versions.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => String::new(),
    }
}

fn near(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| format!("; did you mean {name}?"))
}
