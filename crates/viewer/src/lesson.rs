use coracle_journal::EntryId;
use serde::Serialize;

/// A lesson about a run for presentation: all texts are complete, and the log has proved them true.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Lesson {
    /// Its position in the list, from 1.
    pub number: u32,
    /// Its short name.
    pub name: String,
    /// Its subject, in one line.
    pub title: String,
    /// The question to think about before the run is shown.
    pub question: String,
    /// Two to four answers, of which one is right.
    pub answers: Vec<LessonAnswer>,
    /// Additional information; may be empty.
    pub note: String,
    /// The captions of the run, in order.
    pub captions: Vec<Caption>,
    /// A run in which some of the captions are false.
    pub contrast: Contrast,
}

/// A possible answer to the question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LessonAnswer {
    /// The answer.
    pub text: String,
    /// Whether it is the right one.
    pub right: bool,
    /// Why it is right or wrong.
    pub why: String,
    /// Where it is drawn into the picture.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<AnswerPlace>,
}

/// The place of an answer in the picture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AnswerPlace {
    /// The component that would have acted.
    pub component: String,
    /// The entry at which it would have acted.
    pub entry: EntryId,
}

impl LessonAnswer {
    /// The letter of the answer at an index, in the terminal, on the page and in the document: `a` is the first.
    pub fn letter(place: usize) -> char {
        char::from_u32('a' as u32 + u32::try_from(place).unwrap_or_default()).unwrap_or('?')
    }
}

/// A sentence about an entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Caption {
    /// The sentence.
    pub text: String,
    /// The claim that proved the sentence, in CEL.
    pub claim: String,
    /// The entry.
    pub entry: EntryId,
}

/// A run in which claims of a lesson are false.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Contrast {
    /// What is different, in one line.
    pub title: String,
    /// The captions that are false there.
    pub refuted: Vec<Refuted>,
    /// The captions of the run.
    pub captions: Vec<Caption>,
}

/// A caption of a lesson that is false in its contrast.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Refuted {
    /// The caption of the lesson's run.
    pub text: String,
    /// What is true in the contrast instead.
    pub instead: String,
}
