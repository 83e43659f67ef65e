//! Public items that nothing uses.

use std::collections::BTreeMap;

use coracle_tests::{files_below, root};

use crate::Finding;
use crate::source::{Kind, Source};

/// Public functions, types and constants whose name stands nowhere else: not in another place of the product, nor in
/// tests, benchmarks, examples and documents.
pub(crate) fn check(sources: &[Source], findings: &mut Vec<Finding>) {
    let mentions = mentions();
    for source in sources {
        let code = source.code();
        for at in 2..code.len() {
            let is_item =
                matches!(code[at - 1].text.as_str(), "fn" | "struct" | "enum" | "trait" | "type" | "const" | "static");
            let is_public = matches!(code[at - 2].text.as_str(), "pub" | ")" | "async" | "const");
            if !is_item || !is_public || code[at].kind != Kind::Word {
                continue;
            }
            let name = &code[at].text;
            if mentions.get(name).copied().unwrap_or_default() <= 1 {
                let what = format!("nothing uses `{name}`: remove it");
                findings.push(Finding::new(
                    "public items without use",
                    &source.package,
                    &source.path,
                    code[at].line,
                    what,
                ));
            }
        }
    }
}

/// How often each word stands in Rust files and documents.
fn mentions() -> BTreeMap<String, usize> {
    let root = root();
    let mut texts = files_below(&root.join("crates"), ".rs");
    texts.extend(
        ["tests", "xtask", "fuzz", "examples"]
            .iter()
            .map(|name| root.join(name))
            .filter(|path| path.is_dir())
            .flat_map(|path| files_below(&path, ".rs")),
    );
    texts.extend(files_below(&root.join("docs"), ".md"));
    let mut mentions = BTreeMap::new();
    for path in texts {
        let text = std::fs::read_to_string(path).unwrap();
        for word in text.split(|sign: char| !sign.is_alphanumeric() && sign != '_').filter(|word| !word.is_empty()) {
            *mentions.entry(word.to_owned()).or_default() += 1;
        }
    }
    mentions
}
