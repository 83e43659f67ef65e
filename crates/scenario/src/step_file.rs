use std::num::NonZeroUsize;
use std::path::Path;

use coracle_journal::EntryId;
use coracle_yaml::Spanned;
use serde_json::Value;

use crate::change::Change;
use crate::file::{Operation, Scenario, Step};
use crate::parse::{Checker, Known, Problem, Vocabulary, hash, read_text, yaml};

/// Reads a file with a change for a run of a scenario: a step with its name, one operation, or a list of operations, in
/// the format of a scenario. It can use the names that the scenario's steps give to objects.
///
/// # Errors
/// If the file cannot be read or has another format, with its line and column.
pub fn read_change(
    path: &Path,
    at: EntryId,
    scenario: &Scenario,
    vocabulary: &dyn Vocabulary,
) -> Result<Change, Problem> {
    parse_change(path, &read_text(path)?, at, scenario, vocabulary)
}

/// Like [`read_change`], for a text that was read already; `path` is for messages and for files named in it.
///
/// # Errors
/// As for [`read_change`].
pub fn parse_change(
    path: &Path,
    text: &str,
    at: EntryId,
    scenario: &Scenario,
    vocabulary: &dyn Vocabulary,
) -> Result<Change, Problem> {
    let unnamed =
        |operations| Step { name: format!("put in after #{}", at.0), user: None, operations, times: NonZeroUsize::MIN };
    let step = match yaml(path, text)? {
        Value::Object(map) if map.contains_key("try") || map.contains_key("name") => yaml(path, text)?,
        Value::Array(_) => unnamed(yaml(path, text)?),
        _ => unnamed(vec![yaml::<Spanned<Operation>>(path, text)?]),
    };
    if step.operations.is_empty() {
        let message = "expected at least one operation, such as `delete`".to_owned();
        return Err(Problem { file: path.to_owned(), line: 1, column: 1, message });
    }
    let mut known = Known::of(scenario, path);
    known.add(&step, path);
    let check = Checker { path, text, vocabulary, known };
    step.operations.iter().try_for_each(|operation| check.operation(operation))?;
    Ok(Change { at, step, path: path.to_owned(), hash: hash(text) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BuiltIn, parse};

    fn read(text: &str) -> Result<Change, String> {
        let head = "apiVersion: coracle.dev/v1alpha1\nkind: Scenario\nmetadata: {name: x}\n";
        let vocabulary = BuiltIn::default();
        let scenario = parse::parse(Path::new("x.yaml"), &format!("{head}spec: {{steps: []}}\n"), &vocabulary).unwrap();
        parse_change(Path::new("put.yaml"), text, EntryId(412), &scenario, &vocabulary).map_err(|why| why.to_string())
    }

    #[test]
    fn a_step_an_operation_and_a_list_of_operations_can_be_put_in() {
        for (text, name, words) in [
            ("name: a\ntry:\n- sleep: {duration: 1s}\n", "a", &["sleep"][..]),
            ("delete: {ref: {apiVersion: v1, kind: Pod, name: a}}\n", "put in after #412", &["delete"]),
            ("- cordon: {node: node-1}\n- uncordon: {node: node-1}\n", "put in after #412", &["cordon", "uncordon"]),
        ] {
            let step = read(text).unwrap().step;
            assert_eq!(step.name, name);
            assert_eq!(step.operations.iter().map(|operation| operation.value.word()).collect::<Vec<_>>(), words);
        }
    }

    #[test]
    fn an_unknown_operation_is_refused_with_its_place() {
        for (text, message) in [
            ("", "put.yaml:1:1: "),
            ("[]\n", "put.yaml:1:1: expected at least one operation"),
            ("hello\n", "put.yaml:1:1: "),
            ("# a pod\napiVersion: v1\nkind: Pod\n", "put.yaml:2:1: "),
            ("delet: {}\n", "put.yaml:1:1: unknown variant `delet`, expected one of create, apply"),
            ("- delete: {ref: {apiVersion: v1, kind: Pood, name: a}}\n", "put.yaml:1:40: no kind `Pood` in `v1`"),
            ("name: a\ntry:\n- slep: {duration: 1s}\n", "put.yaml:3:3: unknown variant `slep`"),
            ("name: a\n", "put.yaml:1:1: missing field `try`"),
        ] {
            let found = read(text).unwrap_err();
            assert!(found.starts_with(message), "{text:?}: {found}");
        }
    }
}
