//! `coracle fault`: controls the faults of a running cluster.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use clap::{Args, Subcommand};
use coracle_client::Https;
use coracle_control::{FAULTS_BODY as BODY, FAULTS_PATH as PATH};
use coracle_meta::percent;
use http::{Method, StatusCode};
use serde_json::Value;

use crate::cluster_api::send;
use crate::commands::env::ClusterArgs;
use crate::exit;
use crate::input::read_text;
use crate::output::out;
use crate::runtime::runtime;

const EXAMPLES: &str = "Examples:
  coracle fault add -f faults.yaml
  echo '{do: {lag: 5s, kind: Pod, to: my-operator}}' | coracle fault add -
  echo '{when: {by: my-operator, verb: create, resource: configmaps}, do: {lose: answer}}' | coracle fault add -
  coracle fault list
  coracle fault remove --all";

/// Controls the faults of a running cluster.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct FaultCommand {
    #[command(flatten)]
    cluster: ClusterArgs,
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Add the faults of a file, in the format of `faults:` in a scenario; `-` for standard input
    Add(Add),
    /// List the faults: whether each waits, is active or has ended, how often it has struck, or how near it came
    List,
    /// End faults, and remove them from the list
    Remove(Remove),
}

#[derive(Debug, Args)]
struct Add {
    /// The file, in YAML or JSON
    #[arg(required_unless_present = "filename")]
    file: Option<PathBuf>,
    /// The file, as for kubectl
    #[arg(short = 'f', long, conflicts_with = "file", value_name = "FILE")]
    filename: Option<PathBuf>,
}

impl Add {
    fn file(&self) -> &Path {
        self.file.as_deref().or(self.filename.as_deref()).unwrap_or(Path::new("-"))
    }
}

#[derive(Debug, Args)]
struct Remove {
    /// The numbers or names of the faults
    #[arg(required_unless_present = "all", value_name = "FAULT")]
    faults: Vec<String>,
    /// Remove all faults
    #[arg(long, conflicts_with = "faults")]
    all: bool,
}

impl FaultCommand {
    pub(crate) fn run(self) -> Result<u8> {
        let text = match &self.action {
            Action::Add(add) => read(add.file())?,
            Action::List | Action::Remove(_) => String::new(),
        };
        let server = self.cluster.connect()?;
        runtime()?.block_on(async {
            match &self.action {
                Action::Add(add) => {
                    let added = ask(&server, Method::POST, PATH, text).await;
                    print(&added.map_err(|refusal| in_file(&refusal, add.file()))?, Some("added"))
                }
                Action::List => print(&ask(&server, Method::GET, PATH, String::new()).await?, None),
                Action::Remove(Remove { all: true, .. }) => {
                    print(&ask(&server, Method::DELETE, PATH, String::new()).await?, Some("removed"))
                }
                Action::Remove(Remove { faults, .. }) => {
                    for fault in faults {
                        print(&ask(&server, Method::DELETE, &path_of(fault), String::new()).await?, Some("removed"))?;
                    }
                    Ok(exit::PASS)
                }
            }
        })
    }
}

fn read(file: &Path) -> Result<String> {
    Ok(read_text(file).map_err(|error| exit::Usage(format!("{}: cannot be read: {error}", file.display())))?)
}

/// The error about a file whose text was the body of a request.
fn in_file(error: &anyhow::Error, file: &Path) -> anyhow::Error {
    let message = format!("{error:#}");
    let place = message.strip_prefix(BODY).filter(|_| error.is::<exit::Usage>());
    exit::Usage(place.map_or_else(|| message.clone(), |place| format!("{}{place}", file.display()))).into()
}

async fn ask(server: &Https, method: Method, path: &str, body: String) -> Result<Vec<Value>> {
    let (code, body) = send(server, method, path, body).await?;
    let answer: Value = serde_json::from_slice(&body).context("the cluster has no faults")?;
    match (code.is_success(), &answer["faults"]) {
        (true, Value::Array(faults)) => Ok(faults.clone()),
        _ if code == StatusCode::INTERNAL_SERVER_ERROR => Err(anyhow!("{}", answer["message"])),
        _ => Err(exit::Usage(answer["message"].as_str().unwrap_or("the cluster has no faults").to_owned()).into()),
    }
}

/// The path of the faults with a number or a name.
fn path_of(fault: &str) -> String {
    format!("{PATH}/{}", percent::component(fault))
}

/// Prints a line for each fault.
fn print(faults: &[Value], done: Option<&str>) -> Result<u8> {
    if faults.is_empty() {
        out!("no faults")?;
    }
    for fault in faults {
        let text = |name: &str| fault[name].as_str().unwrap_or_default();
        let struck = match (fault["struck"].as_u64().unwrap_or_default(), fault["revision"].as_i64()) {
            (0, _) | (_, None) => String::new(),
            (1, Some(revision)) => format!(", struck once, at revision {revision}"),
            (times, Some(revision)) => format!(", struck {times} times, first at revision {revision}"),
        };
        let near =
            Some(text("nearMiss")).filter(|near| !near.is_empty()).map_or(String::new(), |near| format!(": {near}"));
        let meant = Some(text("didYouMean")).filter(|name| !name.is_empty());
        let meant = meant.map_or(String::new(), |name| format!("; did you mean `{name}`?"));
        let done = done.map_or(String::new(), |done| format!(" {done}"));
        out!("fault/{}{done}  {}  {}{struck}{near}{meant}", fault["id"], text("name"), text("state"))?;
    }
    Ok(exit::PASS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_of_a_body_is_one_of_its_file() {
        let refused = |message: &str| in_file(&exit::Usage(message.to_owned()).into(), Path::new("f.yaml")).to_string();
        assert_eq!(refused("body:1:7: unknown fault"), "f.yaml:1:7: unknown fault");
        assert_eq!(refused("you may not"), "you may not");
    }

    #[test]
    fn a_name_is_one_step_of_a_path() {
        assert_eq!(path_of("lag: 5s/a-b"), "/coracle/v1/faults/lag%3A%205s%2Fa-b");
    }
}
