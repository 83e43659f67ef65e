//! The state folder: the persistent files of `up`, which other commands use.

use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use coracle_store::disk::private_folder;

use crate::exit::Usage;
use crate::shell::quoted;

/// The default name of the folder.
const NAME: &str = ".coracle";
/// How often, and with which pause, a lock is tried.
const LOCK_TRIES: u32 = 5;
const LOCK_PAUSE: Duration = Duration::from_millis(20);

/// The folder of one cluster: its authority, its kubeconfig, its data, and the process that runs it.
#[derive(Clone, Debug)]
pub(crate) struct StateFolder {
    path: PathBuf,
    /// Whether the user set it explicitly, so that every other command needs it, too.
    is_named: bool,
}

/// The lock of a running cluster on its folder; it ends with the process, however that ends.
#[derive(Debug)]
pub(crate) struct Claim {
    _lock: File,
    process_file: PathBuf,
    ephemeral_file: PathBuf,
}

impl StateFolder {
    /// The folder that the user set. Without one: `.coracle` in the working directory or the nearest parent that has
    /// one, as git finds `.git`; otherwise `.coracle` in the working directory.
    pub(crate) fn named(path: Option<&Path>) -> Self {
        match path {
            Some(path) => Self { path: path.to_owned(), is_named: true },
            None => Self { path: found().unwrap_or_else(|| PathBuf::from(NAME)), is_named: false },
        }
    }

    /// ` --state-dir DIR` for command lines in hints; empty if the other commands find the folder by themselves.
    pub(crate) fn flag(&self) -> String {
        if self.is_named { format!(" --state-dir {}", quoted(&self.path)) } else { String::new() }
    }

    /// The folder itself.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Creates the folder, readable only by its owner and ignored by git: it contains keys.
    pub(crate) fn create(&self) -> Result<()> {
        if let Some(owner) = foreign_owner(&self.path) {
            bail!(
                "the state folder {} belongs to the user {owner}, and others may write to the folder that it is in; name another with --state-dir",
                self.path.display()
            );
        }
        for folder in [self.path.clone(), self.pki()] {
            private_folder(&folder).with_context(|| {
                if folder.exists() {
                    format!("cannot use the state folder {}", folder.display())
                } else {
                    format!("cannot make the state folder {}", folder.display())
                }
            })?;
        }
        ignore_in_git(&self.path)
    }

    /// Certificates and keys.
    pub(crate) fn pki(&self) -> PathBuf {
        self.path.join("pki")
    }

    /// The store's data.
    pub(crate) fn data(&self) -> PathBuf {
        self.path.join("data")
    }

    /// The saved state of the simulated nodes; missing while the cluster runs.
    pub(crate) fn nodes(&self) -> PathBuf {
        self.path.join("nodes.json")
    }

