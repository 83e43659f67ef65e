use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// How many files a container has at most.
const MOST_FILES: usize = 50_000;
/// The largest size of their paths and of the texts that exist only for this container, in bytes.
const MOST_BYTES: usize = 16 << 20;

/// The files and folders that a container sees.
#[derive(Default)]
pub(crate) struct MountedFiles {
    /// By their full paths. Containers share the texts.
    pub(crate) files: BTreeMap<String, Arc<str>>,
    /// The mount points of volumes, empty ones included.
    pub(crate) folders: BTreeSet<String>,
    count: usize,
    bytes: usize,
}

impl MountedFiles {
    /// Adds a file, unless there are too many.
    pub(crate) fn add(&mut self, path: String, text: &Arc<str>) {
        if self.takes(path.len()) {
            self.files.insert(path, Arc::clone(text));
        }
    }

    /// Counts a file with bytes of its own; returns whether it may be kept.
    pub(crate) fn takes(&mut self, bytes: usize) -> bool {
        self.count += 1;
        self.bytes += bytes;
        !self.are_too_many()
    }

    /// Whether there are more than a container can have.
    pub(crate) fn are_too_many(&self) -> bool {
        self.count > MOST_FILES || self.bytes > MOST_BYTES
    }
}
