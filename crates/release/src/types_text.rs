//! The types of a release: those of the first one, changed release by release. A type is changed as a whole.

use std::collections::BTreeMap;

use crate::data::Data;

/// The text of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TypeText {
    /// Its package: `io.k8s.api.core.v1`.
    pub package: &'static str,
    /// Its header, behind `type `, and a line for each field.
    pub text: &'static str,
}

/// The types of a package.
struct Package {
    name: &'static str,
    /// The text of each type; `None` if the type was removed.
    types: Vec<Option<&'static str>>,
    /// The places of the types by name.
    places: BTreeMap<&'static str, usize>,
}

/// The types of the last of these releases.
///
/// ```text
/// package io.k8s.api.core.v1
/// type PodSpec                 added, or in place of the type with this name
///  nodeName string 10
/// -type WorkloadReference      removed
/// ```
/// # Errors
/// The first line that is wrong.
pub(crate) fn of(releases: &[Data]) -> Result<Vec<TypeText>, &'static str> {
    let mut packages: Vec<Package> = Vec::new();
    for data in releases {
        let mut at = None;
        for block in blocks(data.types) {
            let line = block.lines().next().unwrap_or(block);
            if let Some(name) = line.strip_prefix("package ") {
                at = Some(packages.iter().position(|package| package.name == name).unwrap_or_else(|| {
                    packages.push(Package { name, types: Vec::new(), places: BTreeMap::new() });
                    packages.len() - 1
                }));
                continue;
            }
            let package = at.and_then(|at: usize| packages.get_mut(at)).ok_or(line)?;
            if let Some(name) = line.strip_prefix("-type ") {
                let place = package.places.remove(name).ok_or(line)?;
                package.types[place] = None;
            } else if let Some(header) = line.strip_prefix("type ") {
                package.put(header.split(' ').next().unwrap_or(header), &block["type ".len()..]);
            } else {
                return Err(line);
            }
        }
    }
    let types = packages
        .iter()
        .flat_map(|Package { name, types, .. }| types.iter().flatten().map(|text| TypeText { package: name, text }));
    Ok(types.collect())
}

impl Package {
    fn put(&mut self, name: &'static str, text: &'static str) {
        let place = *self.places.entry(name).or_insert_with(|| {
            self.types.push(None);
            self.types.len() - 1
        });
        self.types[place] = Some(text);
    }
}

/// The parts of a text: each is a line, with the indented lines below it.
fn blocks(text: &'static str) -> impl Iterator<Item = &'static str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let mut end = 0;
        while let Some(length) = rest[end..].find('\n') {
            end += length + 1;
            if !rest[end..].starts_with(' ') {
                let (block, after) = rest.split_at(end);
                rest = after;
                return Some(block);
            }
        }
        let block = std::mem::take(&mut rest);
        (!block.is_empty()).then_some(block)
    })
}
