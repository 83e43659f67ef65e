//! The resources of a version, from the documents of discovery, and what those do not say from `facts/resources.txt`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use coracle_meta::GroupVersionKind;
use serde_json::Value;

use crate::failure::Failure;

const ALL_VERBS: &str = "create,delete,deletecollection,get,list,patch,update,watch";

/// What discovery does not say of resources: words by version and name.
pub(crate) type Traits = BTreeMap<String, String>;

/// Reads the hand-written facts that are true in a minor version.
pub(crate) fn traits(file: &Path, minor: u32) -> Result<Traits, Failure> {
    let mut traits = Traits::new();
    for line in std::fs::read_to_string(file)?.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(since) = line.strip_prefix("[1.").and_then(|rest| rest.strip_suffix(']')) {
            if since.parse::<u32>()? > minor {
                break;
            }
            continue;
        }
        let mut words = line.splitn(3, ' ');
        let name = format!("{} {}", words.next().unwrap_or_default(), words.next().unwrap_or_default());
        traits.insert(name, words.next().unwrap_or_default().to_owned());
    }
    Ok(traits)
}

/// The text of all resources of stable versions, and the names of those about which the facts say nothing.
pub(crate) fn write(kubernetes: &Path, traits: &Traits) -> Result<(String, Vec<String>), Failure> {
    let folder = kubernetes.join("api/discovery");
    let (mut out, mut unknown) = (String::new(), Vec::new());
    for version in versions(&folder)? {
        let path = if version == "v1" { "api__v1".to_owned() } else { format!("apis__{}", version.replace('/', "__")) };
        let document = read(&folder.join(format!("{path}.json")))?;
        let resources = document["resources"].as_array().ok_or("a document without resources")?;
        for resource in resources.iter().filter(|resource| !text(resource, "name").contains('/')) {
            let name = format!("{version} {}", text(resource, "name"));
            write!(out, "{name} {}", text(resource, "kind"))?;
            out.push_str(if resource["namespaced"] == true { " namespaced" } else { " cluster" });
            for (word, list, usual) in
                [("short", "shortNames", ""), ("categories", "categories", ""), ("verbs", "verbs", ALL_VERBS)]
            {
                let list = words(resource, list);
                if list != usual {
                    write!(out, " {word}={list}")?;
                }
            }
            match traits.get(&name) {
                Some(traits) if !traits.is_empty() => write!(out, " {traits}")?,
                Some(_) => {}
                None => unknown.push(name.clone()),
            }
            out.push('\n');
            let prefix = format!("{}/", text(resource, "name"));
            for subresource in resources {
                if let Some(name) = text(subresource, "name").strip_prefix(&prefix) {
                    write!(out, " {name} {}", words(subresource, "verbs"))?;
                    write_other_kind(&mut out, resource, subresource)?;
                    out.push('\n');
                }
            }
        }
    }
    Ok((out, unknown))
}

/// The kind of a subresource that is not that of its resource.
fn write_other_kind(out: &mut String, resource: &Value, subresource: &Value) -> Result<(), Failure> {
    if text(subresource, "kind") == text(resource, "kind") {
        return Ok(());
    }
    let (group, version) = (text(subresource, "group"), text(subresource, "version"));
    let version = if version.is_empty() { "v1" } else { version };
    write!(out, " {}", written_kind(group, version, text(subresource, "kind")))?;
    Ok(())
}

/// A kind in the words of the data: `apps/v1/Deployment`, `v1/Pod`.
pub(crate) fn written_kind(group: &str, version: &str, kind: &str) -> String {
    let kind = GroupVersionKind::new(group, version, kind);
    format!("{}/{}", kind.api_version(), kind.kind)
}

/// The stable versions in the order of discovery.
fn versions(folder: &Path) -> Result<Vec<String>, Failure> {
    let mut versions = vec!["v1".to_owned()];
    let groups = read(&folder.join("aggregated_v2.json"))?;
    for group in groups["items"].as_array().ok_or("discovery has no groups")? {
        let of_group = group["versions"].as_array().into_iter().flatten().map(|version| text(version, "version"));
        let is_stable = |version: &&str| version.trim_start_matches('v').parse::<u32>().is_ok();
        let name = text(&group["metadata"], "name");
        versions.extend(of_group.filter(is_stable).map(|version| format!("{name}/{version}")));
    }
    Ok(versions)
}

fn read(file: &Path) -> Result<Value, Failure> {
    let bytes = std::fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
    Ok(serde_json::from_slice(&bytes)?)
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

fn words(value: &Value, name: &str) -> String {
    value[name].as_array().into_iter().flatten().filter_map(Value::as_str).collect::<Vec<_>>().join(",")
}
