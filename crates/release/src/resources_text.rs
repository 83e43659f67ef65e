//! The text of resources, changed release by release. A resource is changed as a whole, with its subresources.

use std::fmt::Write as _;

use crate::data::Data;

/// A resource: the line about it, and those about its subresources.
struct Row {
    /// The group version and the plural: `apps/v1 deployments`.
    name: &'static str,
    lines: Vec<&'static str>,
}

impl Row {
    fn group_version(&self) -> &'static str {
        self.name.split(' ').next().unwrap_or(self.name)
    }
}

/// The text of the last of these releases.
///
/// ```text
/// apps/v1 deployments Deployment ...   in place of the resource with this name, or added in alphabetical order
/// -apps/v1 deployments                 removed
/// [before policy/v1]                   where the following lines add a group version
/// ```
/// # Errors
/// The first line that is wrong.
pub(crate) fn of(releases: &[Data]) -> Result<String, &'static str> {
    let mut rows: Vec<Row> = Vec::new();
    for (place, data) in releases.iter().enumerate() {
        let (mut current, mut before) = (None, None);
        for line in data.resources.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            if let Some(version) = line.strip_prefix("[before ").and_then(|rest| rest.strip_suffix(']')) {
                before = Some(version);
            } else if let Some(name) = line.strip_prefix('-') {
                let at = rows.iter().position(|row| row.name == name).ok_or(line)?;
                rows.remove(at);
            } else if line.starts_with(' ') {
                let at: usize = current.ok_or(line)?;
                rows[at].lines.push(line);
            } else {
                let row = Row { name: name_of(line).ok_or(line)?, lines: vec![line] };
                // The first release only adds, in its order.
                current = Some(if place == 0 { push(&mut rows, row) } else { put(&mut rows, row, before) });
            }
        }
    }
    let mut text = String::new();
    for line in rows.iter().flat_map(|row| &row.lines) {
        let _ = writeln!(text, "{line}");
    }
    Ok(text)
}

/// The first two words of a line.
fn name_of(line: &'static str) -> Option<&'static str> {
    let (version, rest) = line.split_once(' ')?;
    Some(&line[..version.len() + 1 + rest.split(' ').next()?.len()])
}

fn push(rows: &mut Vec<Row>, row: Row) -> usize {
    rows.push(row);
    rows.len() - 1
}

/// Replaces or adds a resource, and returns its place.
fn put(rows: &mut Vec<Row>, row: Row, before: Option<&str>) -> usize {
    if let Some(at) = rows.iter().position(|other| other.name == row.name) {
        rows[at] = row;
        return at;
    }
    let version = row.group_version();
    let of_version = |other: &Row| other.group_version() == version;
    let later = rows.iter().position(|other| of_version(other) && other.name > row.name);
    let after_all = || rows.iter().rposition(of_version).map(|at| at + 1);
    let of_next = || rows.iter().position(|other| Some(other.group_version()) == before);
    let at = later.or_else(after_all).or_else(of_next).unwrap_or(rows.len());
    rows.insert(at, row);
    at
}
