//! A Kubernetes engineer finds the code by the words of Kubernetes.
//!
//! Each question has the words that one would search for, and the file that must be among the first five hits. Hits are
//! files of the product. Files whose path contains the words come first, then those with more matching lines.

use std::path::Path;

use coracle_tests::{files_below, root};

/// A question, the words to search for, and the file that answers it.
const QUESTIONS: [(&str, &str, &str); 25] = [
    ("What evicts a pod from a node under pressure?", "eviction manager", "kubelet/src/eviction/eviction_manager.rs"),
    ("Which function syncs one pod?", "sync pod", "kubelet/src/sync/sync_pod.rs"),
    ("What writes the status of a pod?", "status manager", "kubelet/src/status/status_manager.rs"),
    ("Which controller plays KWOK's stages?", "stage controller", "stages/src/controller/stage_controller.rs"),
    ("Where does a node renew its Lease?", "heartbeat", "kubelet/src/node/heartbeat.rs"),
    ("Which file decides that a Job has failed?", "BackoffLimitExceeded", "controllers/src/job/decide.rs"),
    ("What decides whether an object is garbage?", "attemptToDelete", "controllers/src/garbage_collector/collector.rs"),
    ("Where are evicted pods of a tainted node deleted?", "taint eviction", "controllers/src/taint_eviction/mod.rs"),
    ("What lists and watches for an informer?", "Reflector", "informer/src/reflector.rs"),
    ("Where is a failed key delayed?", "rate limiter", "workqueue/src/rate_limiter.rs"),
    (
        "Which instance of a controller-manager is active?",
        "leader election",
        "controller-runtime/src/leader_election.rs",
    ),
    ("What spreads pods over zones?", "PodTopologySpread", "scheduler/src/filters/pod_topology_spread.rs"),
    ("Who may grant a role?", "escalation", "auth/src/escalation.rs"),
    ("What restricts a kubelet to its own node?", "NodeRestriction", "admission/src/node_restriction/mod.rs"),
    ("Where is a strategic merge patch applied?", "strategic merge", "schema/src/patch/strategic.rs"),
    ("Which rules select what is audited?", "audit policy", "apiserver/src/audit/policy.rs"),
    ("Where are requests refused because there are too many?", "in flight", "apiserver/src/limits/in_flight.rs"),
    ("Who is impersonated by a request?", "impersonate", "apiserver/src/front/impersonate.rs"),
    ("Where are cluster IP addresses allocated?", "cluster IP", "resources/src/core/service_allocation/cluster_ips.rs"),
    ("Where are certificates reloaded?", "dynamic certificates", "dynamic-certificates/src/file_watcher.rs"),
    ("Where does a program get a new flag?", "add a flag", "cli/src/flags.rs"),
    ("Which code compacts the store?", "compaction", "store/src/compaction.rs"),
    ("Which code opens the store?", "storage backend", "storage-backend/src/store.rs"),
    ("Where are the keys of kube-controller-manager read?", "key files", "pki/src/key_files.rs"),
    ("Where is a task restarted after a panic?", "BackoffUntil", "supervisor/src/tasks.rs"),
];

/// Among how many hits the answer must be.
const FIRST: usize = 5;

/// Words without case and separators, so that `eviction manager`, `eviction_manager` and `EvictionManager` are equal.
fn folded(text: &str) -> String {
    text.chars().filter(|sign| !matches!(sign, ' ' | '_' | '-')).flat_map(char::to_lowercase).collect()
}

/// The product's files with their folded lines, by their path below `crates`.
fn product() -> Vec<(String, Vec<String>)> {
    let crates = root().join("crates");
    let relative = |path: &Path| path.strip_prefix(&crates).unwrap().to_string_lossy().into_owned();
    files_below(&crates, ".rs")
        .iter()
        .map(|path| (relative(path), std::fs::read_to_string(path).unwrap().lines().map(folded).collect()))
        .filter(|(path, _): &(String, _)| path.contains("/src/") && !path.contains("/generated/"))
        .collect()
}

#[test]
fn the_words_of_kubernetes_lead_to_the_code() {
    let product = product();
    let mut misses = String::new();
    for (question, words, answer) in QUESTIONS {
        let words = folded(words);
        let matches = |lines: &[String]| lines.iter().filter(|line| line.contains(&words)).count();
        let mut hits: Vec<_> = product
            .iter()
            .map(|(path, lines)| (folded(path).contains(&words), matches(lines), path.as_str()))
            .filter(|(is_named, lines, _)| *is_named || *lines > 0)
            .collect();
        hits.sort_by(|left, right| right.0.cmp(&left.0).then(right.1.cmp(&left.1)).then(left.2.cmp(right.2)));
        let first: Vec<&str> = hits.iter().take(FIRST).map(|(.., path)| *path).collect();
        if !first.contains(&answer) {
            misses.push_str(&format!("{question} `{words}` leads to {first:?}, not to {answer}\n"));
        }
    }
    assert!(misses.is_empty(), "\n{misses}");
}
