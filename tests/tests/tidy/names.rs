//! Names of types and files: no noun for many things, and no retired name.

use std::collections::BTreeMap;

use crate::Finding;
use crate::source::{Kind, Source};

/// Names that several crates may give to a type of their own.
const ALLOWED: &[&str] = &["Error", "Result", "Config"];

/// How many types of one name may be visible beyond their files.
const MOST: usize = 3;

/// Names of types that are not used again, each with the field's word.
const RETIRED_TYPES: &[(&str, &str)] = &[
    ("ControlPlane", "`ApiServer`"),
    ("ApiServerSpec", "`ApiServerOptions`"),
    ("ApiServerTasks", "`BackgroundTasks`"),
    ("Elsewhere", "`ExpressionPool`"),
    ("Paper", "`CertificateFile`"),
    ("Papers", "`ServingCertificates`"),
    ("Strangers", "`ClientAuth`"),
    ("Door", "`TlsConfig`, `SecureServing`"),
    ("Reread", "`FileWatcher`"),
    ("Ways", "`OutgoingCalls`"),
    ("NodeWays", "`NodeTransports`"),
    ("FarNodes", "`RemoteNodes`"),
    ("BesideRequests", "`ExpressionThreads`"),
    ("Trail", "`AuditEventBuilder`"),
    ("Invocation", "`WebhookCall`"),
    ("OfNoUse", "`InvalidResponse`"),
    ("Programme", "`StageSet`"),
    ("Repertoire", "`StageIndex`"),
    ("Player", "`StageRunner`"),
    ("Stagehand", "`StageController`"),
    ("Course", "`SyncPass`"),
    ("Site", "`NodeContext`"),
    ("Wish", "`VolumeGoal`"),
    ("Both", "`RunPair`"),
];

/// Names of files that are not used again, each with the field's word.
const RETIRED_FILES: &[(&str, &str)] = &[
    ("elsewhere.rs", "expression_pool.rs"),
    ("paper.rs", "certificate_file.rs"),
    ("papers.rs", "serving_certificates.rs"),
    ("reread.rs", "file_watcher.rs"),
    ("front_door.rs", "server.rs"),
    ("programme.rs", "stage_set.rs"),
    ("repertoire.rs", "stage_index.rs"),
    ("player.rs", "stage_runner.rs"),
    ("stagehand.rs", "stage_controller.rs"),
    ("voice.rs", "pod_events.rs"),
    ("at_work.rs", "sync_pass.rs"),
    ("beat.rs", "node_lease.rs"),
    ("telling.rs", "status_manager.rs"),
    ("relief.rs", "eviction_manager.rs"),
    ("came_of.rs", "pod_outcome.rs"),
    ("node_api.rs", "node_server.rs"),
    ("called.rs", "kind_names.rs"),
    ("orphan.rs", "parent_death.rs"),
    ("live.rs", "live_view.rs or live_data.rs"),
    ("snapshot_door.rs", "snapshot_api.rs"),
    ("care.rs", "maintenance.rs"),
    ("parting.rs", "divergence.rs"),
    ("nothing.rs", "no_op_writes.rs"),
    ("asker.rs", "requester.rs"),
    ("toy.rs", "broken_controller.rs"),
];

/// Types that a retired name or a file with one names.
pub(crate) fn retired(source: &Source, findings: &mut Vec<Finding>) {
    const RULE: &str = "retired names";
    let file = source.path.rsplit('/').next().unwrap_or_default();
    for (_, instead) in RETIRED_FILES.iter().filter(|(retired, _)| *retired == file) {
        findings.push(Finding::new(RULE, &source.package, &source.path, 1, format!("name the file `{instead}`")));
    }
    for (name, line, _) in types(source) {
        for (_, instead) in RETIRED_TYPES.iter().filter(|(retired, _)| *retired == name) {
            let what = format!("`{name}`: name the type {instead}");
            findings.push(Finding::new(RULE, &source.package, &source.path, line, what));
        }
    }
}

/// Names that more than three visible types share.
pub(crate) fn shared(sources: &[Source], findings: &mut Vec<Finding>) {
    let mut homes: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for source in sources {
        let may_plan = source.path.ends_with("/decide.rs");
        for (name, line, is_visible) in types(source) {
            if is_visible && !ALLOWED.contains(&name.as_str()) && !(may_plan && name == "Plan") {
                homes.entry(name).or_default().push(format!("{}:{line}", source.path));
            }
        }
    }
    for (name, homes) in homes.into_iter().filter(|(_, homes)| homes.len() > MOST) {
        let what = format!("{} types are named `{name}`: qualify each by its role: {}", homes.len(), homes.join(" "));
        findings.push(Finding::new("shared type names", "crates", "", 0, what));
    }
}

/// The types that a file defines: name, line, and whether they are visible beyond the file.
fn types(source: &Source) -> Vec<(String, usize, bool)> {
    let code = source.code();
    let mut found = Vec::new();
    for at in 1..code.len() {
        let defines = matches!(code[at - 1].text.as_str(), "struct" | "enum" | "trait" | "type" | "union");
        let before = at.checked_sub(2).map_or("", |at| code[at].text.as_str());
        let is_associated = code[at - 1].text == "type" && !matches!(before, ";" | "}" | "pub" | ")" | "]" | "");
        if defines && code[at].kind == Kind::Word && !is_associated {
            found.push((code[at].text.clone(), code[at].line, matches!(before, "pub" | ")")));
        }
    }
    found
}
