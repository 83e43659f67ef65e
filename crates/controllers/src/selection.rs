use std::str::FromStr;

use crate::names::{self, Name};

/// Which controllers run. In Kubernetes: `--controllers`.
///
/// ```
/// use coracle_controllers::Selection;
///
/// assert!("*,-podgc".parse::<Selection>().is_ok());
/// assert!("gardener".parse::<Selection>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection(Vec<Entry>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Entry {
    /// `*`: each controller that no other entry names.
    All,
    On(Name),
    Off(Name),
}

/// Names in a [`Selection`] that cannot be followed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SelectionError {
    /// kube-controller-manager has no controller of this name.
    #[error("{name:?} is not in the list of known controllers: {}", built())]
    Unknown {
        /// The unknown name.
        name: String,
    },
    /// The controller exists in Kubernetes, but not here.
    #[error("the controller {name} is not supported; the supported controllers are: {}", built())]
    NotSupported {
        /// The requested name.
        name: String,
    },
}

/// The names of the controllers that exist here.
fn built() -> String {
    names::names().collect::<Vec<_>>().join(", ")
}

/// All controllers.
impl Default for Selection {
    fn default() -> Self {
        Self(vec![Entry::All])
    }
}

/// Names or former names of controllers, separated by commas; `*` for all, `-NAME` for all but this one.
impl FromStr for Selection {
    type Err = SelectionError;

    fn from_str(text: &str) -> Result<Self, SelectionError> {
        text.split(',').map(|word| entry(word.trim())).collect::<Result<_, _>>().map(Self)
    }
}

fn entry(word: &str) -> Result<Entry, SelectionError> {
    if word == "*" {
        return Ok(Entry::All);
    }
    let off = word.strip_prefix('-');
    let name = off.unwrap_or(word);
    let Some(found) = names::find(name) else { return Err(SelectionError::Unknown { name: name.to_owned() }) };
    // A controller that does not exist here may be switched off.
    match off {
        Some(_) => Ok(Entry::Off(found)),
        None if found.is_built => Ok(Entry::On(found)),
        None => Err(SelectionError::NotSupported { name: name.to_owned() }),
    }
}

impl Selection {
    /// Whether the controller of this name runs. The first entry that names it decides; without one, `*` does.
    pub fn runs(&self, name: &str) -> bool {
        let named = self.0.iter().find_map(|entry| match entry {
            Entry::On(on) => (on.name == name).then_some(true),
            Entry::Off(off) => (off.name == name).then_some(false),
            Entry::All => None,
        });
        named.unwrap_or_else(|| self.0.contains(&Entry::All))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selection(text: &str) -> Selection {
        text.parse().unwrap()
    }

    #[test]
    fn controllers_are_selected_by_name_by_former_name_and_by_star() {
        let (podgc, jobs) = ("pod-garbage-collector-controller", "job-controller");
        assert!(Selection::default().runs(jobs));
        assert!(selection(jobs).runs(jobs) && !selection(jobs).runs(podgc));
        assert!(selection("*, -job").runs(podgc) && !selection("*,-job").runs(jobs));
        assert!(selection("podgc").runs(podgc) && !selection("*,-podgc").runs(podgc));
        assert!(!selection("-job,job,*").runs(jobs), "the first entry decides");
    }

    #[test]
    fn unknown_controllers_are_refused_and_missing_ones_may_be_switched_off() {
        let unknown = "*,gardener".parse::<Selection>().unwrap_err().to_string();
        assert!(unknown.starts_with("\"gardener\" is not in the list") && unknown.contains("replicaset-controller"));
        let missing = "tokencleaner".parse::<Selection>();
        assert_eq!(missing, Err(SelectionError::NotSupported { name: "tokencleaner".to_owned() }));
        assert!(!selection("*,-tokencleaner").runs("token-cleaner-controller"));
        assert!("".parse::<Selection>().is_err());
    }
}
