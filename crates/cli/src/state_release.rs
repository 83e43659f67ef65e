//! The Kubernetes release of a state folder, which a cluster can follow by one release, and not go back.

use anyhow::{Context, Result};
use coracle_pki::write_private;
use coracle_release::Release;

use crate::exit::Usage;
use crate::output::note;
use crate::state::StateFolder;

/// Compares the release of a cluster that starts with that of the state in the folder, and records it. State that names no
/// release, because it was restored from a snapshot, can be used by any.
///
/// # Errors
/// If the state is of a newer release, or of one that is more than one release older.
pub(crate) fn settle(folder: &StateFolder, release: &Release) -> Result<()> {
    let file = folder.path().join("kubernetes");
    let before = match std::fs::read_to_string(&file) {
        Ok(version) => {
            let known = Release::named(version.trim());
            Some(known.map_err(|error| Usage(format!("the state in {}: {error}", folder.path().display())))?)
        }
        Err(_) => None,
    };
    if let Some(before) = before.filter(|before| before.version() != release.version()) {
        let why = |why| Usage(format!("the state in {} {why}{}", folder.path().display(), folder.flag()));
        upgrade(&before, release).map_err(why)?;
        note!("note: the state is of Kubernetes {before}, and is upgraded to {release}");
    }
    write_private(&file, &format!("{release}\n")).with_context(|| format!("cannot write {}", file.display()))
}

/// Whether the state of one release can be used by another. In Kubernetes: the version skew policy.
fn upgrade(before: &Release, now: &Release) -> Result<(), String> {
    if now.place() < before.place() {
        return Err(format!(
            "is of Kubernetes {before}, and a cluster does not go back to {now}: use another folder, or  coracle up --kubernetes {before}"
        ));
    }
    match now.previous() {
        Some(previous) if previous.place() > before.place() => Err(format!(
            "is of Kubernetes {before}, and a cluster is upgraded by one release at a time; first  coracle up --kubernetes {}",
            Release::all().nth(before.place() + 1).unwrap_or(previous)
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_follows_by_one_release_and_does_not_go_back() {
        let named = |version| Release::named(version).unwrap();
        let to = |before, now| upgrade(&named(before), &named(now));
        assert_eq!([to("1.35", "1.36"), to("1.36", "1.37")], [Ok(()), Ok(())]);
        assert!(to("1.37", "1.36").unwrap_err().contains("does not go back to 1.36"));
        assert!(to("1.35", "1.37").unwrap_err().ends_with("first  coracle up --kubernetes 1.36"));
    }

    #[test]
    fn a_folder_remembers_its_release() {
        let root = tempfile::tempdir().unwrap();
        let folder = StateFolder::named(Some(root.path()));
        settle(&folder, &Release::named("1.36").unwrap()).unwrap();
        assert!(
            settle(&folder, &Release::named("1.35").unwrap())
                .unwrap_err()
                .to_string()
                .contains("is of Kubernetes 1.36")
        );
        settle(&folder, &Release::named("1.37").unwrap()).unwrap();
        assert_eq!(std::fs::read_to_string(root.path().join("kubernetes")).unwrap(), "1.37\n");
    }
}
