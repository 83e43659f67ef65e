use coracle_cluster::Cluster;
use futures_util::future::LocalBoxFuture;
use serde::Deserialize;
use serde_json::json;

use crate::answer::Answer;
use crate::error::LabError;
use crate::lab::Lab;
use crate::message::Message;

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

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    line: String,
}

/// Executes a line of the console.
pub(crate) fn answer(lab: &mut Lab, message: Message) -> Result<Answer, LabError> {
    lab.cluster(&message.cluster)?;
    let Lab { clusters, console } = lab;
    let cluster = &clusters[&message.cluster];
    let console = console.as_mut().ok_or_else(|| LabError::new("this lab has no console"))?;
    let Line { line } = message.fields()?;
    let Output { stdout, stderr, code } = cluster.settle_now(console.run(cluster.cluster(), &line))?;
    let mut answer = cluster.state();
    (answer["stdout"], answer["stderr"], answer["code"]) = (json!(stdout), json!(stderr), json!(code));
    Ok(answer.into())
}
