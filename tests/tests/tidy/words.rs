//! Words that strings, documents and comments do not use, each with what to write in its place.

use coracle_tests::{files_below, root};

use crate::Finding;
use crate::source::{Kind, Source};

/// A word or phrase, and what to write in its place.
const BANNED: &[(&str, &str)] = &[
    ("nobody", "`no client`, `no controller`, or the passive voice"),
    ("somebody", "the component or `a user`"),
    ("whoever", "`the client that`, `a user who`"),
    ("whom", "the component that is meant"),
    ("anew", "`again`"),
    ("told", "`notified`, `passed`, `reported`, `recorded`"),
    ("tells", "`reports`, `shows`, `returns`"),
    ("is none", "`is not one`, `has no …`"),
    ("goes on", "`continues`"),
    ("of no meaning", "`has no effect`"),
    ("is to be", "`must be`"),
    ("by what", "the noun that is meant"),
    ("what is not so", "`a false claim`"),
    ("beside", "`besides`, `in addition to`, `next to`"),
    ("he", "`it`: programs are not persons"),
    ("his", "`its`: programs are not persons"),
    ("him", "`it`: programs are not persons"),
];

/// Kubernetes' own sentences, which are served as they are.
const UPSTREAM: &[&str] = &["This flag tells the controller"];

/// Banned words in the strings of product code.
pub(crate) fn in_strings(source: &Source, findings: &mut Vec<Finding>) {
    in_tokens(source, Kind::Text, "banned words in strings", findings);
}

/// Banned words in the comments of product code, documentation comments included.
pub(crate) fn in_comments(source: &Source, findings: &mut Vec<Finding>) {
    in_tokens(source, Kind::Comment, "banned words in comments", findings);
}

fn in_tokens(source: &Source, kind: Kind, rule: &'static str, findings: &mut Vec<Finding>) {
    for token in source.tokens.iter().filter(|token| token.kind == kind) {
        for (offset, line) in token.text.lines().enumerate() {
            for what in banned(line) {
                findings.push(Finding::new(rule, &source.package, &source.path, token.line + offset, what));
            }
        }
    }
}

/// Banned words, and lines of prose over 120 characters, in documents.
pub(crate) fn in_documents(findings: &mut Vec<Finding>) {
    let root = root();
    let mut documents = files_below(&root.join("docs"), ".md");
    documents.extend(
        ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "Makefile", "tests/golden/README.md"]
            .map(|name| root.join(name)),
    );
    for document in documents {
        let path = document.strip_prefix(root).unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&document).unwrap();
        for (at, line) in text.lines().enumerate() {
            for what in banned(line) {
                findings.push(Finding::new("banned words in documents", "docs", &path, at + 1, what));
            }
            if path.ends_with(".md") && line.chars().count() > 120 && !is_unbreakable(line) {
                let what = "break the line after at most 120 characters".to_owned();
                findings.push(Finding::new("long lines in documents", "docs", &path, at + 1, what));
            }
        }
    }
}

/// Banned words in the page, with its comments.
pub(crate) fn in_page(findings: &mut Vec<Finding>) {
    let root = root();
    let folder = root.join("crates/viewer/page");
    let files = [".js", ".html", ".css"].iter().flat_map(|ending| files_below(&folder, ending));
    for file in files.filter(|file| !file.starts_with(folder.join("vendor"))) {
        let path = file.strip_prefix(root).unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&file).unwrap();
        for (at, line) in text.lines().enumerate() {
            for what in banned(line) {
                findings.push(Finding::new("banned words in the page", "viewer", &path, at + 1, what));
            }
        }
    }
}

/// Rows of tables, and links, cannot be broken.
fn is_unbreakable(line: &str) -> bool {
    line.starts_with('|') || line.trim_start().starts_with("http") || !line.trim().contains(' ')
}

/// Messages for the banned words of a line, at the beginning of a sentence or within.
fn banned(line: &str) -> Vec<String> {
    let is_letter = |sign: Option<char>| sign.is_some_and(|sign| sign.is_alphanumeric() || sign == '_');
    let mut found = Vec::new();
    if UPSTREAM.iter().any(|text| line.contains(text)) {
        return found;
    }
    for (word, instead) in BANNED {
        let capital = format!("{}{}", word[..1].to_uppercase(), &word[1..]);
        for (at, _) in line.match_indices(word).chain(line.match_indices(&capital)) {
            let (before, after) = (line[..at].chars().next_back(), line[at + word.len()..].chars().next());
            if !is_letter(before) && !is_letter(after) {
                found.push(format!("`{word}`: write {instead}"));
            }
        }
    }
    found
}

#[test]
fn a_banned_word_is_found_as_a_word_and_not_as_a_part_of_one() {
    assert_eq!(banned("Nobody is told.").len(), 2);
    assert_eq!(banned("the storage tolds, besides a told_by, if `dnsPolicy` is None"), [] as [String; 0]);
}
