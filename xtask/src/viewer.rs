//! `cargo xtask viewer`: joins the modules of `crates/viewer/page` into `crates/viewer/viewer.html`.
//!
//! ```text
//! main.js and what it imports --a function each, that returns its exports--> one script --+
//! style.css ------------------------------------------------------------------------------+--> index.html, with their hashes as policy
//! ```
//! A module says `import { a, b as c } from "./x.js";` or `import x from "htm";`, a statement a line, and
//! `export function`, `export const` or `export class`. No line within a template begins with `//`. Indentation is left out, of licences
//! too, and in styles spaces beside punctuation: the page is copied into every report.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use crate::failure::Failure;

/// The folder of the page's modules, below that of crates.
const PAGE: &str = "viewer/page/";

/// What stands for the modules that others wrote.
const VENDORED: [(&str, &str); 3] =
    [("preact", "vendor/preact.mjs"), ("preact/hooks", "vendor/hooks.mjs"), ("htm", "vendor/htm.mjs")];

/// What the script says of those who wrote parts of it.
const NOTICE: &str = "/* With preact 11.2.0, (c) Jason Miller, and htm 3.1.1, (c) Google Inc.; their licences, MIT and Apache-2.0, \
                      are in the comment at the end of this file. */\n";

/// Writes the page.
pub(crate) fn write() -> Result<(), Failure> {
    std::fs::write(crate_folder().join("viewer.html"), page()?)?;
    Ok(())
}

fn crate_folder() -> PathBuf {
    crates().join("viewer")
}

/// The page without a run.
fn page() -> Result<String, Failure> {
    let folder = crate_folder().join("page");
    let read = |name: &str| std::fs::read_to_string(folder.join(name));
    let style = style(&read("style.css")?);
    let script = script("viewer/page/main.js")?;
    refuse_markup(&[&script, &style])?;
    let policy = format!(
        "default-src 'none'; script-src '{}'; style-src '{}'; base-uri 'none'; form-action 'none'",
        hash(&script),
        hash(&style)
    );
    let index = read("index.html")?;
    let filled = index
        .replacen("@POLICY@", &policy, 1)
        .replacen("@STYLE@", &style, 1)
        .replacen("@SCRIPT@", &script, 1)
        .replacen("@LICENCES@", &licences()?, 1);
    Ok(filled)
}

/// A style sheet as pages hold it.
pub(crate) fn style(text: &str) -> String {
    text.lines().map(|line| format!("\n{}", tight(line))).collect()
}

/// Refuses texts that would end the element that they stand in.
pub(crate) fn refuse_markup(texts: &[&str]) -> Result<(), Failure> {
    let found = ["</script", "</style", "<!--"].into_iter().find(|end| texts.iter().any(|text| text.contains(end)));
    found.map_or(Ok(()), |end| Err(format!("the page's own text holds {end:?}").into()))
}

/// The licences of the parts that others wrote, as a comment of HTML can hold them.
pub(crate) fn licences() -> Result<String, Failure> {
    let read = |name: &str| std::fs::read_to_string(crate_folder().join("page/vendor").join(name));
    let licences = format!("{}\n\n{}", read("LICENSE.preact")?, read("LICENSE.htm")?);
    Ok(licences.lines().map(|line| format!("{}\n", line.trim())).collect::<String>().replace("--", "- -"))
}

/// A line of a style sheet without the spaces that mean nothing there.
fn tight(line: &str) -> String {
    const SPACED: [(&str, &str); 6] = [(": ", ":"), ("; ", ";"), (", ", ","), (" {", "{"), ("{ ", "{"), (";}", "}")];
    SPACED.iter().fold(line.trim().to_owned(), |line, (spaced, tight)| line.replace(spaced, tight))
}

/// A line of a module without the spaces around operators that no text of the page holds.
fn terse(line: &str) -> String {
    const OPERATORS: [&str; 5] = ["=>", "===", "!==", "&&", "||"];
    OPERATORS.iter().fold(line.to_owned(), |line, operator| line.replace(&format!(" {operator} "), operator))
}

/// A hash as a content policy says it.
pub(crate) fn hash(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text.as_bytes())))
}

