use std::collections::BTreeMap;

use coracle_cluster::Cluster;
use coracle_console::{Completion, Console, Input, Output};
use serde::Deserialize;
use serde_json::json;

use crate::answer::LabAnswer;
use crate::clusters::Clusters;
use crate::error::LabError;
use crate::message::Message;

/// A line, and what it can read.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    line: String,
    /// The files in memory, by their names: `-f NAME` reads one.
    #[serde(default)]
    files: BTreeMap<String, String>,
    /// `-f -` reads it.
    #[serde(default)]
    stdin: String,
}

/// A line that is not complete.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PartOfLine {
    line: String,
    /// In UTF-16 code units, as JavaScript counts; the end of the line if it is missing.
    #[serde(default)]
    cursor: Option<usize>,
}

/// Executes a line of the console.
pub(crate) fn answer(clusters: &mut Clusters, message: Message) -> Result<LabAnswer, LabError> {
    let cluster = clusters.cluster(&message.cluster)?;
    let Line { line, files, stdin } = message.fields()?;
    let console = console(cluster.cluster());
    let Output { stdout, stderr, code } = cluster.settle_now(console.run(&line, &Input { files, stdin }))?;
    let mut answer = cluster.state();
    (answer["stdout"], answer["stderr"], answer["code"]) = (json!(stdout), json!(stderr), json!(code));
    Ok(answer.into())
}

/// The words that can stand at the cursor of a line.
pub(crate) fn complete(clusters: &mut Clusters, message: Message) -> Result<LabAnswer, LabError> {
    let cluster = clusters.cluster(&message.cluster)?;
    let PartOfLine { line, cursor } = message.fields()?;
    let console = console(cluster.cluster());
    let at = cursor.map_or(line.len(), |units| bytes_before(&line, units));
    let Completion { start, candidates } = cluster.settle_now(console.complete(&line, at))?;
    let from = line[..start].encode_utf16().count();
    Ok(json!({"from": from, "candidates": candidates}).into())
}

/// A console of an administrator.
fn console(cluster: &Cluster) -> Console {
    Console::new(&cluster.api_client(), &cluster.ambient().clock)
}

/// How many bytes the characters take that lie completely before a place in UTF-16.
fn bytes_before(line: &str, units: usize) -> usize {
    let mut seen = 0;
    let within = line.chars().take_while(|character| {
        seen += character.len_utf16();
        seen <= units
    });
    within.map(char::len_utf8).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_javascript_are_found_in_a_line() {
        let line = "aü🦀b";
        let bytes: Vec<usize> = (0..=7).map(|units| bytes_before(line, units)).collect();
        assert_eq!(bytes, [0, 1, 3, 3, 7, 8, 8, 8]);
    }
}
