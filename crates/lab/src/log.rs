use coracle_journal::EntryId;
use serde::Deserialize;

use crate::answer::LabAnswer;
use crate::clusters::Clusters;
use crate::error::LabError;
use crate::message::{Message, Nothing};

/// What a page that follows the log has to know before the first entry, as `coracle up --view` sends it.
pub(crate) fn hello(clusters: &mut Clusters, message: Message) -> Result<LabAnswer, LabError> {
    let opened = clusters.cluster(&message.cluster)?.opened();
    let hello = coracle_viewer::hello(opened.cluster.recorder(), &opened.header, opened.begins);
    message.fields::<Nothing>()?;
    Ok(hello.into())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct After {
    /// The number of the last entry that the page has.
    #[serde(default)]
    after: u64,
}

/// The entries after a number, as lines of an events file in the payload.
pub(crate) fn entries(clusters: &mut Clusters, message: Message) -> Result<LabAnswer, LabError> {
    let cluster = clusters.cluster(&message.cluster)?;
    let After { after } = message.fields()?;
    let (mut payload, mut next) = (Vec::new(), EntryId(after.saturating_add(1)));
    while let Some((last, lines)) = cluster.recorder().lines(next, "") {
        payload.extend_from_slice(&lines);
        next = EntryId(last.0 + 1);
    }
    // Without the last line break: the page puts a comma in the place of each.
    payload.pop();
    Ok(LabAnswer { result: cluster.state(), payload })
}