/// A module and all that it imports, as one script. The path is below the folder of crates.
pub(crate) fn script(path: &str) -> Result<String, Failure> {
    let mut joined = Joined { done: Vec::new(), open: Vec::new(), text: format!("\n\"use strict\";\n{NOTICE}") };
    joined.add(path)?;
    Ok(joined.text)
}

struct Joined {
    done: Vec<String>,
    open: Vec<String>,
    text: String,
}

impl Joined {
    /// Adds a module after those that it imports.
    fn add(&mut self, path: &str) -> Result<(), Failure> {
        if self.done.iter().any(|done| done == path) {
            return Ok(());
        }
        if self.open.iter().any(|open| open == path) {
            return Err(format!("{path} imports itself, by way of {}", self.open.join(", ")).into());
        }
        self.open.push(path.to_owned());
        let source = std::fs::read_to_string(crates().join(path)).map_err(|error| format!("{path}: {error}"))?;
        let (imports, body) = split(&source).map_err(|why| format!("{path}: {why}"))?;
        let mut text = String::new();
        for import in imports {
            let target = place(&import.from, path).ok_or_else(|| format!("{path} imports {:?}", import.from))?;
            self.add(&target)?;
            writeln!(text, "const {}={};", import.pattern, identifier(&target))?;
        }
        let (body, exports) = exported(&body).map_err(|why| format!("{path}: {why}"))?;
        let body = if path.contains("/vendor/") { body } else { terse(&body) };
        let exports = exports.join(",");
        write!(self.text, "const {}=(()=>{{\n{text}{body}\nreturn{{{exports}}};\n}})();\n", identifier(path))?;
        self.open.pop();
        self.done.push(path.to_owned());
        Ok(())
    }
}

/// The folder of all crates.
pub(crate) fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates")
}

/// The file that an import of a module names, below the folder of crates.
fn place(from: &str, importer: &str) -> Option<String> {
    if let Some((_, path)) = VENDORED.iter().find(|(name, _)| *name == from) {
        return Some(format!("{PAGE}{path}"));
    }
    let mut folders: Vec<&str> = importer.split('/').collect();
    folders.pop();
    let mut rest = from.strip_prefix("./").unwrap_or(from);
    while let Some(above) = rest.strip_prefix("../") {
        folders.pop()?;
        rest = above;
    }
    let is_relative = from.starts_with("./") || from.starts_with("../");
    is_relative.then(|| folders.into_iter().chain([rest]).collect::<Vec<_>>().join("/"))
}

/// What a module is called in the script.
fn identifier(path: &str) -> String {
    let path = path.strip_prefix(PAGE).unwrap_or(path);
    let letters = path.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' });
    format!("${}", letters.collect::<String>())
}

struct Import {
    /// `{ a, b: c }` or `{ default: x }`.
    pattern: String,
    from: String,
}

/// A module's imports, and the rest of it without comments and indentation.
fn split(source: &str) -> Result<(Vec<Import>, String), String> {
    let (mut imports, mut body, mut is_comment) = (Vec::new(), String::new(), false);
    for line in source.lines() {
        let trimmed = line.trim_start();
        is_comment |= trimmed.starts_with("/**");
        if is_comment || trimmed.starts_with("//") {
            is_comment &= !trimmed.ends_with("*/");
            continue;
        }
        let mut rest = line;
        while rest.starts_with("import") {
            let (statement, after) = rest.split_once(';').ok_or("an import does not end on its line")?;
            imports.push(import(statement)?);
            rest = after;
        }
        // Whitespace at the beginning of a line means nothing to scripts, nor to htm's templates.
        let rest = rest.trim_start();
        if !rest.is_empty() {
            body.push_str(rest);
            body.push('\n');
        }
    }
    Ok((imports, body))
}

fn import(statement: &str) -> Result<Import, String> {
    let not_understood = || format!("not understood: {statement}");
    let (names, from) =
        statement.strip_prefix("import").and_then(|rest| rest.rsplit_once("from")).ok_or_else(not_understood)?;
    let from = from.trim().trim_matches('"').to_owned();
    let names = names.trim();
    let pattern = match names.strip_prefix('{').and_then(|names| names.strip_suffix('}')) {
        Some(names) => format!("{{{}}}", names.trim().replace(" as ", ":").replace(", ", ",")),
        None if names.chars().all(char::is_alphanumeric) => format!("{{default:{names}}}"),
        None => return Err(not_understood()),
    };
    Ok(Import { pattern, from })
}

