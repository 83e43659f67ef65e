//! The state folder: where `up` keeps what has to outlive it, and where the other commands find it.

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// The folder of one cluster: its authority, its kubeconfig, its data, and who is running it.
#[derive(Clone, Debug)]
pub(crate) struct StateFolder {
    path: PathBuf,
}

/// Held while a cluster runs in a folder; the lock goes with the process, however it ends.
#[derive(Debug)]
pub(crate) struct Claim {
    _lock: File,
    process_file: PathBuf,
    ephemeral_file: PathBuf,
}

impl StateFolder {
    /// The folder that the person named, or `.coracle` in the working directory.
    pub(crate) fn named(path: Option<&Path>) -> Self {
        Self { path: path.map_or_else(|| PathBuf::from(".coracle"), Path::to_owned) }
    }

    /// The folder itself.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Makes the folder, for nobody's eyes but its owner's.
    pub(crate) fn create(&self) -> Result<()> {
        use std::os::unix::fs::DirBuilderExt;
        for folder in [self.path.clone(), self.pki()] {
            std::fs::DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(&folder)
                .with_context(|| format!("cannot make the state folder {}", folder.display()))?;
        }
        Ok(())
    }

    /// Certificates and keys.
    pub(crate) fn pki(&self) -> PathBuf {
        self.path.join("pki")
    }

    /// The store's data.
    pub(crate) fn data(&self) -> PathBuf {
        self.path.join("data")
    }

    /// What the simulated nodes held when the cluster stopped; gone while one runs.
    pub(crate) fn nodes(&self) -> PathBuf {
        self.path.join("nodes.json")
    }

    /// The administrator's kubeconfig.
    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.path.join("kubeconfig")
    }

    /// A folder with the programs that envtest starts: this one under the names `kube-apiserver` and `etcd`, and the
    /// machine's kubectl if there is one.
    pub(crate) fn assets(&self) -> Result<PathBuf> {
        self.create()?;
        let folder = std::path::absolute(self.path.join("envtest"))?;
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let this = std::env::current_exe().context("cannot tell where this program is")?;
        let mut programs = vec![("kube-apiserver", this.clone()), ("etcd", this)];
        programs.extend(on_the_path("kubectl").map(|kubectl| ("kubectl", kubectl)));
        for (name, program) in programs {
            let link = folder.join(name);
            let _ = std::fs::remove_file(&link);
            std::os::unix::fs::symlink(program, &link).with_context(|| format!("cannot make {}", link.display()))?;
        }
        Ok(folder)
    }

    /// The number of the process that runs a cluster here, if one does.
    pub(crate) fn running(&self) -> Option<i32> {
        let lock = File::open(self.path.join("lock")).ok()?;
        if lock.try_lock_shared().is_ok() {
            return None;
        }
        std::fs::read_to_string(self.path.join("pid")).ok()?.trim().parse().ok()
    }

    /// Whether the cluster that runs here keeps its objects in memory alone.
    pub(crate) fn is_ephemeral(&self) -> bool {
        self.ephemeral().exists()
    }

    /// There while a cluster runs that keeps its objects in memory alone.
    fn ephemeral(&self) -> PathBuf {
        self.path.join("ephemeral")
    }

    /// Claims the folder for this process.
    pub(crate) fn claim(&self) -> Result<Claim> {
        let path = self.path.join("lock");
        let lock = File::create(&path).with_context(|| format!("cannot make {}", path.display()))?;
        if lock.try_lock().is_err() {
            let who = std::fs::read_to_string(self.path.join("pid")).unwrap_or_default();
            bail!(
                "the state folder {} is in use by process {}; stop it with `coracle down`, or name another with --state-dir",
                self.path.display(),
                who.trim()
            );
        }
        // A process that was killed may have left it; it must not be read with the number of this one.
        let ephemeral_file = self.ephemeral();
        let _ = std::fs::remove_file(&ephemeral_file);
        let process_file = self.path.join("pid");
        std::fs::write(&process_file, std::process::id().to_string())
            .with_context(|| format!("cannot write {}", process_file.display()))?;
        Ok(Claim { _lock: lock, process_file, ephemeral_file })
    }
}

impl Claim {
    /// Says in the folder that what this process holds is gone when it stops.
    pub(crate) fn mark_ephemeral(&self) -> Result<()> {
        let file = &self.ephemeral_file;
        std::fs::write(file, "").with_context(|| format!("cannot write {}", file.display()))
    }
}

/// Where a program is that is called by its name alone.
fn on_the_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

impl Drop for Claim {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.ephemeral_file);
        let _ = std::fs::remove_file(&self.process_file);
    }
}
