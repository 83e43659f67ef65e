//! The site of `coracle learn`: the list of lessons, each lesson, and a lesson's run with a change.
//!
//! ```text
//! GET /SECRET/               the list
//! GET /SECRET/lesson/NAME    the page of a lesson; its runs happen at the first request
//! GET /SECRET/change/NAME    the lesson's run with the change of the query, over the run without it
//! GET /SECRET/site.js, /SECRET/site.css
//! ```
//! One run happens at a time. A request for a lesson waits for its turn, and a change is refused meanwhile.

mod choices;
mod form;
mod index;
mod simple_page;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use coracle_journal::{EntryId, Events, Recorder};
use coracle_lesson::{Lesson, lessons, teach};
use coracle_scenario::{BuiltIn, ChangeOutcome, Mode, Options, parse_change, rerun};
use coracle_viewer::serve::{PageAnswer, PageHandler, PageRequest};
use coracle_viewer::{RunPair, page_of_site, pair_page, refused_page};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::{Semaphore, SemaphorePermit};

use self::choices::choices;
use self::form::Form;
use self::simple_page::simple_page;

/// How many entries of a run are kept.
const KEPT_ENTRIES: usize = 1_000_000;
/// How many more events than the lesson's run a changed run may have. It ends there.
const MORE_EVENTS: u64 = 200_000;
/// The names of the runs.
const CALLED: [&str; 2] = ["as it was", "with your change"];
/// The file that a change is read from, in messages.
const CHANGE: &str = "change";

/// All lessons, and the runs of those that were opened.
pub(crate) struct LessonPages {
    lessons: Vec<Lesson>,
    shown: Mutex<BTreeMap<String, Arc<Shown>>>,
    /// The turn of a run.
    turn: Semaphore,
}

/// A lesson that was run.
struct Shown {
    page: String,
    events: Events,
}

impl LessonPages {
    pub(crate) fn new() -> Self {
        Self { lessons: lessons(), shown: Mutex::default(), turn: Semaphore::new(1) }
    }

    fn place(&self, name: &str) -> Option<usize> {
        self.lessons.iter().position(|lesson| lesson.metadata.name == name)
    }

    async fn lesson(&self, name: &str) -> Option<PageAnswer> {
        let place = self.place(name)?;
        Some(match self.shown(place).await {
            Ok(shown) => PageAnswer::page(shown.page.clone()),
            Err(why) => PageAnswer::page(simple_page("The lesson did not run", &[&why])),
        })
    }

    /// A lesson with its runs, which happen at the first call.
    async fn shown(&self, place: usize) -> Result<Arc<Shown>, String> {
        let name = &self.lessons[place].metadata.name;
        let known = || self.shown.lock().get(name).cloned();
        if let Some(shown) = known() {
            return Ok(shown);
        }
        let _turn = self.turn.acquire().await.map_err(|error| error.to_string())?;
        if let Some(shown) = known() {
            return Ok(shown);
        }
        let lesson = self.lessons[place].clone();
        #[expect(clippy::disallowed_methods, reason = "the run has a clock of its own")]
        let taught = tokio::task::spawn_blocking(move || teach(&lesson, &path_of(&lesson))).await;
        let taught = taught.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
        let page = page_of_site(&taught.page(), "../", &self.data(place, &taught));
        let shown = Arc::new(Shown { page, events: taught.events });
        self.shown.lock().insert(name.clone(), Arc::clone(&shown));
        Ok(shown)
    }

    /// What the script of the site needs to know on the page of a lesson.
    fn data(&self, place: usize, taught: &coracle_lesson::Taught) -> Value {
        let caption = |found: Option<&coracle_viewer::Caption>| found.map_or(EntryId(0), |caption| caption.entry);
        let captions = &taught.lesson.captions;
        let named = |lesson: &Lesson| json!({"name": lesson.metadata.name, "title": lesson.spec.title});
        json!({
            "kind": "lesson",
            "name": taught.lesson.name,
            "number": taught.lesson.number,
            "of": self.lessons.len(),
            "first": caption(captions.first()),
            "last": caption(captions.last()),
            "next": self.lessons.get(place + 1).map(named),
            "choices": choices(&taught.events),
        })
    }

