use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;
use coracle_check::PlanFile;
use coracle_lesson::{read as lesson, read_exercise};
use coracle_scenario::BuiltIn;
use coracle_scenario::parse::{DocumentKind, Problem, parse_all, read_text};

use crate::excerpt::with_excerpt;
use crate::exit;
use crate::output::{exact, note, out};
use crate::terminal::plain;
use crate::yaml_files::yaml_files;

/// Checks scenarios, lessons, exercises and plans without running them.
#[derive(Debug, Args)]
pub(crate) struct Validate {
    /// Files, or folders of them
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// Print nothing about files without a problem
    #[arg(short, long)]
    quiet: bool,
}

impl Validate {
    pub(crate) fn run(self) -> Result<u8> {
        let files = yaml_files(&self.paths)?;
        if files.is_empty() {
            note!("coracle: no YAML file in {}", self.paths[0].display());
            return Ok(exit::NOTHING_MATCHED);
        }
        let vocabulary = BuiltIn::default();
        let mut wrong = 0;
        for file in &files {
            let text = read_text(file);
            let found = match &text {
                Ok(text) => problems_of(file, text, &vocabulary),
                Err(problem) => vec![problem.clone()],
            };
            for problem in &found {
                exact!("{}", plain(&with_excerpt(problem, text.as_deref().unwrap_or_default())))?;
            }
            wrong += found.len();
        }
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
