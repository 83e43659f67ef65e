//! The files of cases: commands, and what happens between them.

use std::path::Path;

/// A file of commands that run on one pair of clusters.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) steps: Vec<Step>,
}

/// A step of a case.
pub(crate) enum Step {
    /// `$ get pods`: a command. `& settle $ rollout status deployment/web`: a command while something happens.
    Command { line: String, during: Option<String> },
    /// `+ settle`, `+ advance 10s`: a command of coracle.
    Coracle(String),
    /// `= pod.yaml`, and the lines after it that are indented: a file.
    File { name: String, text: String },
}

impl Case {
    /// All cases, in the order of their names.
    pub(crate) fn all() -> Vec<Self> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kubectl/cases");
        let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        let read = |path: &std::path::PathBuf| Self {
            name: path.file_stem().unwrap().to_string_lossy().into_owned(),
            steps: steps(&std::fs::read_to_string(path).unwrap()),
        };
        files.iter().map(read).collect()
    }
}

fn steps(text: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if let Some(line) = line.strip_prefix("$ ") {
            steps.push(Step::Command { line: line.to_owned(), during: None });
        } else if let Some((during, line)) = line.strip_prefix("& ").and_then(|rest| rest.split_once(" $ ")) {
            steps.push(Step::Command { line: line.to_owned(), during: Some(during.to_owned()) });
        } else if let Some(command) = line.strip_prefix("+ ") {
            steps.push(Step::Coracle(command.to_owned()));
        } else if let Some(name) = line.strip_prefix("= ") {
            let mut text = String::new();
            while let Some(line) = lines.next_if(|line| line.is_empty() || line.starts_with("  ")) {
                text.push_str(line.strip_prefix("  ").unwrap_or(line));
                text.push('\n');
            }
            steps.push(Step::File { name: name.to_owned(), text });
        } else {
            assert!(line.is_empty() || line.starts_with('#'), "not a step: {line}");
        }
    }
    steps
}
