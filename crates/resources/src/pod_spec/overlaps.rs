use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use coracle_meta::fields::Fields;
use serde_json::Value;

/// A file of a volume, and its source if messages name it.
struct File {
    path: String,
    source: String,
}

impl File {
    fn new(path: &str, source: &str) -> Self {
        Self { path: path.trim_end_matches('/').to_owned(), source: source.to_owned() }
    }

    fn shown(&self) -> String {
        if self.source.is_empty() { format!("{:?}", self.path) } else { format!("{:?} ({})", self.path, self.source) }
    }
}

/// Files of one volume with the same path, or of which one is inside the other.
/// In Kubernetes: `warningsForOverlappingVirtualPaths`.
pub(super) fn overlapping_paths(spec: &Value) -> Vec<String> {
    let mut warnings = Vec::new();
    for volume in spec.list("volumes") {
        let name = volume.text("name");
        for (kind, field, title) in [("configMap", "name", "ConfigMap"), ("secret", "secretName", "Secret")] {
            let source = volume.at(kind);
            let title = format!("{title} {:?}", source.text(field));
            warnings.extend(of_files(name, &title, files(source, "")));
        }
        warnings.extend(of_files(name, "DownwardAPI", files(volume.at("downwardAPI"), "")));
        let mut projected = Vec::new();
        for source in volume.list("projected.sources") {
            if source.as_object().is_some_and(|source| source.values().all(Value::is_null)) {
                warnings.push(format!("volume {name:?} (Projected) has no sources provided"));
            }
            projected.extend(projected_files(source));
        }
        warnings.extend(of_files(name, "Projected", projected));
    }
    warnings
}

fn files(source: &Value, title: &str) -> Vec<File> {
    source.list("items").iter().map(|item| File::new(item.text("path"), title)).collect()
}

fn projected_files(source: &Value) -> Vec<File> {
    let named = |kind: &str, title: &str| format!("{title} {:?}", source.at(kind).text("name"));
    if source.has("configMap.items") {
        files(source.at("configMap"), &named("configMap", "ConfigMap"))
    } else if source.has("secret.items") {
        files(source.at("secret"), &named("secret", "Secret"))
    } else if source.has("downwardAPI.items") {
        files(source.at("downwardAPI"), "DownwardAPI")
    } else if source.has("serviceAccountToken") {
        vec![File::new(source.text("serviceAccountToken.path"), "ServiceAccountToken")]
    } else {
        Vec::new()
    }
}

/// The maximum number of warnings about the files of one source; a response does not contain more.
const MOST_OVERLAPS: usize = 4096;

fn of_files(volume: &str, title: &str, files: Vec<File>) -> Vec<String> {
    let mut earlier = Earlier::default();
    let (mut seen, mut warnings) = (BTreeSet::new(), Vec::new());
    // The index up to which a path and source were compared: for a duplicate, only later files are new.
    let mut compared: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for (at, file) in files.iter().enumerate().filter(|(_, file)| !file.path.is_empty()) {
        let since = compared.insert((&file.path, &file.source), at).unwrap_or(0);
        if since > earlier.newest {
            continue;
        }
        for other in earlier.overlapping(file, since) {
            let (own, others) = (file.shown(), files[other].shown());
            let text = format!("volume {volume:?} ({title}): overlapping paths: {own} with {others}");
            if seen.insert(text.clone()) {
                warnings.push(text);
            }
            if warnings.len() >= MOST_OVERLAPS {
                return warnings;
            }
        }
        earlier.add(at, file);
    }
    warnings
}

/// The earlier files, by their paths. Only the first of several files with one path and source is kept, because their
/// warnings are equal.
#[derive(Default)]
struct Earlier<'f> {
    by_path: BTreeMap<String, BTreeMap<&'f str, usize>>,
    lengths: BTreeSet<usize>,
    newest: usize,
}

impl<'f> Earlier<'f> {
    fn add(&mut self, at: usize, file: &'f File) {
        let path = format!("{}/", file.path);
        self.lengths.insert(path.len());
        self.by_path.entry(path).or_default().entry(&file.source).or_insert_with(|| {
            self.newest = at;
            at
        });
    }

    /// The files from `since` on whose path equals that of a file, or is above or below it, in order.
    fn overlapping(&self, file: &File, since: usize) -> Vec<usize> {
        let path = format!("{}/", file.path);
        let above = self.lengths.iter().take_while(|length| **length < path.len());
        let above = above.filter_map(|length| path.get(..*length)).filter(|above| above.ends_with('/'));
        let above = above.filter_map(|above| self.by_path.get(above));
        let from = (Bound::Included(path.as_str()), Bound::Unbounded);
        let below = self.by_path.range::<str, _>(from).take_while(|(below, _)| below.starts_with(&path));
        let found = above.chain(below.map(|(_, files)| files));
        let mut found: Vec<usize> = found.flat_map(BTreeMap::values).copied().filter(|at| *at >= since).collect();
        found.sort_unstable();
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn warnings_of(files: Vec<(String, &'static str)>) -> Vec<String> {
        of_files("v", "t", files.iter().map(|(path, source)| File::new(path, source)).collect())
    }

    #[test]
    fn paths_of_a_large_volume_are_looked_up() {
        assert!(warnings_of((0..40_000).map(|at| (format!("d{at}/file"), "")).collect()).is_empty());
        let same = warnings_of((0..40_000).map(|_| ("a".to_owned(), "")).collect());
        assert_eq!(same, ["volume \"v\" (t): overlapping paths: \"a\" with \"a\""]);
        let all = (0..40_000).map(|at| (format!("a/{}", "b/".repeat(at % 100)), ""));
        assert_eq!(warnings_of(all.collect()).len(), MOST_OVERLAPS);
    }

    proptest! {
        #[test]
        fn overlaps_are_found_between_each_entry_and_all_earlier_ones(
            files in proptest::collection::vec(("[ab/]{0,4}", prop_oneof![Just(""), Just("s")]), 0..10),
        ) {
            let all: Vec<File> = files.iter().map(|(path, source)| File::new(path, source)).collect();
            let mut expected: Vec<String> = Vec::new();
            for (at, file) in all.iter().enumerate() {
                for other in &all[..at] {
                    let (own, others) = (format!("{}/", file.path), format!("{}/", other.path));
                    let is_there = !file.path.is_empty() && !other.path.is_empty();
                    if is_there && (own.starts_with(&others) || others.starts_with(&own)) {
                        let (own, others) = (file.shown(), other.shown());
                        let text = format!("volume \"v\" (t): overlapping paths: {own} with {others}");
                        if !expected.contains(&text) {
                            expected.push(text);
                        }
                    }
                }
            }
            prop_assert_eq!(warnings_of(files), expected);
        }
    }
}
