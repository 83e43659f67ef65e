use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;
use coracle_check::PlanFile;
use coracle_lesson::{read as lesson, read_exercise};
use coracle_scenario::BuiltIn;
use coracle_scenario::parse::{DocumentKind, Problem, parse_all, read_text};

use crate::commands::release_flags::ReleaseFlags;
use crate::commands::validate_manifests;
use crate::excerpt::with_excerpt;
use crate::exit;
use crate::output::{exact, note, out};
use crate::terminal::plain;
use crate::yaml_files::yaml_files;

/// Checks scenarios, lessons, exercises and plans without running them, and manifests of Kubernetes without a cluster: by
/// schemas, validation, CEL rules, admission policies and quotas, as an API server would.
#[derive(Debug, Args)]
pub(crate) struct Validate {
    /// Files, or folders of them
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// Print nothing about files without a problem
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    release: ReleaseFlags,
}

impl Validate {
    pub(crate) fn run(self) -> Result<u8> {
        let files = yaml_files(&self.paths)?;
        if files.is_empty() {
            note!("coracle: no YAML file in {}", self.paths[0].display());
            return Ok(exit::NOTHING_MATCHED);
        }
        let vocabulary = BuiltIn::default();
        let (mut problems, mut manifests, mut texts) = (Vec::new(), Vec::new(), BTreeMap::new());
        for file in &files {
            match read_text(file) {
                Err(problem) => problems.push(problem),
                Ok(text) => {
                    if validate_manifests::are_in(&text) {
                        manifests.push((file.clone(), text.clone()));
                    } else {
                        problems.extend(problems_of(file, &text, &vocabulary));
                    }
                    texts.insert(file.clone(), text);
                }
            }
        }
        if !manifests.is_empty() {
            problems.extend(validate_manifests::problems(&manifests, &self.release.noted()?)?);
        }
        for problem in &problems {
            let text = texts.get(&problem.file).map(String::as_str).unwrap_or_default();
            exact!("{}", plain(&with_excerpt(problem, text)))?;
        }
        let wrong = problems.len();
        if !self.quiet || wrong > 0 {
            out!("{}, {}", counted(files.len(), "file"), counted(wrong, "problem"))?;
        }
        Ok(if wrong == 0 { exit::PASS } else { exit::USAGE })
    }
}

/// All problems of a scenario or a plan, or the first one of a lesson.
fn problems_of(path: &Path, text: &str, vocabulary: &BuiltIn) -> Vec<Problem> {
    match DocumentKind::of(path, text) {
        Ok(Some(DocumentKind::Lesson)) => lesson::read(path).err().into_iter().collect(),
        // A file without a kind is most likely a scenario: its parser says what is missing.
        Ok(Some(DocumentKind::Scenario) | None) => parse_all(path, text, vocabulary).err().unwrap_or_default(),
        Ok(Some(DocumentKind::Exercise)) => read_exercise(path).err().into_iter().collect(),
        Ok(Some(DocumentKind::Plan)) => PlanFile::read(path, text).err().unwrap_or_default(),
        Err(problem) => vec![problem],
    }
}

fn counted(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}