    async fn change(&self, name: &str, query: &str) -> Option<PageAnswer> {
        let place = self.place(name)?;
        let shown = match self.shown(place).await {
            Ok(shown) => shown,
            Err(why) => return Some(PageAnswer::page(simple_page("The lesson did not run", &[&why]))),
        };
        let Ok(turn) = self.turn.try_acquire() else {
            let why = "Another run has not ended yet. Only one runs at a time: load this page again in a moment.";
            return Some(PageAnswer::unavailable(simple_page("A run is under way", &[why])));
        };
        let form = Form::of(query);
        let page = match form.step() {
            Ok(step) => self.changed(place, &shown, form.at(), step, turn).await,
            Err(why) => refused_page(&shown.events, form.at(), &why),
        };
        let lesson = &self.lessons[place];
        let data = json!({
            "kind": "change",
            "name": name,
            "number": lesson.spec.number,
            "of": self.lessons.len(),
            "next": Value::Null,
        });
        Some(PageAnswer::page(page_of_site(&page, "../", &data)))
    }

    /// The page of a lesson's run with a step after an event, over the run without it; if the step is refused, the page
    /// of that run with the reason.
    async fn changed(
        &self,
        place: usize,
        shown: &Arc<Shown>,
        at: EntryId,
        step: String,
        turn: SemaphorePermit<'_>,
    ) -> String {
        let (lesson, was) = (self.lessons[place].clone(), Arc::clone(shown));
        #[expect(clippy::disallowed_methods, reason = "the run has a clock of its own")]
        let ended = tokio::task::spawn_blocking(move || with_change(&lesson, &was.events, at, &step)).await;
        drop(turn);
        ended.unwrap_or_else(|error| refused_page(&shown.events, at, &error.to_string()))
    }
}

/// Runs a lesson's scenario with a step after an event.
fn with_change(lesson: &Lesson, was: &Events, at: EntryId, step: &str) -> String {
    let refused = |why: &str| refused_page(was, at, why);
    let (scenario, path) = lesson.scenario();
    let change = match parse_change(CHANGE.as_ref(), step, at, scenario, &BuiltIn::default()) {
        Ok(change) => change,
        Err(problem) => return refused(&problem.message),
    };
    let options = Options {
        mode: Some(Mode::Virtual),
        strict: true,
        most_events: Some(was.entries.len() as u64 + MORE_EVENTS),
        ..Options::default()
    };
    match rerun(scenario, path, &options, &change, Some(was.clone()), |_| Recorder::ring(KEPT_ENTRIES)) {
        Ok(both) => match &both.new.fate {
            Some(ChangeOutcome::Refused { why }) => refused(why),
            _ => pair_page(&RunPair {
                one: &both.was,
                other: both.new.events(),
                called: CALLED,
                divergence: both.divergence.clone(),
            }),
        },
        Err(why) => refused(&why.to_string()),
    }
}

/// The file of a built-in lesson, for messages.
fn path_of(lesson: &Lesson) -> PathBuf {
    PathBuf::from(format!("lessons/{}.yaml", lesson.metadata.name))
}

impl PageHandler for LessonPages {
    async fn answer(&self, request: PageRequest) -> Option<PageAnswer> {
        match request.path.split_once('/') {
            None if request.path.is_empty() => Some(PageAnswer::page(index::page(&self.lessons))),
            None if request.path == "site.js" => Some(PageAnswer::script(include_str!("site.js"))),
            None if request.path == "site.css" => Some(PageAnswer::style(include_str!("site.css"))),
            Some(("lesson", name)) => self.lesson(name).await,
            Some(("change", name)) => self.change(name, &request.query).await,
            _ => None,
        }
    }
}
