//! `api-resources`: the kinds of the server.
//!
//! In Kubernetes: `kubectl/pkg/cmd/apiresources`.

use crate::failure::Failure;
use crate::flags::Flag;
use crate::kinds::ServedKind;
use crate::session::{CommandSession, say};
use crate::tabs::TABLE;
use crate::verb::Verb;

const FLAGS: &[Flag] = &[
    Flag::text("output", "wide or name").or('o'),
    Flag::bool("no-headers", "No header"),
    Flag::text("api-group", "Only kinds of this group"),
    Flag::bool("namespaced", "Only namespaced kinds, or only others"),
    Flag::list("verbs", "Only kinds with these verbs"),
    Flag::list("categories", "Only kinds of these categories"),
    Flag::text("sort-by", "name or kind"),
    Flag::bool("cached", "Without effect"),
];

pub(super) const VERB: Verb = Verb {
    words: &["api-resources"],
    aliases: &[],
    flags: &[FLAGS],
    required: &[],
    about: "Print the supported API resources on the server",
    run: |session| Box::pin(run(session)),
};

async fn run(session: &mut CommandSession<'_>) -> Result<(), Failure> {
    let output = session.flags.text("output").to_owned();
    if !session.args().is_empty() {
        let why = format!("unexpected arguments: [{}]", session.args().join(" "));
        return Err(Failure::usage(&why, "api-resources"));
    }
    if !matches!(output.as_str(), "" | "wide" | "name") {
        return Err(Failure::text(format!("--output {output} is not available")));
    }
    let sort = session.flags.text("sort-by").to_owned();
    if !matches!(sort.as_str(), "" | "name" | "kind") {
        return Err(Failure::text("--sort-by accepts only name or kind"));
    }
    let kinds = session.kinds().await?;
    let mut kinds: Vec<&ServedKind> = kinds.all().iter().filter(|kind| is_wanted(kind, session)).collect();
    match sort.as_str() {
        "name" => kinds.sort_by(|one, other| one.plural.cmp(&other.plural)),
        "kind" => kinds.sort_by(|one, other| one.kind.cmp(&other.kind)),
        _ => kinds.sort_by(|one, other| (&one.group, &one.plural).cmp(&(&other.group, &other.plural))),
    }
    if output == "name" {
        for kind in kinds {
            say!(session, "{}", kind.resource());
        }
        return Ok(());
    }
    let is_wide = output == "wide";
    let mut text = String::new();
    if !session.flags.is("no-headers") {
        let more = if is_wide { "\tVERBS\tCATEGORIES" } else { "" };
        text.push_str(&format!("NAME\tSHORTNAMES\tAPIVERSION\tNAMESPACED\tKIND{more}\n"));
    }
    for kind in kinds {
        let (short, version) = (kind.short_names.join(","), kind.api_version());
        text.push_str(&format!("{}\t{short}\t{version}\t{}\t{}", kind.plural, kind.is_namespaced, kind.kind));
        if is_wide {
            text.push_str(&format!("\t{}\t{}", kind.verbs.join(","), kind.categories.join(",")));
        }
        text.push('\n');
    }
    session.out.push_str(&TABLE.align(&text));
    Ok(())
}

fn is_wanted(kind: &ServedKind, session: &CommandSession<'_>) -> bool {
    let flags = &session.flags;
    let has_all = |own: &[String], wanted: &[String]| wanted.iter().all(|wanted| own.contains(wanted));
    kind.is_preferred
        && !kind.verbs.is_empty()
        && (!flags.has("api-group") || kind.group == flags.text("api-group"))
        && (!flags.has("namespaced") || kind.is_namespaced == flags.is("namespaced"))
        && has_all(&kind.verbs, flags.texts("verbs"))
        && has_all(&kind.categories, flags.texts("categories"))
}
