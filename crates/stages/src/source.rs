//! Files of Stages, and the sets that KWOK ships.

use coracle_yaml::{InvalidFile, YamlError, YamlNode};

use crate::built_in::built_in;
use crate::stage::Stage;

/// Reads the set `fast`, `general` or `chaos`, or else a file of Stages.
///
/// An invalid Stage, or one with an unsupported feature, makes the whole file invalid.
pub fn read_stages(name: &str) -> Result<Vec<Stage>, InvalidFile> {
    if let Some(files) = built_in(name) {
        let read = |(file, text): &(&str, &str)| parse(text).map_err(|error| InvalidFile::new(*file, error));
        let stages = files.map(read).collect::<Result<Vec<_>, _>>()?;
        return Ok(stages.into_iter().flatten().collect());
    }
    let read = std::fs::read_to_string(name).map_err(|error| {
        let message = format!("cannot be read: {error}");
        InvalidFile::new(name, YamlError { line: 0, path: String::new(), message })
    })?;
    parse(&read).map_err(|error| InvalidFile::new(name, error))
}

/// The Stages of a text, in their order.
pub(crate) fn parse(text: &str) -> Result<Vec<Stage>, YamlError> {
    let documents = YamlNode::parse_all(text)?;
    if documents.is_empty() {
        return Err(YamlError { line: 0, path: String::new(), message: "holds no Stage".to_owned() });
    }
    documents.iter().map(Stage::read).collect()
}
