//! The text of types, changed release by release. A type is changed as a whole.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::data::Data;

/// Types by name within their package: the lines of each, its header first.
#[derive(Default)]
struct Package {
    /// The names in their order.
    order: Vec<&'static str>,
    types: BTreeMap<&'static str, Vec<&'static str>>,
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
        let (mut at, mut current) = (0, "");
        for line in data.types.lines() {
            if let Some(name) = line.strip_prefix("package ") {
                at = packages.iter().position(|(own, _)| *own == name).unwrap_or_else(|| {
                    packages.push((name, Package::default()));
                    packages.len() - 1
                });
                continue;
            }
            let (_, package) = packages.get_mut(at).ok_or(line)?;
            if let Some(name) = line.strip_prefix("-type ") {
                package.types.remove(name).ok_or(line)?;
                package.order.retain(|other| *other != name);
            } else if let Some(header) = line.strip_prefix("type ") {
                current = header.split(' ').next().unwrap_or(header);
                if package.types.insert(current, vec![line]).is_none() {
                    package.order.push(current);
                }
            } else {
                package.types.get_mut(current).ok_or(line)?.push(line);
            }
        }
    }
    let mut text = String::new();
    for (name, package) in &packages {
        let _ = writeln!(text, "package {name}");
        for line in package.order.iter().flat_map(|ty| &package.types[ty]) {
            let _ = writeln!(text, "{line}");
        }
    }
    Ok(text)
}
