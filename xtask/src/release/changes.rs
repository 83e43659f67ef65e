//! What a release changes, in the words of its data files.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The changes from one text of types to another. A type is changed as a whole.
pub(crate) fn of_types(before: &str, after: &str) -> String {
    let (before, after) = (blocks(before, "package ", "type "), blocks(after, "package ", "type "));
    let mut out = String::new();
    for (package, types) in &after {
        let old = before.iter().find(|(name, _)| name == package).map(|(_, types)| types);
        let mut lines = String::new();
        let of = |name: &str| old.and_then(|old| old.iter().find(|(other, _)| other == name));
        for (name, block) in types {
            if of(name).is_none_or(|(_, known)| known != block) {
                lines.push_str(block);
            }
        }
        let is_gone = |name: &String| types.iter().all(|(other, _)| other != name);
        for (name, _) in old.into_iter().flatten().filter(|(name, _)| is_gone(name)) {
            let _ = writeln!(lines, "-type {name}");
        }
        if !lines.is_empty() {
            let _ = write!(out, "package {package}\n{lines}");
        }
    }
    for (package, types) in before.iter().filter(|(package, _)| after.iter().all(|(other, _)| other != package)) {
        let _ = writeln!(out, "package {package}");
        for (name, _) in types {
            let _ = writeln!(out, "-type {name}");
        }
    }
    out
}

/// A package, and its types with their lines.
type Blocks = Vec<(String, Vec<(String, String)>)>;

fn blocks(text: &str, of_package: &str, of_type: &str) -> Blocks {
    let mut all = Blocks::new();
    for line in text.lines() {
        if let Some(package) = line.strip_prefix(of_package) {
            all.push((package.to_owned(), Vec::new()));
            continue;
        }
        let Some((_, types)) = all.last_mut() else { continue };
        if let Some(header) = line.strip_prefix(of_type) {
            types.push((header.split(' ').next().unwrap_or(header).to_owned(), String::new()));
        }
        if let Some((_, block)) = types.last_mut() {
            block.push_str(line);
            block.push('\n');
        }
    }
    all
}

/// The changes from one text of resources to another. A resource is changed as a whole, with its subresources.
pub(crate) fn of_resources(before: &str, after: &str) -> String {
    let (before, after) = (rows(before), rows(after));
    let versions: Vec<&str> = after.iter().map(|(name, _)| version_of(name)).collect();
    let (mut out, mut introduced) = (String::new(), "");
    for (at, (name, block)) in after.iter().enumerate() {
        if before.iter().any(|(other, known)| other == name && known == block) {
            continue;
        }
        let version = version_of(name);
        let is_new_version = before.iter().all(|(other, _)| version_of(other) != version);
        if is_new_version && introduced != version {
            introduced = version;
            if let Some(next) = versions[at..].iter().find(|other| **other != version) {
                let _ = writeln!(out, "[before {next}]");
            }
        }
        out.push_str(block);
    }
    for (name, _) in before.iter().filter(|(name, _)| after.iter().all(|(other, _)| other != name)) {
        let _ = writeln!(out, "-{name}");
    }
    out
}

fn version_of(name: &str) -> &str {
    name.split(' ').next().unwrap_or(name)
}

/// Resources by version and name, with their lines.
fn rows(text: &str) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if !line.starts_with(' ') {
            all.push((line.split(' ').take(2).collect::<Vec<_>>().join(" "), String::new()));
        }
        if let Some((_, block)) = all.last_mut() {
            let _ = writeln!(block, "{line}");
        }
    }
    all
}

/// The changes from one set of gates to another, each a line of what a gate is.
pub(crate) fn of_gates(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) -> String {
    let mut out = String::new();
    let names: std::collections::BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    for name in names {
        match after.get(name) {
            None => drop(writeln!(out, "-{name}")),
            Some(gate) if before.get(name) != Some(gate) => drop(writeln!(out, "{name} {gate}")),
            Some(_) => {}
        }
    }
    out
}

/// The changes from one list to another.
pub(crate) fn of_list(before: &[&str], after: &[String]) -> String {
    let mut current: Vec<&str> = before.iter().copied().filter(|item| after.iter().any(|own| own == item)).collect();
    let mut out: String =
        before.iter().filter(|item| after.iter().all(|own| own != *item)).map(|item| format!("-{item}\n")).collect();
    for (at, item) in after.iter().enumerate().rev() {
        let next = after.get(at + 1).map(String::as_str);
        let place = current.iter().position(|other| other == item);
        if place.is_some_and(|place| current.get(place + 1).copied() == next) {
            continue;
        }
        if let Some(place) = place {
            current.remove(place);
        }
        let before = next.and_then(|next| current.iter().position(|other| *other == next));
        current.insert(before.unwrap_or(current.len()), item);
        match next {
            Some(next) => drop(writeln!(out, "{item} < {next}")),
            None => drop(writeln!(out, "{item}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owned(items: &[&str]) -> Vec<String> {
        items.iter().map(|item| (*item).to_owned()).collect()
    }

    #[test]
    fn a_list_is_changed_by_what_goes_comes_and_moves() {
        assert_eq!(of_list(&["A", "B", "C"], &owned(&["A", "B", "C"])), "");
        assert_eq!(of_list(&["A", "B"], &owned(&["B", "A", "D"])), "D\nA < D\n");
        assert_eq!(of_list(&["A", "B", "C"], &owned(&["A", "X", "Y", "C"])), "-B\nY < C\nX < Y\n");
    }

    #[test]
    fn a_type_that_changed_is_written_whole_and_one_that_is_gone_is_named() {
        let before = "package a\ntype One\n x string 1\ntype Two\npackage b\ntype Three\n";
        let after = "package a\ntype One\n x string 2\ntype New\npackage b\ntype Three\n";
        assert_eq!(of_types(before, after), "package a\ntype One\n x string 2\ntype New\n-type Two\n");
    }

    #[test]
    fn a_new_group_version_says_before_which_it_comes() {
        let before = "a/v1 ones One cluster\nc/v1 threes Three cluster\n";
        let after = "a/v1 ones One cluster\nb/v1 twos Two cluster\n status get\nc/v1 threes Three cluster short=t\n";
        let changes = "[before c/v1]\nb/v1 twos Two cluster\n status get\nc/v1 threes Three cluster short=t\n";
        assert_eq!(of_resources(before, after), changes);
    }
}
