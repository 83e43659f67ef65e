use std::path::Path;

use coracle_yaml::{Spanned, YamlNode};
use serde::Deserialize;

use super::Problem;
use crate::word::unknown_word;

/// The group of the kinds of files.
const GROUP: &str = "coracle.dev/";

/// The kinds of files of Coracle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentKind {
    /// A cluster, steps, and conditions.
    Scenario,
    /// A question and its answers, about the run of a scenario.
    Lesson,
    /// The faults of a run that broke a controller.
    Plan,
    /// A broken cluster to repair.
    Exercise,
}

/// What each kind is called in a file, and the command that reads it.
const KINDS: [(DocumentKind, &str, &str); 4] = [
    (DocumentKind::Scenario, "Scenario", "coracle run"),
    (DocumentKind::Lesson, "Lesson", "coracle learn"),
    (DocumentKind::Plan, "Plan", "coracle check"),
    (DocumentKind::Exercise, "Exercise", "coracle exercise start"),
];

/// The start of a document. Other fields are ignored.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head {
    api_version: Option<Spanned<String>>,
    kind: Option<Spanned<String>>,
}

impl DocumentKind {
    /// The kind of a file with this text. `None` if the text is not valid YAML, or does not name both `apiVersion` and
    /// `kind`: then the parser of the expected kind says what is missing, and where.
    ///
    /// # Errors
    /// If it is a file of another program, such as a manifest, or no such kind exists.
    pub fn of(path: &Path, text: &str) -> Result<Option<Self>, Problem> {
        let head = YamlNode::parse_core_schema(text).and_then(|node| node.read());
        let Ok(Head { api_version: Some(version), kind: Some(kind) }) = head else { return Ok(None) };
        let problem = |message| Problem {
            file: path.to_owned(),
            line: kind.location.line(),
            column: kind.location.column(),
            message,
        };
        if let Some((found, ..)) = KINDS.iter().find(|(_, name, _)| *name == kind.value) {
            return Ok(Some(*found));
        }
        if version.value.starts_with(GROUP) {
            let names = KINDS.map(|(_, name, _)| name);
            return unknown_word(&kind.value, &names, "kind").map_or(Ok(None), |why| Err(problem(why)));
        }
        let message = format!(
            "`{}` in `{}` is a kind of Kubernetes: a scenario creates such objects with the operation `create` and `file`",
            kind.value, version.value
        );
        Err(problem(message))
    }

    /// Fails if a file has another kind than this one. The message has the command for the other kind.
    ///
    /// # Errors
    /// Those of [`of`](Self::of), too.
    pub fn expect(self, path: &Path, text: &str) -> Result<(), Problem> {
        match Self::of(path, text)? {
            Some(found) if found != self => {
                let (is, expected) = (found.with_article(), self.with_article());
                let message = format!("this is {is}, expected {expected}: use `{} FILE`", found.command());
                Err(Problem { file: path.to_owned(), line: 1, column: 1, message })
            }
            _ => Ok(()),
        }
    }

    fn with_article(self) -> String {
        let article = if self.name().starts_with(['A', 'E', 'I', 'O', 'U']) { "an" } else { "a" };
        format!("{article} {}", self.name())
    }

    /// Its name in files.
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// The command that reads it.
    fn command(self) -> &'static str {
        self.row().2
    }

    fn row(self) -> (Self, &'static str, &'static str) {
        let at = KINDS.iter().position(|(kind, ..)| *kind == self).unwrap_or_default();
        KINDS[at]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn message(expected: DocumentKind, text: &str) -> Option<String> {
        expected.expect(Path::new("x.yaml"), text).err().map(|problem| problem.to_string())
    }

    #[test]
    fn a_file_of_another_kind_is_refused_with_the_command_that_reads_it() {
        let lesson = "apiVersion: coracle.dev/v1alpha1\nkind: Lesson\nspec: {}\n";
        assert_eq!(message(DocumentKind::Lesson, lesson), None);
        assert_eq!(
            message(DocumentKind::Scenario, lesson).as_deref(),
            Some("x.yaml:1:1: this is a Lesson, expected a Scenario: use `coracle learn FILE`")
        );
        assert_eq!(
            message(DocumentKind::Lesson, "apiVersion: coracle.dev/v1alpha1\nkind: Leson\n").as_deref(),
            Some(
                "x.yaml:2:7: unknown kind `Leson`, expected one of Scenario, Lesson, Plan, Exercise; did you mean `Lesson`?"
            )
        );
        assert_eq!(
            message(DocumentKind::Scenario, "apiVersion: apps/v1\nkind: Deployment\nspec: {replicas: 3}\n").as_deref(),
            Some(
                "x.yaml:2:7: `Deployment` in `apps/v1` is a kind of Kubernetes: a scenario creates such objects with \
                 the operation `create` and `file`"
            )
        );
    }

    #[test]
    fn a_file_without_a_kind_is_left_to_the_parser_of_the_expected_kind() {
        for text in ["", "kind: Scenario\n", "apiVersion: coracle.dev/v1alpha1\n", "[", "- a\n"] {
            assert_eq!(DocumentKind::of(Path::new("x.yaml"), text).unwrap(), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(apiVersion|kind|: |\n|[a-z{}\\[\\]&*!'\"]){0,30}") {
            let _ = DocumentKind::of(Path::new("x.yaml"), &text);
        }
    }
}
