use serde::Deserialize;
use serde_json::Value;
use serde_saphyr::Spanned;

/// An object in a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// The file and the line.
    pub place: String,
    /// The object.
    pub value: Value,
}

#[derive(Deserialize)]
struct Items {
    items: Vec<Spanned<Value>>,
}

/// Reads the objects of a text of YAML documents or JSON. The items of lists are objects; empty documents are skipped.
///
/// # Errors
/// The place and the error.
pub fn read_documents(file: &str, text: &str) -> Result<Vec<Document>, String> {
    let wrong = |error: serde_saphyr::Error| format!("{file}: {}", error.without_snippet());
    let whole: Vec<Spanned<Value>> = serde_saphyr::from_multiple(text).map_err(wrong)?;
    let place = |line: u64| format!("{file}:{line}");
    let is_list =
        |value: &Value| value["kind"].as_str().is_some_and(|kind| kind.ends_with("List")) && value["items"].is_array();
    // Only lists have items, so the lines of items are read only if there is a list.
    let has_list = whole.iter().any(|document| is_list(&document.value));
    let items = if has_list { items_of(text, &whole, is_list).map_err(wrong)? } else { Vec::new() };
    let mut items = items.into_iter();
    let mut documents = Vec::new();
    for document in whole {
        if is_list(&document.value) {
            let of_this = document.value["items"].as_array().map_or(0, Vec::len);
            let found = items.by_ref().take(of_this);
            documents.extend(found.map(|item| Document { place: place(item.referenced.line()), value: item.value }));
        } else if !document.value.is_null() {
            documents.push(Document { place: place(document.referenced.line()), value: document.value });
        }
    }
    Ok(documents)
}

/// The items of all lists, with their lines.
fn items_of(
    text: &str,
    whole: &[Spanned<Value>],
    is_list: impl Fn(&Value) -> bool,
) -> Result<Vec<Spanned<Value>>, serde_saphyr::Error> {
    if let [_] = whole {
        return Ok(serde_saphyr::from_str::<Items>(text)?.items);
    }
    // Among several documents an item has the line of its list.
    let lists = whole.iter().filter(|document| is_list(&document.value));
    let spread = lists.flat_map(|list| {
        let items = list.value["items"].as_array().cloned().unwrap_or_default();
        items.into_iter().map(|value| Spanned::new(value, list.referenced, list.defined))
    });
    Ok(spread.collect())
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
            read("{\"kind\": \"PodList\", \"items\": [\n{\"metadata\": {\"name\": \"a\"}}]}"),
            [pair("f:2", "a")]
        );
    }

    #[test]
    fn invalid_yaml_is_refused_with_file_and_line() {
        let wrong = read_documents("f", "a: 1\nb: [").unwrap_err();
        assert!(wrong.starts_with("f: ") && wrong.contains("line"), "{wrong}");
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in ".{0,60}") {
            let _ = read_documents("f", &text);
        }
    }
}
