use std::path::{Path, PathBuf};

use coracle_scenario::file::Metadata;
use coracle_scenario::parse::{self, API_VERSION, DocumentKind, Problem, Vocabulary, hash, read_text, yaml};
use coracle_scenario::{BuiltIn, Options, Scenario};
use coracle_yaml::{Location, Spanned};

use crate::file::{Contrast, Lesson, Source, Spec};
use crate::plan::{Plan, Wrong, known_word};

/// How many answers a question may have.
const ANSWERS: std::ops::RangeInclusive<usize> = 2..=4;
/// Why a contrast without a scenario, or with two, is refused.
const NEEDS_ONE: &str = "the contrast needs either `scenario` or `kubernetes`";

/// Reads and checks a lesson file, and the scenarios that it refers to.
///
/// # Errors
/// The error, with file, line and column.
pub fn read(path: &Path) -> Result<Lesson, Problem> {
    let from_disk =
        |path: &Path| std::fs::read_to_string(path).map_err(|why| format!("{} cannot be read: {why}", path.display()));
    parse(path, &read_text(path)?, &from_disk)
}

/// Like [`read`], for a text that was read already; `scenario` returns the text of a scenario file by its path.
///
/// ```
/// let text = "apiVersion: coracle.dev/v1alpha1\nkind: Leson\nmetadata: {name: a}\nspec: {}\n";
/// let problem = coracle_lesson::read::parse("a.yaml".as_ref(), text, &|_| Err(String::new())).unwrap_err();
/// assert_eq!((problem.line, problem.column), (2, 7));
/// ```
///
/// # Errors
/// As [`read`].
pub fn parse(path: &Path, text: &str, scenario: &dyn Fn(&Path) -> Result<String, String>) -> Result<Lesson, Problem> {
    DocumentKind::Lesson.expect(path, text)?;
    let mut lesson: Lesson = yaml(path, text)?;
    let problem = |(place, message): Wrong| Problem {
        file: path.to_owned(),
        line: place.line(),
        column: place.column(),
        message,
    };
    known_word(&lesson.api_version, &[API_VERSION], "apiVersion").map_err(problem)?;
    known_word(&lesson.kind, &[DocumentKind::Lesson.name()], "kind").map_err(problem)?;
    checked(&lesson.spec).map_err(problem)?;
    Plan::of(&lesson.spec).map_err(problem)?;
    let reader = Reader { path, text, hash: hash(text), scenario, vocabulary: &BuiltIn::default() };
    let name = &lesson.metadata.name;
    let own = reader.scenario(&lesson.spec.scenario, name.clone())?;
    let contrast = reader.contrast(&lesson.spec.contrast, &own.0, &own.1, format!("{name}-contrast"))?;
    lesson.scenarios = Some(Box::new([own, contrast]));
    Ok(lesson)
}

/// Checks what the format of the file cannot express.
fn checked(spec: &Spec) -> Result<(), Wrong> {
    let answers = &spec.answers;
    if !ANSWERS.contains(&answers.value.len()) {
        return Err((answers.location, format!("there are {} answers, expected 2 to 4", answers.value.len())));
    }
    let right = answers.value.iter().filter(|answer| answer.right).count();
    if right != 1 {
        return Err((answers.location, format!("{right} answers are right, expected one with `right: true`")));
    }
    for captions in [&spec.captions, &spec.contrast.captions] {
        if captions.value.is_empty() {
            return Err((captions.location, "there are no captions, expected at least one".to_owned()));
        }
    }
    let Contrast { title, scenario, kubernetes, .. } = &spec.contrast;
    if scenario.is_some() == kubernetes.is_some() {
        return Err((title.location, NEEDS_ONE.to_owned()));
    }
    if spec.contrast.refutes.value.is_empty() {
        let place = spec.contrast.refutes.location;
        return Err((place, "the contrast refutes nothing, expected the name of a caption".to_owned()));
    }
    Ok(())
}

struct Reader<'r> {
    path: &'r Path,
    text: &'r str,
    hash: String,
    scenario: &'r dyn Fn(&Path) -> Result<String, String>,
    vocabulary: &'r dyn Vocabulary,
}

impl Reader<'_> {
    /// The scenario of the contrast: its own, or that of the run in another release.
    fn contrast(
        &self,
        contrast: &Contrast,
        run: &Scenario,
        path: &Path,
        name: String,
    ) -> Result<(Scenario, PathBuf), Problem> {
        match (&contrast.scenario, &contrast.kubernetes) {
            (Some(source), _) => self.scenario(source, name),
            (None, Some(version)) => {
                if Options::default().release(run).version() == version.value {
                    let why = format!("the run of the lesson is in {}, too: nothing would differ", version.value);
                    return Err(self.problem(version.location, why));
                }
                let mut scenario = run.clone();
                scenario.metadata.name = name;
                scenario.spec.cluster.kubernetes = Some(version.clone());
                // The rest of the scenario was checked, so an error is about the release in this file.
                parse::check(self.path, self.text, &scenario, self.vocabulary)?;
                Ok((scenario, path.to_owned()))
            }
            (None, None) => Err(self.problem(contrast.title.location, NEEDS_ONE.to_owned())),
        }
    }

    fn scenario(&self, source: &Spanned<Source>, name: String) -> Result<(Scenario, PathBuf), Problem> {
        match (&source.value.file, &source.value.spec) {
            (Some(file), None) => {
                let path = self.path.parent().unwrap_or(Path::new(".")).join(&file.value);
                let text = (self.scenario)(&path).map_err(|why| self.problem(file.location, why))?;
                Ok((parse::parse(&path, &text, self.vocabulary)?, path))
            }
            (None, Some(spec)) => {
                let here = |word: &str| Spanned::new(word.to_owned(), source.location);
                let scenario = Scenario {
                    api_version: here(API_VERSION),
                    kind: here("Scenario"),
                    metadata: Metadata { name },
                    spec: spec.clone(),
                    hash: self.hash.clone(),
                };
                parse::check(self.path, self.text, &scenario, self.vocabulary)?;
                Ok((scenario, self.path.to_owned()))
            }
            _ => Err(self.problem(source.location, "needs either `file` or `spec`".to_owned())),
        }
    }

    fn problem(&self, place: Location, message: String) -> Problem {
        Problem { file: self.path.to_owned(), line: place.line(), column: place.column(), message }
    }
}
