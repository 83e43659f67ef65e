//! Renderings of a run: pictures, sentences, stories and reports, each a function of its event log and of nothing else.
//!
//! ```text
//! journal::Events --Summary--> what was checked, what became of it, how often what happened
//!     |--lanes, sentence, story, why--> terminal
//!     |--Both (two runs)--Parting--differ--> terminal
//!     |--report--> RUN.html | RUN.json | RUN.xml (JUnit) | RUN.md | RUN.perfetto.json
//!     \--page::data--> what the page draws, as JSON --html--> viewer.html (page/*.js, joined by `cargo xtask viewer`)
//! ```
//! Start at [`Summary`] and [`report`].
//! Not here: who records (`journal`), and who runs (`scenario`).

mod asker;
mod changed;
mod counts;
mod differ;
mod find;
mod html;
mod json;
mod junit;
mod lanes;
mod lesson;
mod markdown;
mod nothing;
mod page;
mod parting;
mod perfetto;
mod read;
mod report;
mod sentence;
#[cfg(feature = "serve")]
pub mod serve;
mod steps;
mod story;
mod summary;
mod templates;
mod why;

pub use asker::Askers;
pub use counts::Counts;
pub use differ::{differ, how_they_differ, where_they_part};
pub use find::{find, place};
pub use html::lesson_page;
pub use lanes::{Picture, lanes};
pub use lesson::{Answer, Caption, Contrast, Lesson, Refuted};
pub use nothing::NothingToTell;
pub use page::{data, packed};
pub use parting::{Act, Both, Count, Difference, Parted, Parting};
pub use read::{Beside, Read, ReadError, read};
pub use report::{
    Format, NoFormat, WriteError, report, write, write_again, write_both, write_cut, write_html, write_lesson,
    write_refused,
};
pub use sentence::sentence;
pub use story::{Telling, story};
pub use summary::{Check, Failure, Outcome, Summary, author};
pub use why::{Link, chain, why};
