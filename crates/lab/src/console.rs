use coracle_cluster::Cluster;
use futures_util::future::LocalBoxFuture;

/// What a line of the console printed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
    /// Its exit code.
    pub code: i32,
}

/// The words of the console. One console serves all clusters of a lab.
pub trait Console {
    /// Executes a line in a cluster. It runs in the time of the cluster.
    fn run<'a>(&'a mut self, cluster: &'a Cluster, line: &'a str) -> LocalBoxFuture<'a, Output>;
}
