use std::collections::BTreeMap;

use anyhow::{Context, Result};
use clap::Args;
use coracle_client::Https;
use serde_json::Value;

use crate::cluster_api::get;
use crate::commands::env::StateArgs;
use crate::output::out;
use crate::readiness::Readiness;
use crate::runtime::runtime;
use crate::{exit, kubeconfig_file, readiness_api};

/// Shows the cluster that runs: its address, nodes, pods, faults, and the work that its controllers have left.
#[derive(Debug, Args)]
pub(crate) struct Status {
    #[command(flatten)]
    state: StateArgs,
}

impl Status {
    pub(crate) fn run(self) -> Result<u8> {
        let folder = self.state.folder();
        let Some(process) = folder.running() else {
            out!("{}", folder.nothing_runs())?;
            return Ok(exit::NOTHING_MATCHED);
        };
        let kubeconfig = kubeconfig_file::read(&self.state.kubeconfig()?)?;
        let address = kubeconfig.server.clone();
        let server = kubeconfig.connect().map_err(kubeconfig_file::refused)?;
        let [version, pods, faults, readiness] = runtime()?.block_on(async {
            let mut found = [Value::Null, Value::Null, Value::Null, Value::Null];
            let paths = ["/version", "/api/v1/pods", coracle_control::FAULTS_PATH, readiness_api::PATH];
            for (path, found) in paths.into_iter().zip(&mut found) {
                *found = object(&server, path).await?;
            }
            anyhow::Ok(found)
        })?;
        let kept =
            if folder.is_ephemeral() { "in memory".to_owned() } else { format!("in {}", folder.data().display()) };
        let readiness: Readiness =
            serde_json::from_value(readiness).context("the cluster's answer is not its readiness")?;
        let version = version["gitVersion"].as_str().unwrap_or("of an unknown version");
        out!(" ✓ Kubernetes {version} at {address}")?;
        out!("   process  {process}; objects are {kept}")?;
        out!("   nodes    {}", readiness.nodes_in_words())?;
        out!("   pods     {}", pods_in_words(&pods))?;
        out!("   work     {}", readiness.work_in_words())?;
        out!("   faults   {}", faults_in_words(&faults))?;
        Ok(exit::PASS)
    }
}

async fn object(server: &Https, path: &str) -> Result<Value> {
    let (code, body) = get(server, path).await?;
    anyhow::ensure!(code.is_success(), "the cluster answers {code} to {path}");
    serde_json::from_slice(&body).with_context(|| format!("the cluster answers no JSON to {path}"))
}

fn items<'l>(list: &'l Value, field: &str) -> &'l [Value] {
    list[field].as_array().map_or(&[], Vec::as_slice)
}

/// `3: 2 Running, 1 terminating`. A pod that is being deleted counts as terminating only.
fn pods_in_words(pods: &Value) -> String {
    let pods = items(pods, "items");
    let mut phases: BTreeMap<&str, usize> = BTreeMap::new();
    for pod in pods {
        let is_terminating = !pod["metadata"]["deletionTimestamp"].is_null();
        let phase =
            if is_terminating { "terminating" } else { pod["status"]["phase"].as_str().unwrap_or("of no phase") };
        *phases.entry(phase).or_default() += 1;
    }
    if phases.is_empty() {
        return "none".to_owned();
    }
    let counts: Vec<String> = phases.iter().map(|(phase, count)| format!("{count} {phase}")).collect();
    format!("{}: {}", pods.len(), counts.join(", "))
}

/// `1 of 3 active: coracle fault list`.
fn faults_in_words(faults: &Value) -> String {
    let faults = items(faults, "faults");
    let is_active = |fault: &&Value| fault["state"] == "active";
    match faults.len() {
        0 => "none".to_owned(),
        count => format!("{} of {count} active: coracle fault list", faults.iter().filter(is_active).count()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pods_are_counted_by_their_state() {
        let pods = json!({"items": [
            {"status": {"phase": "Running"}},
            {"status": {"phase": "Pending"}},
            {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}, "status": {"phase": "Running"}},
            {"status": {"phase": "Running"}},
        ]});
        assert_eq!(pods_in_words(&pods), "4: 1 Pending, 2 Running, 1 terminating");
        assert_eq!(pods_in_words(&json!({})), "none");
    }

    #[test]
    fn active_faults_are_counted() {
        assert_eq!(faults_in_words(&json!({"faults": []})), "none");
        let faults = json!({"faults": [{"state": "active"}, {"state": "ended"}]});
        assert_eq!(faults_in_words(&faults), "1 of 2 active: coracle fault list");
    }
}