    /// The administrator's kubeconfig.
    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.path.join("kubeconfig")
    }

    /// A folder with the programs that envtest starts: this one under the names `kube-apiserver` and `etcd`, and the
    /// machine's kubectl if it is installed.
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

    /// The process id of the cluster that runs here, if any.
    pub(crate) fn running(&self) -> Option<i32> {
        if !self.is_locked() {
            return None;
        }
        std::fs::read_to_string(self.path.join("pid")).ok()?.trim().parse().ok()
    }

    /// Whether a process has locked the folder.
    pub(crate) fn is_locked(&self) -> bool {
        File::open(self.path.join("lock")).is_ok_and(|lock| lock.try_lock_shared().is_err())
    }

    /// The message that no cluster runs here, with a hint.
    pub(crate) fn nothing_runs(&self) -> String {
        let shown = self.path.display();
        match File::open(self.path.join("lock")).map_err(|error| error.kind()) {
            Err(ErrorKind::PermissionDenied) => format!("the state folder {shown} may not be read: permission denied"),
            _ => format!("no cluster runs in {shown}; start one with `coracle up{}`", self.flag()),
        }
    }

    /// The file that names the event log of a cluster.
    fn event_log_name(&self) -> PathBuf {
        self.path.join("events-file")
    }

    /// Records where the cluster that starts here writes its event log, if it writes one.
    pub(crate) fn set_event_log(&self, log: Option<&Path>) -> Result<()> {
        let name = self.event_log_name();
        // A killed process may have left it; it must not apply to this process.
        let _ = std::fs::remove_file(&name);
        let Some(log) = log else { return Ok(()) };
        let log = std::path::absolute(log)?;
        let written = coracle_pki::write_private(&name, &log.to_string_lossy());
        written.with_context(|| format!("cannot write {}", name.display()))
    }

    /// The event log of the cluster that runs here.
    ///
    /// # Errors
    /// If no cluster runs here, or if it writes no event log; the message contains a hint.
    pub(crate) fn event_log(&self) -> Result<PathBuf, Usage> {
        if self.running().is_none() {
            return Err(Usage(self.nothing_runs()));
        }
        let name = std::fs::read_to_string(self.event_log_name());
        name.map(PathBuf::from).map_err(|_| {
            let flag = self.flag();
            let shown = self.path.display();
            Usage(format!(
                "the cluster in {shown} writes no event log; stop it with `coracle down{flag}`, and start it with \
                 `coracle up{flag} --events FILE`"
            ))
        })
    }

    /// The notes that no earlier start in this folder has printed; they count as printed from now on.
    pub(crate) fn new_notes<'n>(&self, notes: &'n [String]) -> Vec<&'n str> {
        let file = self.path.join("notes");
        let said = std::fs::read_to_string(&file).unwrap_or_default();
        let new: Vec<&str> =
            notes.iter().map(String::as_str).filter(|note| !said.lines().any(|line| line == *note)).collect();
        if !new.is_empty() {
            let all: String = said.lines().chain(new.iter().copied()).map(|note| format!("{note}\n")).collect();
            // If this cannot be saved, the notes are printed again next time.
            let _ = std::fs::write(&file, all);
        }
        new
    }

    /// Whether the cluster that runs here keeps its objects only in memory.
    pub(crate) fn is_ephemeral(&self) -> bool {
        self.ephemeral().exists()
    }

    /// The file that marks a running cluster in memory.
    fn ephemeral(&self) -> PathBuf {
        self.path.join("ephemeral")
    }

    /// Locks the folder for this process.
    pub(crate) fn claim(&self) -> Result<Claim> {
        let path = self.path.join("lock");
        let lock = File::create(&path).with_context(|| format!("cannot make {}", path.display()))?;
        if !locks(&lock) {
            let who = std::fs::read_to_string(self.path.join("pid")).unwrap_or_default();
            bail!(
                "the state folder {} is in use by process {}; stop it with `coracle down{}`, or name another with --state-dir",
                self.path.display(),
                who.trim(),
                self.flag()
            );
        }
        // A killed process may have left it; it must not apply to this process.
        let ephemeral_file = self.ephemeral();
        let _ = std::fs::remove_file(&ephemeral_file);
        let process_file = self.path.join("pid");
        std::fs::write(&process_file, std::process::id().to_string())
            .with_context(|| format!("cannot write {}", process_file.display()))?;
        Ok(Claim { _lock: lock, process_file, ephemeral_file })
    }
}

impl Claim {
    /// Marks in the folder that the data of this process is lost when it stops.
    pub(crate) fn mark_ephemeral(&self) -> Result<()> {
        let file = &self.ephemeral_file;
        std::fs::write(file, "").with_context(|| format!("cannot write {}", file.display()))
    }
}

/// Locks a file. Retries, because another process may hold the lock for a moment to check it.
fn locks(file: &File) -> bool {
    (0..LOCK_TRIES).any(|number| {
        if number > 0 {
            #[expect(clippy::disallowed_methods, reason = "another process looks at the lock")]
            std::thread::sleep(LOCK_PAUSE);
        }
        file.try_lock().is_ok()
    })
}

/// The nearest `.coracle`, from the working directory upwards.
fn found() -> Option<PathBuf> {
    if Path::new(NAME).is_dir() {
        return Some(PathBuf::from(NAME));
    }
    let here = std::env::current_dir().ok()?;
    here.ancestors().skip(1).map(|folder| folder.join(NAME)).find(|folder| is_own(folder))
}

/// Whether the folder belongs to the current user. A kubeconfig can specify programs to run: one that another user
/// has put into a shared folder, such as `/tmp`, must not be used by accident.
pub(crate) fn is_own(folder: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let user = rustix::process::geteuid().as_raw();
    std::fs::symlink_metadata(folder).is_ok_and(|folder| folder.is_dir() && folder.uid() == user)
}

/// The user id of another user who owns a folder below a place where any user can create one, such as `/tmp`: that
/// user could put keys and links into it.
fn foreign_owner(folder: &Path) -> Option<u32> {
    use std::os::unix::fs::MetadataExt;
    let owner = std::fs::symlink_metadata(folder).ok()?.uid();
    let parent = std::path::absolute(folder).ok()?.parent()?.metadata().ok()?;
    let is_shared = parent.mode() & 0o022 != 0;
    (is_shared && owner != rustix::process::geteuid().as_raw()).then_some(owner)
}

/// Lets git ignore all content of a folder that contains keys.
pub(crate) fn ignore_in_git(folder: &Path) -> Result<()> {
    let file = folder.join(".gitignore");
    if file.exists() {
        return Ok(());
    }
    std::fs::write(&file, "*\n").with_context(|| format!("cannot write {}", file.display()))
}

/// The path of a program in `PATH`.
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
