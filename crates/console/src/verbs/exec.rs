//! `exec` of the simulated programs: the whole standard input is sent at once, and the output is read to its end.
//!
//! In Kubernetes: `kubectl/pkg/cmd/exec`.

use bytes::Bytes;
use coracle_client::RawRequest;
use coracle_meta::channels::{CLOSE, ERROR, MEDIA_TYPE, Pieces, STDERR, STDIN, STDOUT, piece};
use http::Method;
use serde_json::Value;

use crate::containers::chosen;
use crate::failure::Failure;
use crate::flags::Flag;
use crate::selection::{Wanted, select};
use crate::session::{CommandSession, query};
use crate::values::{list, name, namespace, text};
use crate::verb::{FILES, Verb};

const FLAGS: &[Flag] = &[
    Flag::text("container", "The container").or('c'),
    Flag::bool("stdin", "Pass the standard input to the program").or('i'),
    Flag::bool("tty", "Without effect: the console has no terminal").or('t'),
    Flag::bool("quiet", "Only the output of the program").or('q'),
];

pub(super) const VERB: Verb = Verb {
    words: &["exec"],
    aliases: &[],
    flags: &[FLAGS, FILES],
    required: &[],
    about: "Execute a command in a container",
    run: |session| Box::pin(run(session)),
};

async fn run(session: &mut CommandSession<'_>) -> Result<(), Failure> {
    let (args, dash) = (session.args().to_vec(), session.flags.dash);
    let resource = args.first().filter(|_| dash != Some(0)).cloned();
    let command = match dash {
        Some(dash) => args[dash..].to_vec(),
        None if args.len() > 1 => {
            let why = "exec [POD] [COMMAND] is not supported anymore. Use exec [POD] -- [COMMAND] instead";
            return Err(Failure::usage(why, "exec"));
        }
        None => Vec::new(),
    };
    let Some(resource) = resource else {
        return Err(Failure::text("pod, type/name or --filename must be specified"));
    };
    if command.is_empty() {
        return Err(Failure::text("you must specify at least one command for the container"));
    }
    let arg = if resource.contains('/') { resource } else { format!("pods/{resource}") };
    let wanted = Wanted { args: vec![arg], ..Wanted::default() };
    let infos = select(session, &wanted).await?.fetch_all(session).await?;
    let Some(info) = infos.into_iter().next() else { return Err(Failure::text("expected a resource")) };
    let pod = if info.kind.is_named("", "Pod") { info.object } else { first_pod(session, &info.object).await? };
    let phase = text(&pod, "/status/phase");
    if ["Succeeded", "Failed"].contains(&phase) {
        let why = format!("cannot exec into a container in a completed pod; current phase is {phase}");
        return Err(Failure::text(why));
    }
    let wanted = session.flags.text("container").to_owned();
    let is_quiet = session.flags.is("quiet");
    let container = chosen(session, &pod, &wanted, is_quiet);
    execute(session, &pod, &container, &command).await
}

/// A pod of a controller.
async fn first_pod(session: &mut CommandSession<'_>, owner: &Value) -> Result<Value, Failure> {
    let labels = crate::describe::selector(&owner["spec"]["selector"]);
    let kind = session.built_in("", "Pod").await?;
    let pods = session.list(&kind, namespace(owner), &labels, "").await?;
    let is_running = |pod: &&Value| text(pod, "/status/phase") == "Running";
    let pod = pods.iter().find(is_running).or(pods.first()).cloned();
    pod.ok_or_else(|| Failure::text("timed out waiting for the condition"))
}

async fn execute(
    session: &mut CommandSession<'_>,
    pod: &Value,
    container: &str,
    command: &[String],
) -> Result<(), Failure> {
    let kind = session.built_in("", "Pod").await?;
    let has_input = session.flags.is("stdin");
    let mut parameters: Vec<(&str, &str)> = command.iter().map(|word| ("command", word.as_str())).collect();
    parameters.push(("container", container));
    parameters.push(("stderr", "true"));
    parameters.push(("stdin", if has_input { "true" } else { "" }));
    parameters.push(("stdout", "true"));
    let path = kind.path(namespace(pod), name(pod), "exec") + &query(&parameters);
    let mut body = Vec::new();
    if has_input {
        for part in session.input.stdin.as_bytes().chunks(64 * 1024) {
            body.extend(piece(STDIN, part));
        }
        body.extend(piece(CLOSE, &[STDIN]));
    }
    let (method, body) = (Method::POST, Bytes::from(body));
    let answer = session.send(RawRequest { method, path, accept: "*/*", content_type: MEDIA_TYPE, body }).await?;
    let mut pieces = Pieces::default();
    pieces.push(&answer);
    let mut ended = Ok(());
    while let Some((channel, data)) = pieces.next_piece().map_err(Failure::text)? {
        match channel {
            STDOUT => session.out.push_str(&String::from_utf8_lossy(&data)),
            STDERR => session.err.push_str(&String::from_utf8_lossy(&data)),
            ERROR => ended = outcome(&serde_json::from_slice(&data).unwrap_or_default()),
            _ => {}
        }
    }
    ended
}

/// How a program ended, from its `Status`.
fn outcome(status: &Value) -> Result<(), Failure> {
    if status["status"] != "Failure" {
        return Ok(());
    }
    let causes = list(status, "/details/causes");
    let code = causes
        .iter()
        .find(|cause| cause["reason"] == "ExitCode")
        .and_then(|cause| text(cause, "/message").parse().ok());
    Err(match code.filter(|_| status["reason"] == "NonZeroExitCode") {
        Some(code) => Failure::Program { code, text: format!("command terminated with exit code {code}") },
        None => Failure::text(text(status, "/message")),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_exit_code_of_the_program_is_that_of_the_command() {
        let failed = json!({"status": "Failure", "reason": "NonZeroExitCode", "message": "m",
            "details": {"causes": [{"reason": "ExitCode", "message": "3"}]}});
        let failure = outcome(&failed).unwrap_err();
        assert_eq!((failure.code(), failure.message().as_str()), (3, "command terminated with exit code 3\n"));
        assert!(outcome(&json!({"status": "Success"})).is_ok());
        let other = outcome(&json!({"status": "Failure", "reason": "InternalError", "message": "no such program"}));
        assert_eq!(other.unwrap_err().message(), "error: no such program\n");
    }
}
