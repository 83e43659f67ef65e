//! `explain`: the descriptions of kinds and fields, from the OpenAPI documents of the server.
//!
//! In Kubernetes: `kubectl/pkg/cmd/explain`.

use coracle_client::RawRequest;
use serde_json::Value;

use crate::explanation::explain;
use crate::failure::Failure;
use crate::flags::Flag;
use crate::kinds::{Kinds, ServedKind};
use crate::session::{CommandSession, JSON};
use crate::verb::Verb;

const FLAGS: &[Flag] = &[
    Flag::bool("recursive", "The fields of fields"),
    Flag::text("api-version", "The version of the kind"),
    Flag::text("output", "plaintext"),
];

pub(super) const VERB: Verb = Verb {
    words: &["explain"],
    aliases: &[],
    flags: &[FLAGS],
    required: &[],
    about: "Get documentation for a resource",
    run: |session| Box::pin(run(session)),
};

async fn run(session: &mut CommandSession<'_>) -> Result<(), Failure> {
    let arg = match session.args() {
        [] => {
            return Err(Failure::text(
                "You must specify the type of resource to explain. Use \"kubectl api-resources\" for a complete list of \
                 supported resources.\n",
            ));
        }
        [arg] => arg.clone(),
        _ => return Err(Failure::text("We accept only this format: explain RESOURCE\n")),
    };
    let kinds = session.kinds().await?;
    let (mut kind, fields) = parse(&kinds, &arg)?;
    let version = session.flags.text("api-version").to_owned();
    if !version.is_empty() {
        let (group, version) = version.split_once('/').unwrap_or(("", &version));
        let found = kinds
            .all()
            .iter()
            .find(|known| known.group == group && known.version == version && known.plural == kind.plural);
        let (plural, slash) = (&kind.plural, if group.is_empty() { "" } else { "/" });
        kind = found.cloned().ok_or_else(|| {
            Failure::text(format!("couldn't find resource for \"{group}{slash}{version}, Resource={plural}\""))
        })?;
    }
    let path = match kind.group.as_str() {
        "" => format!("/openapi/v3/api/{}", kind.version),
        group => format!("/openapi/v3/apis/{group}/{}", kind.version),
    };
    let document: Value = session.value(RawRequest::get(path, JSON)).await?;
    let is_recursive = session.flags.is("recursive");
    explain(&document, &kind, &fields, is_recursive, &mut session.out).map_err(Failure::text)
}

/// The kind and the path of fields: `pods.spec`, `deployments.apps.spec`.
fn parse(kinds: &Kinds, arg: &str) -> Result<(ServedKind, Vec<String>), Failure> {
    let parts: Vec<&str> = arg.trim_end_matches('.').split('.').collect();
    let found = (2..=parts.len()).rev().find_map(|end| {
        let group = parts[1..end].join(".");
        let kind = kinds.of_word(&parts[..end].join(".")).ok()?;
        (kind.group == group).then(|| (kind.clone(), end))
    });
    let (kind, end) = match found {
        Some(found) => found,
        None => {
            let kind = kinds.of_word(parts[0]).map_err(|failure| Failure::Verbatim(failure.bare()))?;
            (kind.clone(), 1)
        }
    };
    Ok((kind, parts[end..].iter().map(|part| (*part).to_owned()).collect()))
}
