use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use coracle_cluster::{Builder, Cluster, Error};
use coracle_journal::{Detail, EntryId, Events, Header, Recorder, Stage};
use coracle_viewer::write_html;

/// How many entries the event log of a test keeps, if the test has none of its own.
const ENTRIES: usize = 200_000;
/// The actor of the test in the event log.
const ACTOR: &str = "test";

/// A [`Builder`] whose cluster writes a page when its test fails.
///
/// [`BuilderExt::report_on_failure`](crate::BuilderExt::report_on_failure) creates it.
#[derive(Clone, Debug)]
pub struct ReportingBuilder {
    builder: Builder,
    path: PathBuf,
}

/// A [`Cluster`] that writes a page when its test fails: the report of `coracle run --report`, with the event log up to
/// the failure.
///
/// It writes the page when it is dropped while its thread panics, which is the case if an assertion of the test fails.
/// A test that passes writes nothing.
#[derive(Debug)]
pub struct ReportingCluster {
    /// `None` after a shutdown.
    cluster: Option<Cluster>,
    header: Header,
    path: PathBuf,
}

impl ReportingBuilder {
    pub(crate) fn new(builder: Builder, path: PathBuf) -> Self {
        let is_recorded = builder.is_recorded();
        let builder = if is_recorded { builder } else { builder.recorder(Recorder::ring(ENTRIES)) };
        Self { builder, path }
    }

    /// Starts the cluster; when this returns, the API is available.
    ///
    /// # Errors
    /// As [`Builder::start`].
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub async fn start(self) -> Result<ReportingCluster, Error> {
        let cluster = self.builder.start().await?;
        let header = Header::new(cluster.ambient().clock.now().to_string());
        let (store, recorder) = (cluster.store(), cluster.recorder().clone());
        let plurals = Arc::new(cluster.plurals());
        cluster.spawn("report", async move {
            // The page shows the objects up to the failure of the store.
            let _ = coracle_sim::record_objects(&*store, plurals, recorder).await;
        });
        Ok(ReportingCluster { cluster: Some(cluster), header, path: self.path })
    }
}

impl ReportingCluster {
    /// Stops everything in order. Afterwards no page is written.
    ///
    /// # Panics
    /// If a task of the cluster panicked, with its name and message. Then the page is written.
    pub async fn shutdown(mut self) {
        let report = self.report();
        let _written_on_panic = WrittenOnPanic(&report);
        if let Some(cluster) = self.cluster.take() {
            cluster.shutdown().await;
        }
    }

    /// Writes the page now.
    pub(crate) fn write_report(&self) {
        self.report().write();
    }

    fn report(&self) -> Report {
        Report { recorder: self.recorder().clone(), header: self.header.clone(), path: self.path.clone() }
    }
}

impl Deref for ReportingCluster {
    type Target = Cluster;

    fn deref(&self) -> &Cluster {
        self.cluster.as_ref().expect("a cluster exists until its shutdown, which consumes this")
    }
}

impl Drop for ReportingCluster {
    fn drop(&mut self) {
        if self.cluster.is_some() {
            drop(WrittenOnPanic(&self.report()));
        }
    }
}

/// What the page is made of.
struct Report {
    recorder: Recorder,
    header: Header,
    path: PathBuf,
}

/// Writes the page when it is dropped while the thread panics.
struct WrittenOnPanic<'r>(&'r Report);

impl Drop for WrittenOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.write();
        }
    }
}

impl Report {
    /// Writes the page, and its name to the output of the test.
    fn write(&self) {
        match self.try_write() {
            Ok(()) => eprintln!("coracle: the page of this failure is {}", self.path.display()),
            Err(error) => eprintln!("coracle: the page of this failure was not written: {error}"),
        }
    }

    fn try_write(&self) -> Result<(), String> {
        let thread = std::thread::current();
        let name = thread.name().unwrap_or("test");
        self.recorder.record(ACTOR, Stage::CheckFail, || {
            Detail::default().with("name", name).with("expected", "the test to pass").with("found", "a panic")
        });
        let header = Header { scenario: Some(name.to_owned()), ..self.header.clone() };
        let events = Events { header, entries: self.recorder.entries(EntryId(0)) };
        let folder = self.path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        write_html(&events, &self.path).map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use coracle_sim::{ClockMode, run_in};

    use super::*;
    use crate::{BuilderExt, ClusterExt, run_virtual_or_report};

    /// Runs an async test that fails if `fails`; whether it failed.
    fn async_test(path: PathBuf, fails: bool) -> bool {
        let test = || {
            run_in(ClockMode::Virtual, async {
                let cluster = Cluster::builder().nodes(1).report_on_failure(path).start().await.unwrap();
                cluster.settle().await.unwrap();
                assert!(!fails, "a deliberate failure");
                cluster.shutdown().await;
            })
        };
        catch_unwind(AssertUnwindSafe(test)).is_err()
    }

    /// Runs a synchronous test that fails if `fails`; whether it failed.
    fn synchronous_test(path: PathBuf, fails: bool) -> bool {
        let test = || {
            run_virtual_or_report(1, path, async |cluster| {
                cluster.settle().await.unwrap();
                assert!(!fails, "a deliberate failure");
            })
        };
        catch_unwind(AssertUnwindSafe(test)).is_err()
    }

    #[test]
    fn a_test_that_fails_leaves_its_page_and_one_that_passes_leaves_nothing() {
        for test in [async_test, synchronous_test] {
            let folder = tempfile::tempdir().unwrap();
            let (passes, fails) = (folder.path().join("passes.html"), folder.path().join("new/fails.html"));
            assert!(!test(passes.clone(), false));
            assert!(!passes.exists());
            assert!(test(fails.clone(), true));
            let read = coracle_viewer::read(&fails).unwrap();
            let checks = read.events.entries.iter().filter(|entry| entry.stage == Stage::CheckFail);
            assert_eq!(checks.count(), 1);
            let of_node = |entry: &&coracle_journal::Entry| {
                entry.stage == Stage::ObjectChange && entry.subject.contains("node-1")
            };
            assert!(read.events.entries.iter().any(|entry| of_node(&entry)), "it shows the objects");
        }
    }

    #[test]
    fn a_test_whose_cluster_ends_leaves_its_page() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ended.html");
        let ended = run_virtual_or_report(1, &path, async |cluster| {
            cluster.spawn("made-up", async { panic!("no sail") });
            std::future::pending::<()>().await;
        });
        assert_eq!(ended.unwrap_err().to_string(), "the task made-up panicked: no sail");
        assert!(path.exists());
    }
}
