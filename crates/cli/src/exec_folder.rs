//! The temporary folder of a cluster for one program: it contains keys and tokens, so it is removed with the program.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rustix::process::{Pid, test_kill_process};

use crate::random::random_letters;
use crate::state::{StateFolder, is_own};

/// The prefix of the folders' names; the process id and random letters follow.
const PREFIX: &str = "coracle-exec-";

/// Removed when the value is dropped.
#[derive(Debug)]
pub(crate) struct ExecFolder(PathBuf);

impl ExecFolder {
    /// Creates a new temporary folder, and removes those that killed processes have left.
    ///
    /// # Errors
    /// The error of the file system.
    pub(crate) fn create() -> Result<Self> {
        let parent = std::env::temp_dir();
        sweep(&parent);
        let path = parent.join(format!("{PREFIX}{}-{}", std::process::id(), &random_letters()?[..16]));
        let mut folder = fs::DirBuilder::new();
        std::os::unix::fs::DirBuilderExt::mode(&mut folder, 0o700);
        folder.create(&path).with_context(|| format!("cannot make the folder {}", path.display()))?;
        Ok(Self(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for ExecFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Removes the folders of processes that have ended without doing so.
fn sweep(parent: &Path) {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let left = entries.map(|entry| entry.path()).filter(|folder| is_left(folder));
    left.for_each(|folder| drop(fs::remove_dir_all(folder)));
}

/// Whether a folder is one of ours whose process has ended. Once the folder is claimed, only the lock decides:
/// another process may have the process id by now, and a process in another container has an id that is not valid
/// here.
fn is_left(folder: &Path) -> bool {
    let name = folder.file_name().and_then(|name| name.to_str());
    let Some((process, _)) = name.and_then(|name| name.strip_prefix(PREFIX)?.split_once('-')) else { return false };
    if !is_own(folder) || StateFolder::named(Some(folder)).is_locked() {
        return false;
    }
    let process = process.parse().ok().and_then(Pid::from_raw);
    let is_there = || process.is_some_and(|process| test_kill_process(process) != Err(rustix::io::Errno::SRCH));
    folder.join("pid").exists() || !is_there()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A number that no process has: they end at 4,194,304.
    const NOT_THERE: u32 = 4_999_999;

    #[test]
    fn only_folders_of_ended_processes_are_removed() {
        let parent = tempfile::tempdir().unwrap();
        let make = |name: String| {
            let folder = parent.path().join(name);
            StateFolder::named(Some(&folder)).create().unwrap();
            folder
        };
        let own = std::process::id();
        let unclaimed = make(format!("{PREFIX}{NOT_THERE}-a"));
        let being_made = make(format!("{PREFIX}{own}-b"));
        let (held, left) = (make(format!("{PREFIX}{NOT_THERE}-c")), make(format!("{PREFIX}{own}-d")));
        let other = make(format!("coracle-{NOT_THERE}"));
        let _claim = StateFolder::named(Some(&held)).claim().unwrap();
        drop(StateFolder::named(Some(&left)).claim().unwrap());
        // A process that was killed does not remove what says its number.
        fs::write(left.join("pid"), own.to_string()).unwrap();
        sweep(parent.path());
        let is_there = [&unclaimed, &being_made, &held, &left, &other].map(|folder| folder.exists());
        assert_eq!(is_there, [false, true, true, false, true]);
    }
}
