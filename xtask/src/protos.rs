//! Protobuf tags, read from the source text of the crate `k8s-pb`, which is never built.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::schema::Failure;

/// A field of a message.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    /// The name in lower case without underscores.
    pub(crate) name: String,
    pub(crate) tag: u32,
    /// The last part of the message's name, for a field that is one message.
    pub(crate) message: Option<String>,
}

/// Messages by the full name that OpenAPI gives their type, in lower case: prost changes the case of acronyms.
pub(crate) type Messages = BTreeMap<String, Vec<Field>>;

/// Reads all messages.
pub(crate) fn read() -> Result<Messages, Failure> {
    let mut messages = Messages::new();
    let source = source()?;
    read_folder(&source, &source, &mut messages)?;
    Ok(messages)
}

/// The folder of the crate's source, which cargo has downloaded because the lock file names it.
fn source() -> Result<PathBuf, Failure> {
    let output = Command::new("cargo").args(["metadata", "--format-version", "1", "--all-features"]).output()?;
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let packages = metadata["packages"].as_array().ok_or("cargo metadata lists no packages")?;
    let package = packages.iter().find(|package| package["name"] == "k8s-pb").ok_or("k8s-pb is no dependency")?;
    let manifest = package["manifest_path"].as_str().ok_or("k8s-pb has no manifest")?;
    Ok(Path::new(manifest).with_file_name("src"))
}

fn read_folder(folder: &Path, root: &Path, messages: &mut Messages) -> Result<(), Failure> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            read_folder(&path, root, messages)?;
        } else if path.file_name().is_some_and(|name| name == "mod.rs") {
            let package: Vec<_> = folder.strip_prefix(root)?.iter().filter_map(|part| part.to_str()).collect();
            let package = format!("io.k8s.{}", package.join(".").replace('_', "-"));
            read_messages(&std::fs::read_to_string(&path)?, &package.to_lowercase(), messages);
        }
    }
    Ok(())
}

fn read_messages(source: &str, package: &str, messages: &mut Messages) {
    let (mut current, mut tag, mut is_message) = (None, None, false);
    for line in source.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix("pub struct ") {
            let name = format!("{package}.{}", name.trim_end_matches(['{', '}', ' ']).to_lowercase());
            messages.insert(name.clone(), Vec::new());
            current = Some(name);
        } else if let Some(attributes) = line.strip_prefix("#[prost(") {
            tag = attributes.split("tag = \"").nth(1).and_then(|rest| rest.split('"').next()?.parse().ok());
            is_message = attributes.starts_with("message, optional");
        } else if let (Some(field), Some(number), Some(message)) = (line.strip_prefix("pub "), tag, current.as_ref()) {
            // A long type stands on the next line; types of embedded structs are short.
            let (name, ty) = field.split_once(':').unwrap_or((field, ""));
            let name = name.trim_start_matches("r#").replace('_', "").to_lowercase();
            let ty = ty.trim_end_matches([',', '>', ' ']).rsplit([':', '<']).next().unwrap_or_default();
            let embedded = is_message.then(|| ty.to_lowercase());
            messages.entry(message.clone()).or_default().push(Field { name, tag: number, message: embedded });
            tag = None;
        }
    }
}
