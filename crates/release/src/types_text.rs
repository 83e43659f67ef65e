//! The text of types, changed release by release. A type is changed as a whole.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::data::Data;

/// The types of a package.
#[derive(Default)]
struct Package {
    /// The lines of each type, its header first; empty if the type was removed.
    types: Vec<Vec<&'static str>>,
    /// The places of the types by name.
    places: BTreeMap<&'static str, usize>,
}

/// The text of the last of these releases.
///
/// ```text
/// package io.k8s.api.core.v1
/// type PodSpec                 added, or in place of the type with this name
///  nodeName string 10
/// -type WorkloadReference      removed
/// ```
/// # Errors
/// The first line that is wrong.
pub(crate) fn of(releases: &[Data]) -> Result<String, &'static str> {
    let mut packages: Vec<(&'static str, Package)> = Vec::new();
    for data in releases {
        let (mut at, mut current) = (0, None);
        for line in data.types.lines() {
            if let Some(name) = line.strip_prefix("package ") {
                at = packages.iter().position(|(own, _)| *own == name).unwrap_or_else(|| {
                    packages.push((name, Package::default()));
                    packages.len() - 1
                });
                current = None;
                continue;
            }
            let (_, package) = packages.get_mut(at).ok_or(line)?;
            if let Some(name) = line.strip_prefix("-type ") {
                let place = package.places.remove(name).ok_or(line)?;
                package.types[place].clear();
                current = None;
            } else if let Some(header) = line.strip_prefix("type ") {
                let name = header.split(' ').next().unwrap_or(header);
                let place = *package.places.entry(name).or_insert_with(|| {
                    package.types.push(Vec::new());
                    package.types.len() - 1
                });
                package.types[place] = vec![line];
                current = Some(place);
            } else {
                package.types[current.ok_or(line)?].push(line);
            }
        }
    }
    let mut text = String::new();
    for (name, package) in &packages {
        let _ = writeln!(text, "package {name}");
        for line in package.types.iter().flatten() {
            text.push_str(line);
            text.push('\n');
        }
    }
    Ok(text)
}
