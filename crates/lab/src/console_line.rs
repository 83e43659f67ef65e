use serde::Deserialize;
use serde_json::json;

use crate::answer::LabAnswer;
use crate::clusters::Clusters;
use crate::console::Output;
use crate::error::LabError;
use crate::message::Message;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    line: String,
}

/// Executes a line of the console.
pub(crate) fn answer(clusters: &mut Clusters, message: Message) -> Result<LabAnswer, LabError> {
    clusters.cluster(&message.cluster)?;
    let Clusters { open, console } = clusters;
    let cluster = &open[&message.cluster];
    let console = console.as_mut().ok_or_else(|| LabError::new("this lab has no console"))?;
    let Line { line } = message.fields()?;
    let Output { stdout, stderr, code } = cluster.settle_now(console.run(cluster.cluster(), &line))?;
    let mut answer = cluster.state();
    (answer["stdout"], answer["stderr"], answer["code"]) = (json!(stdout), json!(stderr), json!(code));
    Ok(answer.into())
}
