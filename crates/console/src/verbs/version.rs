//! `version`, `config` and `cluster-info`: what the console talks to.

use coracle_client::RawRequest;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::flags::Flag;
use crate::session::{CommandSession, JSON, complain, say};
use crate::values::text;
use crate::verb::Verb;

/// The version of kubectl that the console follows.
const CLIENT: &str = "v1.33.1";

const FLAGS: &[Flag] =
    &[Flag::bool("client", "Only the version of the client"), Flag::text("output", "yaml or json").or('o')];

pub(super) const VERB: Verb = Verb {
    words: &["version"],
    aliases: &[],
    flags: &[FLAGS],
    required: &[],
    about: "Print the client and server version information",
    run: |session| Box::pin(run(session)),
};

pub(super) const CURRENT_CONTEXT: Verb = Verb {
    words: &["config", "current-context"],
    aliases: &[],
    flags: &[],
    required: &[],
    about: "Display the current-context",
    run: |session| Box::pin(async move { context(session) }),
};

fn context(session: &mut CommandSession<'_>) -> Result<(), Failure> {
    say!(session, "coracle");
    Ok(())
}

async fn run(session: &mut CommandSession<'_>) -> Result<(), Failure> {
    if !session.args().is_empty() {
        return Err(Failure::text(format!("extra arguments: [{}]", session.args().join(" "))));
    }
    let output = session.flags.text("output").to_owned();
    if !["", "yaml", "json"].contains(&output.as_str()) {
        return Err(Failure::text("--output must be 'yaml' or 'json'"));
    }
    let server =
        if session.flags.is("client") { None } else { Some(session.value(RawRequest::get("/version", JSON)).await?) };
    let mut versions = json!({
        "clientVersion": {"gitVersion": CLIENT, "major": "1", "minor": "33"},
        "kustomizeVersion": "v5.6.0",
    });
    if let Some(server) = &server {
        versions["serverVersion"] = server.clone();
    }
    match output.as_str() {
        "" => {
            say!(session, "Client Version: {CLIENT}\nKustomize Version: v5.6.0");
            if let Some(server) = &server {
                say!(session, "Server Version: {}", text(server, "/gitVersion"));
            }
        }
        "yaml" => say!(session, "{}", coracle_yaml::to_yaml(&versions)),
        _ => say!(session, "{}", pretty(&versions)),
    }
    if let Some(minor) = server.as_ref().and_then(|server| minor(text(server, "/minor"))) {
        let difference = minor.abs_diff(33);
        if difference > 1 {
            complain!(
                session,
                "WARNING: version difference between client (1.33) and server (1.{minor}) exceeds the supported minor version \
                 skew of +/-1"
            );
        }
    }
    Ok(())
}

fn minor(text: &str) -> Option<u32> {
    text.trim_end_matches('+').parse().ok()
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).expect("a JSON value can be written")
}
