use serde::Serialize;

use crate::texts::Texts;
use crate::words::{Word, uuid_text};

/// JSON that is being written. Serialized JSON is copied without parsing it.
pub(crate) struct Line<'l>(pub(crate) &'l mut Vec<u8>);

impl Line<'_> {
    pub(crate) fn raw(&mut self, text: &str) -> &mut Self {
        self.0.extend_from_slice(text.as_bytes());
        self
    }

    pub(crate) fn json<T: Serialize + ?Sized>(&mut self, what: &T) -> &mut Self {
        serde_json::to_writer(&mut *self.0, what).expect("memory takes what is written");
        self
    }

    /// A text that entries share.
    pub(crate) fn shared(&mut self, number: u32, texts: &Texts) -> &mut Self {
        if texts.is_plain(number) {
            self.raw("\"").raw(texts.text(number)).raw("\"")
        } else {
            self.json(texts.text(number))
        }
    }

    pub(crate) fn word(&mut self, word: &Word<'_>, texts: &Texts) -> &mut Self {
        match word {
            Word::Bool(is) => self.raw(if *is { "true" } else { "false" }),
            Word::Natural(number) => self.json(number),
            Word::Uuid(bytes) => self.raw("\"").raw(&uuid_text(bytes)).raw("\""),
            Word::Shared(number) => self.shared(*number, texts),
            Word::Text(text) => self.json(*text),
            Word::Json(json) => self.raw(json),
        }
    }
}
