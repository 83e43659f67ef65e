use crate::Lesson;
use crate::file::Spec;

/// How fast a learner reads, in words per minute: these are texts to think about.
const WORDS_A_MINUTE: usize = 120;
/// How long a learner looks at the event of a caption, in seconds.
const SECONDS_A_CAPTION: usize = 15;
/// How long a learner thinks about the question, in seconds.
const SECONDS_OF_THOUGHT: usize = 30;

impl Lesson {
    /// How many minutes the lesson takes: the time to read its texts, to look at each event, and to think.
    pub fn minutes(&self) -> usize {
        let Spec { title, question, answers, note, captions, contrast, .. } = &self.spec;
        let words = |text: &str| text.split_whitespace().count();
        let answers: usize = answers.value.iter().map(|answer| words(&answer.text) + words(&answer.why)).sum();
        let captions: Vec<_> = captions.value.iter().chain(&contrast.captions.value).collect();
        let shown: usize = captions.iter().map(|caption| words(&caption.text.value)).sum();
        let instead: usize = contrast.refutes.value.iter().map(|refuted| words(&refuted.instead.value)).sum();
        let all =
            words(title) + words(question) + words(note) + words(&contrast.title.value) + answers + shown + instead;
        let seconds = all * 60 / WORDS_A_MINUTE + captions.len() * SECONDS_A_CAPTION + SECONDS_OF_THOUGHT;
        seconds.div_ceil(60)
    }
}
