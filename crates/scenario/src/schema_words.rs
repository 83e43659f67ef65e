//! The words, texts and objects of files as types that only have a JSON Schema, made from the parser's lists of words.

mod fault;
mod words;

pub(crate) use self::fault::{FaultAction, FaultLength};
pub use self::words::schema_of_words;
pub(crate) use self::words::{
    AnyComponentWord, ChangeWord, ComponentWord, DurationText, FaultyComponentWord, KindWord, MergePatch, ModeText,
    MomentWord, NodeText, OwnInformersWord, PartialObject, PluralWord, PropagationWord, ReleaseText, RequestWord,
    SenderWord, ToyWord, VerbWord, WholeObject, WriteVerbWord,
};
