//! Files of Stages, and the sets that KWOK ships.

use std::path::Path;

use crate::built_in::built_in;
use crate::document::refusal::{FileRefusal, Refusal};
use crate::document::tree::Tree;
use crate::stage::Stage;

/// Reads the set `fast`, `general` or `chaos`, or else a file of Stages.
///
/// An invalid Stage, or one with an unsupported feature, makes the whole file invalid.
pub fn read_stages(name: &str) -> Result<Vec<Stage>, FileRefusal> {
    if let Some(files) = built_in(name) {
        let read = |(file, text): &(&str, &str)| parse(text).map_err(|refusal| in_file(file, refusal));
        let stages = files.map(read).collect::<Result<Vec<_>, _>>()?;
        return Ok(stages.into_iter().flatten().collect());
    }
    let read = std::fs::read_to_string(name).map_err(|error| {
        let message = format!("cannot be read: {error}");
        in_file(name, Refusal { line: 0, path: String::new(), message })
    })?;
    parse(&read).map_err(|refusal| in_file(name, refusal))
}

fn in_file(file: &str, refusal: Refusal) -> FileRefusal {
    FileRefusal { file: Path::new(file).to_owned(), refusal }
}

/// The Stages of a text, in their order.
pub(crate) fn parse(text: &str) -> Result<Vec<Stage>, Refusal> {
    let documents = Tree::of_yaml(text)?;
    if documents.is_empty() {
        return Err(Refusal { line: 0, path: String::new(), message: "holds no Stage".to_owned() });
    }
    documents.iter().map(Stage::read).collect()
}
