//! Objects that a verb makes from its flags, created or shown.
//!
//! In Kubernetes: the commands of `kubectl/pkg/cmd/create`.

use coracle_meta::go_quote;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::flags::Flag;
use crate::last_applied::annotated;
use crate::printer::Printer;
use crate::session::CommandSession;
use crate::write_flags::{DryRun, dry_run, manager, validation};

/// The flags of all verbs that create one object.
pub(crate) const CREATE: &[Flag] = &[Flag::bool("save-config", "Keep the configuration for apply")];

/// How an object is created.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Making<'m> {
    pub(crate) group: &'m str,
    pub(crate) kind: &'m str,
    pub(crate) manager: &'m str,
    /// The beginning of an error; empty for that of the server alone.
    pub(crate) failed: &'m str,
    /// What is printed about the object.
    pub(crate) operation: &'m str,
}

impl<'m> Making<'m> {
    pub(crate) fn new(group: &'m str, kind: &'m str) -> Self {
        Self { group, kind, manager: "kubectl-create", failed: "", operation: "created" }
    }

    /// The same, whose errors begin with a text.
    pub(crate) fn or(self, failed: &'m str) -> Self {
        Self { failed, ..self }
    }
}

/// The name that is the argument of a verb. In Kubernetes: `create.NameFromCommandArgs`.
pub(crate) fn name_argument(session: &CommandSession<'_>) -> Result<String, Failure> {
    let args = session.args();
    let count = session.flags.dash.unwrap_or(args.len());
    if count != 1 {
        let why = format!("exactly one NAME is required, got {count}");
        return Err(Failure::usage(&why, &session.command));
    }
    Ok(args[0].clone())
}

/// The words after `--`.
pub(crate) fn command_words(session: &CommandSession<'_>) -> Vec<String> {
    session.args().iter().skip(1).cloned().collect()
}

/// Metadata as Go writes it before an object is created.
pub(crate) fn metadata(session: &CommandSession<'_>, name: &str) -> Value {
    let mut metadata = json!({"creationTimestamp": null, "name": name});
    if session.has_namespace() {
        metadata["namespace"] = session.namespace().into();
    }
    metadata
}

/// Creates an object, and prints it.
pub(crate) async fn make(session: &mut CommandSession<'_>, object: Value, making: Making<'_>) -> Result<(), Failure> {
    let made = created(session, object, making).await?;
    print(session, &made, making.operation)
}

/// Prints an object, or what was done to it.
pub(crate) fn print(session: &mut CommandSession<'_>, object: &Value, operation: &str) -> Result<(), Failure> {
    let mut out = String::new();
    Printer::of_change(session, operation)?.print(object, &mut out)?;
    session.out.push_str(&out);
    Ok(())
}

/// Creates an object, unless it is only to be shown.
pub(crate) async fn created(
    session: &mut CommandSession<'_>,
    object: Value,
    making: Making<'_>,
) -> Result<Value, Failure> {
    let (dry_run, validation) = (dry_run(session)?, validation(session)?);
    // A format that does not exist is refused before anything is created.
    Printer::of_change(session, making.operation)?;
    let object = if session.flags.is("save-config") { annotated(&object) } else { object };
    if dry_run == DryRun::Client {
        return Ok(object);
    }
    let kind = session.built_in(making.group, making.kind).await?;
    let manager = manager(session, making.manager);
    let namespace = session.namespace();
    let created = session.create(&kind, &namespace, &object, &dry_run.options(&manager, validation)).await;
    session.forget_kinds();
    created.map_err(|failure| match making.failed {
        "" => failure,
        failed => Failure::text(format!("{failed}{}", failure.bare())),
    })
}

/// `key=value` pairs of a text, separated by commas.
pub(crate) fn label_pairs(text: &str) -> Result<Value, Failure> {
    let mut labels = json!({});
    for pair in text.split(',') {
        match pair.split('=').collect::<Vec<_>>().as_slice() {
            ["", _] => return Err(Failure::text("unexpected empty label key")),
            [key, value] => labels[*key] = (*value).into(),
            _ => return Err(Failure::text(format!("unexpected label spec: {pair}"))),
        }
    }
    Ok(labels)
}

/// The environment of `--env`.
pub(crate) fn environment(pairs: &[String]) -> Result<Vec<Value>, Failure> {
    let variable = |pair: &String| match pair.split_once('=') {
        Some((name, value)) if coracle_meta::names::env_var_name(name).is_empty() => {
            Ok(if value.is_empty() { json!({"name": name}) } else { json!({"name": name, "value": value}) })
        }
        _ => Err(Failure::text(format!("invalid env: {pair}"))),
    };
    pairs.iter().map(variable).collect()
}

/// The data of `--from-literal`, `--from-file` and `--from-env-file`, in the order of kubectl.
pub(crate) fn data(session: &CommandSession<'_>, kind: &str, name: &str) -> Result<Vec<(String, String)>, Failure> {
    let flags = &session.flags;
    if flags.has("from-env-file") && (flags.has("from-file") || flags.has("from-literal")) {
        return Err(Failure::text("from-env-file cannot be combined with from-file or from-literal"));
    }
    let mut data: Vec<(String, String)> = Vec::new();
    let mut add = |key: &str, value: String| {
        let wrong = coracle_meta::names::config_map_key(key);
        if !wrong.is_empty() {
            let (key, wrong) = (go_quote(key), wrong.join(","));
            return Err(Failure::text(format!("{key} is not a valid key name for a {kind}: {wrong}")));
        }
        if data.iter().any(|(known, _)| known == key) {
            let (key, name) = (go_quote(key), go_quote(name));
            let place = if kind == "Secret" { String::new() } else { format!(" in Data for {kind} {name}") };
            return Err(Failure::text(format!("cannot add key {key}, another key by that name already exists{place}")));
        }
        data.push((key.to_owned(), value));
        Ok(())
    };
    for source in flags.texts("from-file") {
        let (key, file) = match source.split_once('=') {
            Some((key, file)) => (key, file),
            None => (source.rsplit('/').next().unwrap_or_default(), source.as_str()),
        };
        add(key, file_content(session, file)?)?;
    }
    for source in flags.texts("from-literal") {
        let Some((key, value)) = source.split_once('=').filter(|(key, _)| !key.is_empty()) else {
            return Err(Failure::text(format!("invalid literal source {source}, expected key=value")));
        };
        add(key, value.to_owned())?;
    }
    for file in flags.texts("from-env-file") {
        for line in file_content(session, file)?.lines().map(str::trim_start) {
            if let Some((key, value)) = line.split_once('=').filter(|_| !line.starts_with('#')) {
                add(key, value.to_owned())?;
            }
        }
    }
    Ok(data)
}

fn file_content(session: &CommandSession<'_>, file: &str) -> Result<String, Failure> {
    let content = session.input.files.get(file).or_else(|| session.input.files.get(file.trim_start_matches("./")));
    content.cloned().ok_or_else(|| Failure::text(format!("error reading {file}: no such file or directory")))
}
