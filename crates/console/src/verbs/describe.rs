//! `describe`.
//!
//! In Kubernetes: `kubectl/pkg/cmd/describe`.

use crate::describe::describe;
use crate::failure::Failure;
use crate::flags::Flag;
use crate::selection::{Wanted, select};
use crate::session::{CommandSession, complain};
use crate::values::name;
use crate::verb::{ALL_NAMESPACES, FILES, SELECTOR, Verb};

const FLAGS: &[Flag] =
    &[Flag::bool("show-events", "The events of the objects"), Flag::number("chunk-size", "Without effect")];

pub(super) const VERB: Verb = Verb {
    words: &["describe"],
    aliases: &[],
    flags: &[FLAGS, FILES, SELECTOR, ALL_NAMESPACES],
    required: &[],
    about: "Show details of a specific resource or group of resources",
    run: |session| Box::pin(run(session)),
};

async fn run(session: &mut CommandSession<'_>) -> Result<(), Failure> {
    if session.args().is_empty() && session.flags.texts("filename").is_empty() {
        return Err(Failure::text(
            "You must specify the type of resource to describe. Use \"kubectl api-resources\" for a complete list of \
             supported resources.",
        ));
    }
    let wanted = Wanted::of(session, session.args()).all_by_default();
    let selection = select(session, &wanted).await?;
    let (infos, mut failures) = selection.fetch(session).await;
    if let ([kind, prefix], [failure]) = (wanted.args.as_slice(), failures.as_slice())
        && failure.is_not_found()
    {
        return matching(session, kind, prefix, failure.clone()).await;
    }
    let shows_events = session.flags.is_or("show-events", true);
    let mut texts = Vec::new();
    for info in &infos {
        match describe(session, info, shows_events).await {
            Ok(text) => texts.push(text),
            Err(failure) => failures.push(failure),
        }
    }
    session.out.push_str(&texts.join("\n\n"));
    if infos.is_empty() && failures.is_empty() {
        if session.flags.is("all-namespaces") {
            complain!(session, "No resources found");
        } else {
            complain!(session, "No resources found in {} namespace.", session.namespace());
        }
    }
    Failure::aggregate(failures)
}

/// Describes the objects whose names begin with a prefix.
async fn matching(session: &mut CommandSession<'_>, kind: &str, prefix: &str, failure: Failure) -> Result<(), Failure> {
    let wanted = Wanted { args: vec![kind.to_owned()], ..Wanted::default() }.all_by_default();
    let infos = select(session, &wanted).await?.fetch_all(session).await?;
    let mut is_found = false;
    for info in infos.iter().filter(|info| name(&info.object).starts_with(prefix)) {
        is_found = true;
        let text = describe(session, info, session.flags.is_or("show-events", true)).await?;
        session.out.push_str(&format!("{text}\n"));
    }
    if is_found { Ok(()) } else { Err(failure) }
}
