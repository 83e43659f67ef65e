use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use coracle_expression::{Expression, Session, Variables};
use coracle_journal::{Events, Recorder};
use coracle_scenario::parse::Problem;
use coracle_scenario::{Mode, Options, Scenario, execute};
use coracle_viewer as shown;
use coracle_yaml::Spanned;

use crate::difference::first_difference;
use crate::environment::{ENTRIES, entries as entries_schema, entry as entry_schema};
use crate::file::{AnswerPlace, Lesson, Spec};
use crate::finding::{FoundEntries, find};
use crate::plan::{Plan, Planned, PlannedRefutation, PlannedValue};
use crate::record::Record;
use crate::text::{self, TextPart};

/// How many entries of a run are kept.
const KEPT_ENTRIES: usize = 1_000_000;
/// The cost limit of an expression, which may iterate over whole logs.
const LIMIT: u64 = 100_000_000;

/// Why a lesson is invalid.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A cluster could not run.
    #[error(transparent)]
    Cluster(#[from] coracle_cluster::Error),
    /// A run did not pass its scenario; the summary of its report.
    #[error("a run of the lesson did not pass:\n{0}")]
    NotPassed(String),
    /// One or more statements of the lesson are false.
    #[error("{}", .0.iter().map(Problem::to_string).collect::<Vec<_>>().join("\n"))]
    Untrue(Vec<Problem>),
}

/// A lesson that was run, with the event logs of its runs.
#[derive(Debug)]
pub struct Taught {
    /// The lesson with all of its texts.
    pub lesson: shown::Lesson,
    /// The run.
    pub events: Events,
    /// The contrast.
    pub contrast: Events,
}

impl Taught {
    /// The page with the lesson and both runs.
    pub fn page(&self) -> String {
        shown::lesson_page(&self.lesson, &self.events, &self.contrast)
    }

    /// Writes the page to a file.
    ///
    /// # Errors
    /// If the file's name does not end with `.html`, or it cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), shown::WriteError> {
        shown::write_lesson(&self.lesson, &self.events, &self.contrast, path)
    }
}

/// Runs a lesson and its contrast in virtual time, finds the entries of captions, and checks every claim; `path` is the
/// lesson's file, for messages.
///
/// # Errors
/// If a cluster cannot run, or if any statement of the lesson is false.
pub fn teach(lesson: &Lesson, path: &Path) -> Result<Taught, Error> {
    let [(scenario, file), (other, other_file)] =
        &**lesson.scenarios.as_ref().expect("a lesson that was read has its scenarios");
    let plan = Plan::of(&lesson.spec).expect("a lesson that was read can be compiled");
    let (events, contrast) = (run(scenario, file)?, run(other, other_file)?);
    let mut problems = Problems { path, all: Vec::new() };

    let (mut record, mut other_record) = (Record::of(&events), Record::of(&contrast));
    if lesson.spec.contrast.kubernetes.is_some() {
        let differs = first_difference(record.entries_of_steps(), other_record.entries_of_steps());
        [record.differs, other_record.differs] = differs;
    }
    let found = problems.found(&plan.captions, FoundEntries::new(), &record);
    let context = RunContext::new(&record, &found, &plan.values);
    let captions: Vec<_> = plan.captions.iter().filter_map(|one| problems.caption(one, &context)).collect();

    let record = other_record;
    let found = problems.found(&plan.captions, FoundEntries::new(), &record);
    let found = problems.found(&plan.contrast, found, &record);
    let context = RunContext::new(&record, &found, plan.values.iter().chain(&plan.contrast_values));
    let beside: Vec<_> = plan.contrast.iter().filter_map(|one| problems.caption(one, &context)).collect();
    let mut refuted = Vec::new();
    for one in &plan.refutations {
        let place = plan.captions.iter().position(|planned| planned.caption.name.value == one.refutation.caption.value);
        let place = place.expect("a lesson that was read refutes what it says");
        let text = captions.get(place).map(|caption| caption.text.clone()).unwrap_or_default();
        refuted.extend(problems.refuted(&plan.captions[place], one, &context, text));
    }
    let spec = &lesson.spec;
    let mut answers = Vec::new();
    for answer in &spec.answers.value {
        let place = answer.place.as_ref().and_then(|place| problems.place(place, spec, &captions, &events));
        answers.push(shown::LessonAnswer {
            text: answer.text.clone(),
            right: answer.right,
            why: answer.why.clone(),
            place,
        });
    }
    if !problems.all.is_empty() {
        return Err(Error::Untrue(problems.all));
    }
    let lesson = shown::Lesson {
        number: spec.number,
        name: lesson.metadata.name.clone(),
        title: spec.title.clone(),
        question: one_line(&spec.question),
        answers,
        note: one_line(&spec.note),
        captions,
        contrast: shown::Contrast { title: spec.contrast.title.value.clone(), refuted, captions: beside },
    };
    Ok(Taught { lesson, events, contrast })
}

fn run(scenario: &Scenario, path: &Path) -> Result<Events, Error> {
    let options = Options { mode: Some(Mode::Virtual), strict: true, ..Options::default() };
    let report = execute(scenario, path, &options, |_| Recorder::ring(KEPT_ENTRIES))?;
    if report.passed() { Ok(report.into_events()) } else { Err(Error::NotPassed(report.block())) }
}

/// A text without its line breaks.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What is known about a run when captions are evaluated.
struct RunContext<'t> {
    found: &'t FoundEntries<'t>,
    variables: Variables<'t>,
    values: BTreeMap<String, &'t PlannedValue>,
}

