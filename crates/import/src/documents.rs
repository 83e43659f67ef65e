use coracle_yaml::{InvalidFile, YamlNode, YamlValue};
use serde_json::Value;

/// An object in a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// The file and the line.
    pub place: String,
    /// The object.
    pub value: Value,
}

/// Reads the objects of a text of YAML documents or JSON. The items of lists are objects; empty documents are skipped.
///
/// # Errors
/// The place and the error.
pub fn read_documents(file: &str, text: &str) -> Result<Vec<Document>, String> {
    let whole = YamlNode::parse_all(text).map_err(|error| InvalidFile::new(file, error).to_string())?;
    let objects = whole.iter().flat_map(|document| items(document).unwrap_or(std::slice::from_ref(document)));
    let document = |node: &YamlNode| Document { place: format!("{file}:{}", node.line()), value: node.into() };
    Ok(objects.map(document).collect())
}

/// The items, if the document is a list of objects.
fn items(document: &YamlNode) -> Option<&[YamlNode]> {
    let YamlValue::Object(fields) = &document.value else { return None };
    let field = |name: &str| fields.iter().find(|field| field.name == name).map(|field| &field.node.value);
    match (field("kind"), field("items")) {
        (Some(YamlValue::Scalar(kind)), Some(YamlValue::List(items))) => {
            kind.as_str().is_some_and(|kind| kind.ends_with("List")).then_some(items)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Vec<(String, String)> {
        let documents = read_documents("f", text).unwrap();
        documents.into_iter().map(|document| (document.place, document.value["metadata"]["name"].to_string())).collect()
    }

    #[test]
    fn lists_documents_and_json_are_read_with_their_lines() {
        let pair = |place: &str, name: &str| (place.to_owned(), format!("{name:?}"));
        let list = "apiVersion: v1\nkind: List\nitems:\n- metadata:\n    name: a\n- metadata: {name: b}\n";
        assert_eq!(read(list), [pair("f:4", "a"), pair("f:6", "b")]);
        let documents = "---\nmetadata: {name: a}\n---\n# nothing\n---\nmetadata: {name: b}\n";
        assert_eq!(read(documents), [pair("f:2", "a"), pair("f:6", "b")]);
        assert_eq!(
            read(&format!("{list}---\nkind: PodList\nitems:\n- metadata: {{name: c}}\n")),
            [pair("f:4", "a"), pair("f:6", "b"), pair("f:10", "c")]
        );
        assert_eq!(
            read("{\"kind\": \"PodList\", \"items\": [\n{\"metadata\": {\"name\": \"a\"}}]}"),
            [pair("f:2", "a")]
        );
    }

    #[test]
    fn invalid_yaml_is_refused_with_file_and_line() {
        let wrong = read_documents("f", "a: 1\nb: [").unwrap_err();
        assert!(wrong.starts_with("f:2: "), "{wrong}");
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in ".{0,60}") {
            let _ = read_documents("f", &text);
        }
    }
}
