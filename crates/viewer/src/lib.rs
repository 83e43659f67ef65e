//! Renderings of a run: pictures, sentences, stories and reports. Each is a function of the event log only.
//!
//! ```text
//! journal::Events --Summary--> the checks and their results, counts
//!     |--lanes, sentence, story, why--> terminal
//!     |--RunPair (two runs)--Divergence--differ--> terminal
//!     |--report--> RUN.html | RUN.json | RUN.xml (JUnit) | RUN.md | RUN.perfetto.json
//!     \--page::data--> what the page draws, as JSON --html--> viewer.html (page/*.js, joined by `cargo xtask viewer`)
//! ```
//! Start at [`Summary`] and [`report`].
//! Not here: what records (`journal`), and what runs (`scenario`).

mod bands;
mod changed;
mod columns;
mod counts;
mod differ;
mod divergence;
mod find;
mod hello;
mod html;
mod json;
mod junit;
mod lanes;
mod lesson;
mod markdown;
mod not_in_log;
mod page;
mod perfetto;
mod read;
mod report;
mod requester;
mod sentence;
#[cfg(feature = "serve")]
pub mod serve;
mod steps;
mod story;
mod struck;
mod summary;
mod templates;
mod why;

pub use columns::Columns;
pub use counts::Counts;
pub use differ::{differ, how_they_differ, where_they_part};
pub use divergence::{Act, Count, Difference, Divergence, DivergentEntries, RunPair};
pub use find::{find, place};
pub use hello::hello;
#[cfg(feature = "serve")]
pub use html::page_of_site;
pub use html::{lesson_page, pair_page, refused_page};
pub use junit::JunitReport;
pub use junit::escaped as escaped_xml;
pub use lanes::{Lane, Picture, lanes};
pub use lesson::{AnswerPlace, Caption, Contrast, Lesson, LessonAnswer, Refuted};
pub use not_in_log::NotInLog;
pub use page::{data, data_of_lesson, data_of_pair, packed};
pub use read::{OtherContent, Read, ReadError, read};
pub use report::{
    Format, NoFormat, WriteError, report, write, write_again, write_cut, write_html, write_lesson, write_pair,
    write_refused,
};
pub use requester::Requesters;
pub use sentence::sentence;
pub use story::{Telling, story};
pub use summary::{Check, Failure, Outcome, Summary, author};
pub use why::{Link, chain, why};
