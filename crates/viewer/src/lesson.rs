use coracle_journal::EntryId;
use serde::Serialize;

/// A lesson about a run, as it is told: all of its texts are whole, and the log says that they are true.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Lesson {
    /// Its place in the list, from 1.
    pub number: u32,
    /// Its short name.
    pub name: String,
    /// What it is about, in a line.
    pub title: String,
    /// What to guess at before the run is seen.
    pub question: String,
    /// Two to four answers, of which one is right.
    pub answers: Vec<Answer>,
    /// What to know beside the run; may be empty.
    pub note: String,
    /// What there is to see, in order.
    pub captions: Vec<Caption>,
    /// A run in which some of that is not so.
    pub contrast: Contrast,
}

/// An answer to guess at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Answer {
    /// The answer.
    pub text: String,
    /// Whether it is the right one.
    pub right: bool,
    /// Why it is right, or what is wrong with it.
    pub why: String,
}

impl Answer {
    /// By which letter the answer at a place is called, in terminal, page and document: `a` is the first.
    pub fn letter(place: usize) -> char {
        char::from_u32('a' as u32 + u32::try_from(place).unwrap_or_default()).unwrap_or('?')
    }
}

/// A sentence about an entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Caption {
    /// The sentence.
    pub text: String,
    /// What was checked for it to be said, in CEL.
    pub claim: String,
    /// The entry.
    pub entry: EntryId,
}

/// A run in which claims of a lesson are false.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Contrast {
    /// What is different, in a line.
    pub title: String,
    /// What is not so there.
    pub refuted: Vec<Refuted>,
    /// What there is to see.
    pub captions: Vec<Caption>,
}

/// A sentence of a lesson that is not so in its contrast.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Refuted {
    /// The sentence, of the lesson's run.
    pub text: String,
    /// What is otherwise.
    pub how: String,
    /// What is false there, in CEL; empty where nothing is there of which it could be.
    pub claim: String,
}
