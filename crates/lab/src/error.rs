use coracle_lesson as lesson;
use coracle_scenario::parse::{Problem, unknown_word};
use coracle_scenario::{Failure, NotChanged, Outcome};
use serde_json::{Map, Value, json};

/// Why a message has no result.
#[derive(Debug, Default)]
pub(crate) struct LabError {
    /// The message, which is that of the API if the API refused.
    message: String,
    /// Where it is in a text of the message.
    place: Option<(String, u64, u64)>,
    /// The `Status` of the API.
    status: Option<Value>,
    /// All problems of a text, if there are several.
    problems: Vec<Value>,
}

impl LabError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), ..Self::default() }
    }

    /// The error of a name that is not among the known ones, with the nearest of them.
    pub(crate) fn unknown<'n>(what: &str, name: &str, known: impl IntoIterator<Item = &'n str>) -> Self {
        let known: Vec<&str> = known.into_iter().collect();
        Self::new(unknown_word(name, &known, what).unwrap_or_default())
    }

    /// The error of an API whose answer is a `Status`.
    pub(crate) fn of_status(status: Value) -> Self {
        let message = status.get("message").and_then(Value::as_str).unwrap_or("the API refused the request").to_owned();
        Self { message, status: Some(status), ..Self::default() }
    }

    /// The same, with a line of a text.
    pub(crate) fn at(self, file: &str, line: u64) -> Self {
        Self { place: Some((file.to_owned(), line, 0)), ..self }
    }

    pub(crate) fn to_json(&self) -> Value {
        let mut error = Map::from_iter([("message".to_owned(), json!(self.message))]);
        if let Some((file, line, column)) = self.place.as_ref().filter(|(_, line, _)| *line > 0) {
            error.insert("file".to_owned(), json!(file));
            error.insert("line".to_owned(), json!(line));
            if *column > 0 {
                error.insert("column".to_owned(), json!(column));
            }
        }
        if let Some(status) = &self.status {
            error.insert("status".to_owned(), status.clone());
        }
        if self.problems.len() > 1 {
            error.insert("problems".to_owned(), json!(self.problems));
        }
        Value::Object(error)
    }
}

impl From<Problem> for LabError {
    fn from(problem: Problem) -> Self {
        let place = Some((problem.file.display().to_string(), problem.line, problem.column));
        Self { message: problem.message, place, ..Self::default() }
    }
}

impl From<Vec<Problem>> for LabError {
    fn from(problems: Vec<Problem>) -> Self {
        let each: Vec<Value> = problems.iter().map(|problem| Self::from(problem.clone()).to_json()).collect();
        let first = problems.into_iter().next().map(Self::from).unwrap_or_default();
        Self { problems: each, ..first }
    }
}

impl From<coracle_cluster::Error> for LabError {
    fn from(error: coracle_cluster::Error) -> Self {
        Self::new(error.to_string())
    }
}

impl From<NotChanged> for LabError {
    fn from(why: NotChanged) -> Self {
        Self::new(why.to_string())
    }
}

impl From<lesson::Error> for LabError {
    fn from(error: lesson::Error) -> Self {
        match error {
            lesson::Error::Untrue(problems) => problems.into(),
            other => Self::new(other.to_string()),
        }
    }
}

/// Why a step ended.
pub(crate) fn of_outcome(outcome: Outcome, file: &str) -> LabError {
    match outcome {
        Outcome::Passed => LabError::new("it passed"),
        Outcome::Failed(failure) | Outcome::NotInTime(failure) | Outcome::NothingMatched(failure) => {
            let Failure { what, expected, found, line, .. } = failure;
            let error = LabError::new(format!("{what}: expected {expected}, found {found}"));
            line.into_iter().fold(error, |error, line| error.at(file, line))
        }
    }
}