/// A body without the word `export`, and the properties that it gives to others.
fn exported(body: &str) -> Result<(String, Vec<String>), String> {
    let mut exports = Vec::new();
    let mut text = body.to_owned();
    // As a minifier writes it, within a line.
    if let Some((before, after)) = body.split_once("export{") {
        let (names, after) = after.split_once('}').ok_or("an export does not end")?;
        for name in names.split(',') {
            exports.push(name.split_once(" as ").map_or(name.to_owned(), |(inner, outer)| format!("{outer}: {inner}")));
        }
        text = format!("{before}{}", after.trim_start_matches(';'));
    }
    if let Some((before, after)) = text.split_once("export default ") {
        exports.push("default: defaultExport".to_owned());
        text = format!("{before};const defaultExport = {after}");
    }
    let mut lines = Vec::new();
    for line in text.lines() {
        let Some(declared) = line.strip_prefix("export ") else {
            lines.push(line.to_owned());
            continue;
        };
        let words = declared.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
        let name = words.clone().find(|word| !["async", "function", "const", "class", ""].contains(word));
        if !["async", "function", "const", "class"].contains(&words.clone().next().unwrap_or_default()) {
            return Err(format!("not understood: {line}"));
        }
        exports.push(name.ok_or("an export has no name")?.to_owned());
        lines.push(declared.to_owned());
    }
    Ok((lines.join("\n"), exports))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_that_is_checked_in_is_what_its_modules_say() {
        let checked_in = std::fs::read_to_string(crate_folder().join("viewer.html")).unwrap();
        assert!(checked_in == page().unwrap(), "crates/viewer/page was changed: run `cargo xtask viewer`");
    }

    #[test]
    fn third_party_files_are_unmodified() {
        let vendor = crate_folder().join("page/vendor");
        let sums = std::fs::read_to_string(vendor.join("SHA256SUMS")).unwrap();
        let listed: Vec<&str> = sums.lines().filter_map(|line| line.split_once("  ").map(|(_, name)| name)).collect();
        assert!(VENDORED.iter().all(|(_, path)| listed.contains(&path.trim_start_matches("vendor/"))), "{listed:?}");
        for line in sums.lines() {
            let (sum, name) = line.split_once("  ").unwrap();
            let found = Sha256::digest(std::fs::read(vendor.join(name)).unwrap());
            assert_eq!(found.iter().map(|byte| format!("{byte:02x}")).collect::<String>(), sum, "{name}");
        }
    }

    #[test]
    fn a_style_is_equal_without_spaces_around_punctuation() {
        assert_eq!(
            tight("  .a > b, p :hover { margin: 0 -2px; color: red; }"),
            ".a > b,p :hover{margin:0 -2px;color:red}"
        );
        assert_eq!(tight("@media (max-width: 9px) {"), "@media (max-width:9px){");
    }

    #[test]
    fn a_module_is_the_same_without_spaces_around_operators() {
        assert_eq!(terse("a && b || (c) => c !== \"d = e\""), "a&&b||(c)=>c!==\"d = e\"");
    }

    #[test]
    fn a_module_becomes_a_function_that_returns_its_exports() {
        let (imports, body) = split("import { a, b as c } from \"./x.js\";\n// why\nexport const d = a;\n").unwrap();
        assert_eq!((&*imports[0].pattern, &*imports[0].from), ("{a,b:c}", "./x.js"));
        assert_eq!(exported(&body).unwrap(), ("const d = a;".to_owned(), vec!["d".to_owned()]));
        let (imports, body) = split("import{options as n}from\"preact\";var t=1;export{t as useState};\n").unwrap();
        assert_eq!(imports[0].pattern, "{options:n}");
        assert_eq!(exported(&body).unwrap(), ("var t=1;".to_owned(), vec!["useState: t".to_owned()]));
        assert!(exported("export let x = 1;").is_err());
    }
}
