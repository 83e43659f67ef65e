use std::path::PathBuf;

use coracle_cluster::Builder;
use coracle_sim::{Latency, Senders, Wire};

use crate::ReportingBuilder;

/// Options of a [`Builder`] for tests.
pub trait BuilderExt {
    /// The delay of requests and watch events of the cluster's own components.
    ///
    /// It replaces the wrapper that [`Builder::transport_layer`] set.
    #[must_use]
    fn latency(self, latency: Latency) -> Self;

    /// Writes a page if the test fails: the HTML report of the run, with every event up to the failure and its causes.
    /// It needs no server, and shows the run offline. A test that passes leaves no file.
    ///
    /// The page is written when the cluster is dropped while its thread panics. So the cluster must belong to the test:
    /// to the body of an async test, or to the closure or the future that a synchronous test runs.
    ///
    /// In an async test:
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// use coracle::Cluster;
    /// use coracle::prelude::*;
    ///
    /// let builder = Cluster::builder().nodes(2).report_on_failure("target/failures/an_async_test.html");
    /// let cluster = builder.start().await.unwrap();
    /// cluster.settle().await.unwrap();
    /// # }
    /// ```
    /// In a synchronous test:
    ///
    /// ```
    /// use coracle::prelude::*;
    ///
    /// coracle::run_virtual_or_report(1, "target/failures/a_synchronous_test.html", async |cluster| {
    ///     cluster.settle().await.unwrap();
    /// })
    /// .unwrap();
    /// ```
    /// If the options have no event log, this adds one that keeps the newest 200,000 entries. The page of a longer test
    /// begins with the oldest entry that is kept.
    #[must_use]
    fn report_on_failure(self, path: impl Into<PathBuf>) -> ReportingBuilder;
}

impl BuilderExt for Builder {
    fn latency(self, latency: Latency) -> Self {
        self.transport_layer(Wire::with(latency.rules(Senders::All)).layer())
    }

    fn report_on_failure(self, path: impl Into<PathBuf>) -> ReportingBuilder {
        ReportingBuilder::new(self, path.into())
    }
}
