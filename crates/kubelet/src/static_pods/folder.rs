use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;

/// Where a node finds the manifests of its static pods; clones are the same place.
///
/// In Kubernetes: `staticPodPath`, a folder on the node's disk.
#[derive(Clone)]
pub struct ManifestFolder(Arc<dyn ManifestSource>);

/// What a [`ManifestFolder`] reads.
pub trait ManifestSource: Send + Sync {
    /// All manifests, in the order of their paths. It is asked every 20 s, and has to answer at once.
    ///
    /// # Errors
    /// What keeps it from saying which there are, as a sentence; then all stays as it was.
    fn read(&self) -> Result<Vec<Manifest>, String>;
}

/// One file, which holds one pod as YAML or JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// Where it is; another path makes another pod of the same text.
    pub path: String,
    /// Its text, or what keeps it from being read.
    pub content: Result<String, String>,
}

/// Manifests in memory, by their paths: for tests.
#[derive(Debug, Default)]
pub struct MemoryManifests(Mutex<BTreeMap<String, String>>);

impl ManifestFolder {
    /// The folder that `source` reads.
    pub fn new(source: impl ManifestSource + 'static) -> Self {
        Self(Arc::new(source))
    }

    /// The folder that `source` reads, which the caller keeps.
    pub fn shared<S: ManifestSource + 'static>(source: &Arc<S>) -> Self {
        Self(source.clone())
    }

    pub(crate) fn read(&self) -> Result<Vec<Manifest>, String> {
        self.0.read()
    }
}

impl fmt::Debug for ManifestFolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ManifestFolder")
    }
}

/// Two are equal if they are the same place.
impl PartialEq for ManifestFolder {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for ManifestFolder {}

impl MemoryManifests {
    /// Puts a manifest at a path, in the place of what was there.
    pub fn put(&self, path: &str, text: &str) {
        self.0.lock().insert(path.to_owned(), text.to_owned());
    }

    /// Takes a manifest away.
    pub fn remove(&self, path: &str) {
        self.0.lock().remove(path);
    }
}

impl ManifestSource for MemoryManifests {
    fn read(&self) -> Result<Vec<Manifest>, String> {
        let manifests = self.0.lock();
        let manifest = |(path, text): (&String, &String)| Manifest { path: path.clone(), content: Ok(text.clone()) };
        Ok(manifests.iter().map(manifest).collect())
    }
}