impl<'t> RunContext<'t> {
    fn new(
        record: &'t Record<'t>,
        found: &'t FoundEntries<'t>,
        values: impl IntoIterator<Item = &'t PlannedValue>,
    ) -> Self {
        let mut variables = Variables::default();
        variables.set_typed(ENTRIES, &record.shown, entries_schema());
        for (name, (_, shown)) in found {
            variables.set_typed(name.as_str(), shown, entry_schema());
        }
        let values: BTreeMap<_, _> = values.into_iter().map(|value| (value.name.clone(), value)).collect();
        for (name, value) in &values {
            variables.set_computed(name.as_str(), std::sync::Arc::clone(&value.expression));
        }
        Self { found, variables, values }
    }

    /// The captions that an expression needs and that have no entry.
    fn lacks(&self, expression: &Expression) -> BTreeSet<String> {
        let (mut open, mut seen, mut lacks) = (vec![expression], BTreeSet::new(), BTreeSet::new());
        while let Some(expression) = open.pop() {
            for name in expression.variables().iter().filter(|name| *name != ENTRIES) {
                match self.values.get(name) {
                    Some(value) if seen.insert(name) => open.extend(value.expression.as_ref().as_ref().ok()),
                    Some(_) => {}
                    None if self.found.contains_key(name) => {}
                    None => drop(lacks.insert(name.clone())),
                }
            }
        }
        lacks
    }

    fn holds(&self, claim: &Expression) -> Result<bool, String> {
        Session::new(&self.variables).decide(claim, LIMIT).result.map_err(|why| why.to_string())
    }

    fn text(&self, parts: &[TextPart]) -> Result<String, String> {
        let mut said = String::new();
        for part in parts {
            match part {
                TextPart::Words(words) => said.push_str(words),
                TextPart::Value(expression) => {
                    let value = Session::new(&self.variables).run(expression, LIMIT).result;
                    let value = value.map_err(|why| format!("{{{}}}: {why}", expression.text()))?;
                    said.push_str(&text::shown(&value));
                }
            }
        }
        Ok(one_line(&said))
    }
}

struct Problems<'p> {
    path: &'p Path,
    all: Vec<Problem>,
}

impl Problems<'_> {
    /// Records a problem; returns no value.
    fn note<T>(&mut self, place: &Spanned<String>, message: String) -> Option<T> {
        let (line, column) = (place.location.line(), place.location.column());
        self.all.push(Problem { file: self.path.to_owned(), line, column, message });
        None
    }

    fn found<'e>(
        &mut self,
        captions: &[Planned<'_>],
        mut found: FoundEntries<'e>,
        record: &Record<'e>,
    ) -> FoundEntries<'e> {
        for Planned { caption, condition, .. } in captions {
            match find(&caption.at, condition.as_ref(), record, &found) {
                Ok(Some(entry)) => drop(found.insert(caption.name.value.clone(), (entry, record.shown(entry)))),
                Ok(None) => {}
                Err(why) => {
                    let place = caption.at.condition.as_ref().unwrap_or(&caption.name);
                    self.note::<()>(place, format!("`where` has no answer: {why}"));
                }
            }
        }
        found
    }

    /// Evaluates a caption, if it has an entry and its claim is true.
    fn caption(&mut self, planned: &Planned<'_>, context: &RunContext<'_>) -> Option<shown::Caption> {
        let Planned { caption, text, claim, .. } = planned;
        let name = &caption.name.value;
        let Some((entry, _)) = context.found.get(name) else {
            return self.note(&caption.name, format!("the run has no entry that is what `{name}` says"));
        };
        match context.holds(claim) {
            Ok(true) => {}
            Ok(false) => return self.note(&caption.claim, format!("`{name}` claims what is not true of the run")),
            Err(why) => return self.note(&caption.claim, format!("the claim of `{name}` has no answer: {why}")),
        }
        match context.text(text) {
            Ok(text) => Some(shown::Caption { text, claim: one_line(claim.text()), entry: entry.id }),
            Err(why) => self.note(&caption.text, format!("the text of `{name}` has no value: {why}")),
        }
    }

    /// A claim that is false in the contrast, and what is true there instead.
    fn place(
        &mut self,
        place: &AnswerPlace,
        spec: &Spec,
        captions: &[shown::Caption],
        events: &Events,
    ) -> Option<shown::AnswerPlace> {
        let component = &place.component.value;
        let is_of = |actor: &str| {
            actor.strip_prefix(component.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        if !events.entries.iter().any(|entry| is_of(&entry.actor)) {
            return self.note(&place.component, format!("the run has no entry of the component `{component}`"));
        }
        let named =
            |at: &Spanned<String>| spec.captions.value.iter().position(|caption| caption.name.value == at.value);
        let caption = captions.get(place.at.as_ref().and_then(named).unwrap_or_default())?;
        Some(shown::AnswerPlace { component: component.clone(), entry: caption.entry })
    }

    fn refuted(
        &mut self,
        planned: &Planned<'_>,
        one: &PlannedRefutation<'_>,
        context: &RunContext<'_>,
        text: String,
    ) -> Option<shown::Refuted> {
        let (caption, instead) = (&one.refutation.caption, &one.refutation.instead);
        let name = &caption.value;
        let has_subject = context.found.contains_key(name) && context.lacks(&planned.claim).is_empty();
        if has_subject {
            match context.holds(&planned.claim) {
                Ok(false) => {}
                Ok(true) => return self.note(caption, format!("`{name}` is true in the contrast, too")),
                Err(why) => return self.note(caption, format!("`{name}` has no answer in the contrast: {why}")),
            }
        }
        match context.text(&one.instead) {
            Ok(instead) => Some(shown::Refuted { text, instead }),
            Err(why) => self.note(instead, format!("the text instead of `{name}` has no value: {why}")),
        }
    }
}
