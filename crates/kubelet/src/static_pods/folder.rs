use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;

/// The source of a node's static pod manifests; clones share the same source.
///
/// In Kubernetes: `staticPodPath`, a folder on the node's disk.
#[derive(Clone)]
pub struct ManifestFolder(Arc<dyn ManifestSource>);

/// The source of manifests that a [`ManifestFolder`] reads.
pub trait ManifestSource: Send + Sync {
    /// All manifests, in the order of their paths. The node calls it every 20 s, and it must return immediately.
    ///
    /// # Errors
    /// Why the manifests cannot be listed, as a sentence; the node then keeps its pods.
    fn read(&self) -> Result<Vec<Manifest>, String>;
}

/// One file, which holds one pod as YAML or JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// The path. The same text at another path is another pod.
    pub path: String,
    /// Its text, or why it cannot be read.
    pub content: Result<String, String>,
}

/// Manifests in memory, by their paths, for tests.
#[derive(Debug, Default)]
pub struct MemoryManifests(Mutex<BTreeMap<String, String>>);

impl ManifestFolder {
    /// A folder that `source` reads.
    pub fn new(source: impl ManifestSource + 'static) -> Self {
        Self(Arc::new(source))
    }

    /// A folder that `source` reads, while the caller keeps the source.
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

/// Two folders are equal if they share the same source.
impl PartialEq for ManifestFolder {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for ManifestFolder {}

impl MemoryManifests {
    /// Adds or replaces the manifest at a path.
    pub fn put(&self, path: &str, text: &str) {
        self.0.lock().insert(path.to_owned(), text.to_owned());
    }

    /// Removes a manifest.
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
