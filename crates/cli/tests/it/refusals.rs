//! Every refusal of the program stands in `tests/refusals.txt`: the command line, what is printed, the exit code.
//! `CORACLE_WRITE_REFUSALS=1` writes the file.

use std::fmt::Write;
use std::fs::File;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use crate::program::Folder;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/refusals.txt");

const INTRODUCTION: &str = "\
# Every command line and input file that Coracle refuses, with what it prints to stderr and the exit code.
# Written by crates/cli/tests/it/refusals.rs with CORACLE_WRITE_REFUSALS=1.
";

/// The input files, by name.
const INPUTS: &[(&str, &str)] = &[
    ("empty.pem", ""),
    ("tokens.csv", "token\n"),
    ("audit-policy.yaml", "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n- level: Metadata\n"),
    ("audit-level.yaml", "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n- level: All\n"),
    ("kubeconfig.yaml", KUBECONFIG),
    ("no-context.yaml", "apiVersion: v1\nkind: Config\ncurrent-context: nowhere\n"),
    (
        "stage-field.yaml",
        "apiVersion: kwok.x-k8s.io/v1alpha1\nkind: Stage\nmetadata: {name: a}\nspec: {resourceRef: {kind: Pod}, nexxt: {}}\n",
    ),
    ("images-field.yaml", "web:1.1: {exist: false}\n"),
    ("images-name.yaml", "Web Server: {exists: false}\n"),
    ("stage-template.yaml", STAGE_TEMPLATE),
    (
        "plan.yaml",
        "apiVersion: coracle.dev/v1alpha1\nkind: Plan\nspec: {of: {component: another}, faults: [{do: {kill: another}}]}\n",
    ),
    (
        "scheduler-value.yaml",
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nparallelism: 0\n",
    ),
    ("scheduler-kind.yaml", "apiVersion: v1\nkind: Pod\n"),
    ("admission.yaml", "apiVersion: apiserver.config.k8s.io/v1\nkind: Colour\n"),
    ("scenario.yaml", "apiVersion: coracle.dev/v1alpha1\nkind: Scenario\nmetadata: {name: a}\nspec: {steps: []}\n"),
    (
        "scenario-field.yaml",
        "apiVersion: coracle.dev/v1alpha1\nkind: Scenario\nmetadata: {name: a}\nspec: {stepps: []}\n",
    ),
    (
        "fault-word.yaml",
        "apiVersion: coracle.dev/v1alpha1\nkind: Scenario\nmetadata: {name: a}\nspec: {faults: [{do: {loose: answer}}], steps: []}\n",
    ),
    (
        "fault-verb.yaml",
        "apiVersion: coracle.dev/v1alpha1\nkind: Scenario\nmetadata: {name: a}\nspec: {faults: [{do: {lag: 5s, verb: create}}], steps: []}\n",
    ),
    (
        "fault-requester.yaml",
        "apiVersion: coracle.dev/v1alpha1\nkind: Scenario\nmetadata: {name: a}\nspec: {faults: [{do: {cut: scheduller}}], steps: []}\n",
    ),
    (
        "fault-skew.yaml",
        "apiVersion: coracle.dev/v1alpha1\nkind: Scenario\nmetadata: {name: a}\nspec: {faults: [{do: {skew: {controller-manager/cronjob: 5s}}}], steps: []}\n",
    ),
    (
        "workload-cel.yaml",
        "apiVersion: coracle.dev/v1alpha1\nkind: Scenario\nmetadata: {name: a}\nspec: {never: [{name: a, cel: pod.size() > 1}], steps: []}\n",
    ),
    ("fault-list.yaml", "- do: {loose: answer}\n"),
    ("fault-kind.yaml", "- do: {lag: 5s, kind: Widget, to: my-operator}\n"),
    ("fault-store.yaml", "- do: {store: kill}\n"),
    ("not-yaml.yaml", "a: [\n"),
    ("events.jsonl", "no log\n"),
];

const KUBECONFIG: &str = "
apiVersion: v1
kind: Config
current-context: c
clusters: [{name: s, cluster: {server: 'https://127.0.0.1:9', insecure-skip-tls-verify: true}}]
users: [{name: u, user: {token: t}}]
contexts: [{name: c, context: {cluster: s, user: u}}]
";

const STAGE_TEMPLATE: &str = "
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: a}
spec:
  resourceRef: {kind: Pod}
  next:
    statusTemplate: '{{ if }}'
";

/// The refused command lines. `API`, `UP` and so on stand for the start of a command line, in [`PREFIXES`].
const REFUSED: &[&str] = &[
    "coracle colour",
    "coracle up --colour",
    "coracle completion colour",
    // The API server.
    "coracle apiserver",
    "coracle apiserver --store=none",
    "coracle apiserver --store=sled:",
    "coracle apiserver --store=memory --etcd-servers=http://127.0.0.1:1",
    "coracle apiserver --etcd-cafile=a",
    "coracle apiserver --etcd-servers=https://127.0.0.1:1 --etcd-cafile=missing.pem",
    "coracle apiserver --etcd-servers=https://127.0.0.1:1 --etcd-cafile=empty.pem",
    "coracle apiserver --store=memory --cert-dir=empty.pem/pki",
    "API --oidc-issuer-url=https://a --oidc-client-id=b --encryption-provider-config=c",
    "API --watch_cache=false --service-account-lookup=false",
    "API --enable-bootstrap-token-auth",
    "API --audit-log-format=legacy",
    "API --audit-log-mode=blocking-strict",
    "API --audit-log-mode=soon",
    "API --audit-policy-file=missing.yaml",
    "API --audit-policy-file=audit-level.yaml",
    "API --audit-policy-file=audit-policy.yaml --audit-log-path=missing/audit.log",
    "API --feature-gates=A=maybe",
    "API --runtime-config=apps/v1=maybe",
    "API --request-timeout=0s",
    "API --event-ttl=soon",
    "API --etcd-prefix=/",
    "API --service-node-port-range=2-1",
    "API --tls-min-version=1",
    "API --max-requests-inflight=many",
    "API --bind-address=nowhere",
    "API --service-cluster-ip-range=nowhere",
    "API --service-address=nowhere",
    "API --endpoint-reconciler-type=master-count",
    "API --enable-admission-plugins=Colour",
    "API --token-auth-file=missing.csv",
    "API --token-auth-file=tokens.csv",
    "API --service-account-max-token-expiration=1m",
    "API --service-account-max-token-expiration=soon",
    "API --service-account-signing-key-file=missing.key",
    "API --service-account-signing-key-file=empty.pem",
    "API --service-account-key-file=empty.pem",
    "API --authorization-mode=Rbac",
    "API --authorization-mode=RBAC,RBAC",
    "API --authorization-mode=Webhook",
    "API --authorization-mode=RBAC --authorization-webhook-config-file=kubeconfig.yaml",
    "API --authorization-mode=Webhook --authorization-webhook-config-file=missing.yaml",
    "API --authentication-token-webhook-config-file=no-context.yaml",
    "API --authentication-token-webhook-config-file=kubeconfig.yaml --authentication-token-webhook-version=v2",
    "API --authentication-token-webhook-cache-ttl=soon",
    "API --requestheader-username-headers=,",
    "API --requestheader-client-ca-file=missing.pem",
    "API --proxy-client-cert-file=a",
    "API --proxy-client-cert-file=missing.pem --proxy-client-key-file=missing.key",
    "API --kubelet-client-certificate=missing.pem --kubelet-client-key=missing.key",
    // kube-apiserver.
    "KUBE",
    "KUBE --colour=red stray",
    "KUBE --oidc-issuer-url=https://a",
    "KUBE --client-ca-file=missing.pem",
    "KUBE --tls-cert-file=missing.pem",
    "KUBE --admission-control-config-file=missing.yaml",
    "KUBE --admission-control-config-file=admission.yaml",
    "CORACLE_CONTROLLERS=gardener KUBE --etcd-servers=http://127.0.0.1:1",
    "CORACLE_CONTROLLERS=true CORACLE_NODES=many KUBE --etcd-servers=http://127.0.0.1:1",
    // The cluster.
    "UP --nodes=many",
    "UP --pod-manifest-path=node-9=a",
    "UP --pod-manifest-path=",
    "UP --stages=missing.yaml",
    "UP --images=images-field.yaml",
    "UP --images=images-name.yaml",
    "UP --stages=stage-field.yaml",
    "UP --stages=stage-template.yaml",
    "UP --scheduler-config=missing.yaml",
    "UP --scheduler-config=scheduler-value.yaml",
    "UP --faults=missing.yaml",
    "UP --faults=fault-list.yaml",
    "UP --faults=fault-kind.yaml",
    "coracle up --faults=fault-store.yaml",
    "coracle apiserver --store=sled:data --faults=fault-store.yaml",
    "UP --view=nowhere",
    "UP --kube-controller-manager-arg=a",
    "UP --kube-controller-manager-arg=colour=red",
    "UP --kube-controller-manager-arg=leader-elect=true",
    "UP --kube-controller-manager-arg=node-monitor-period=soon",
    "UP --kube-controller-manager-arg=enable-garbage-collector=false",
    "UP --kube-controller-manager-arg=cluster-signing-key-file=a",
    // The controllers.
    "coracle controller-manager",
    "coracle controller-manager --kubeconfig=missing.yaml",
    "coracle controller-manager --kubeconfig=no-context.yaml",
    "coracle controller-manager --kubeconfig=not-yaml.yaml",
    "CONTROLLERS --controllers=*,gardener",
    "CONTROLLERS --controllers=tokencleaner",
    "CONTROLLERS --node-monitor-period=soon",
    "CONTROLLERS --large-cluster-size-threshold=many",
    "CONTROLLERS --max-endpoints-per-slice=1001",
    "CONTROLLERS --legacy-service-account-token-clean-up-period=0s",
    "CONTROLLERS --allocate-node-cidrs",
    "CONTROLLERS --allocate-node-cidrs --cluster-cidr=nowhere",
    "CONTROLLERS --allocate-node-cidrs --cluster-cidr=10.0.0.0/8,10.1.0.0/16",
    "CONTROLLERS --allocate-node-cidrs --cluster-cidr=10.244.0.0/25",
    "CONTROLLERS --leader-elect --leader-elect-lease-duration=10s",
    "CONTROLLERS --leader-elect --leader-elect-retry-period=9s",
    "CONTROLLERS --leader-elect --leader-elect-retry-period=0s",
    "CONTROLLERS --concurrent-gc-syncs=3 --master=https://a --enable-garbage-collector=false",
    "CONTROLLERS --arg=a",
    "CONTROLLERS --arg=colour=red",
    "CONTROLLERS --arg=node-eviction-rate=high",
    "CONTROLLERS --cluster-signing-cert-file=a",
    "CONTROLLERS --cluster-signing-cert-file=a --cluster-signing-key-file=b --cluster-signing-legacy-unknown-cert-file=c \
     --cluster-signing-legacy-unknown-key-file=d",
    "CONTROLLERS --cluster-signing-cert-file=missing.pem --cluster-signing-key-file=missing.key",
    "CONTROLLERS --root-ca-file=empty.pem",
    "CONTROLLERS --service-account-private-key-file=empty.pem",
    "CONTROLLERS --metrics=nowhere",
    // The scheduler.
    "coracle scheduler",
    "coracle scheduler --kubeconfig=missing.yaml",
    "coracle scheduler --config=missing.yaml",
    "coracle scheduler --config=scheduler-value.yaml",
    "coracle scheduler --config=scheduler-kind.yaml",
    "coracle scheduler --kubeconfig=kubeconfig.yaml --write-config-to=a --profiling",
    // Nodes.
    "coracle kubelet",
    "coracle kubelet --kubeconfig=missing.yaml",
    "coracle kubelet --kubeconfig=kubeconfig.yaml --tls-cert-file=a",
    "coracle kubelet --kubeconfig=kubeconfig.yaml --client-ca-file=missing.pem",
    "coracle kubelet --kubeconfig=kubeconfig.yaml --pod-manifest-path=node-9=a",
    "coracle kubelet --kubeconfig=kubeconfig.yaml --address=nowhere",
    // The store.
    "coracle store --listen-client-urls=nowhere",
    "coracle store --listen-client-urls=https://127.0.0.1:0",
    "STORE --client-cert-auth",
    "STORE --cert-file=a",
    "coracle store --listen-client-urls=https://127.0.0.1:0 --cert-file=missing.pem --key-file=missing.key",
    "coracle store --listen-client-urls=https://127.0.0.1:0 --cert-file=empty.pem --key-file=empty.pem",
    "STORE --auto-compaction-mode=soon",
    "STORE --auto-compaction-retention=soon",
    "STORE --auto-compaction-mode=revision --auto-compaction-retention=many",
    "STORE --watch-progress-notify-interval=0s",
    "etcd --listen-client-urls=nowhere --listen-peer-urls=http://a --log-level=debug --colour=red",
    "coracle store check missing",
    "coracle store backup missing",
    "coracle store backup missing file",
    "coracle store restore missing data",
    "coracle store restore empty.pem data",
    "coracle store defrag missing",
    // Scenarios and event logs.
    "coracle run",
    "coracle run missing.yaml",
    "coracle run scenario-field.yaml",
    "coracle run not-yaml.yaml",
    "coracle run fault-word.yaml",
    "coracle run fault-verb.yaml",
    "coracle run fault-requester.yaml",
    "coracle run fault-skew.yaml",
    "coracle run scenarios",
    "coracle run --mode=slow scenario.yaml",
    "coracle run --disturb=hard scenario.yaml",
    "coracle run --at=3 scenario.yaml",
    "coracle run --events=e scenario.yaml scenario.yaml",
    "coracle run --report=r.html scenario.yaml scenario.yaml",
    "coracle run --report=r.txt scenario.yaml",
    "coracle run --report=missing/r.html scenario.yaml",
    "coracle learn 99",
    "coracle learn --report=r.html",
    "coracle story missing.jsonl",
    "coracle story events.jsonl",
    "coracle why pods/default/a --events=missing.jsonl",
    "coracle diff missing.jsonl missing.jsonl",
    "coracle view missing.jsonl",
    "coracle view events.jsonl --report=r.txt",
    // A cluster that does not run.
    "coracle env",
    "coracle kubectl get pods",
    "coracle import missing.yaml",
    "coracle import --kubeconfig=missing.yaml scenario.yaml",
    "coracle snapshot save s",
    "coracle snapshot check missing",
    "coracle snapshot restore missing --state-dir=other",
    "coracle check",
    "coracle check -- ./controller",
    "coracle check --sample=missing.yaml -- ./controller",
    "coracle check --sample=not-yaml.yaml -- ./controller",
    "coracle check --sample=stage-field.yaml -- ./controller",
    "coracle check --sample=stage-field.yaml --only=leave-behind -- ./controller",
    "coracle check --sample=stage-field.yaml --faults=kil -- ./controller",
    "coracle check --sample=stage-field.yaml --budget=many -- ./controller",
    "coracle check --sample=stage-field.yaml --format=sarrif -- ./controller",
    "coracle check --sample=stage-field.yaml --plan=missing.yaml -- ./controller",
    "coracle check --sample=stage-field.yaml --plan=stage-field.yaml -- ./controller",
    "coracle check --sample=stage-field.yaml --plan=plan.yaml -- ./controller",
    "coracle run plan.yaml",
    "coracle view plan.yaml",
    "coracle check --workload=missing.yaml -- ./controller",
    "coracle check --workload=scenario-field.yaml -- ./controller",
    "coracle check --workload=workload-cel.yaml -- ./controller",
    "coracle fault list",
    "coracle fault add missing.yaml",
    "coracle kubeconfig --for=my-operator",
    "coracle kubeconfig --for=a/b",
    "coracle node kill node-1",
    "coracle node --kubeconfig=missing.yaml add node-9",
    "coracle node --kubeconfig=kubeconfig.yaml add node-9 --label=a",
    "coracle node --kubeconfig=kubeconfig.yaml add node-9 --taint=a",
    "coracle node --kubeconfig=kubeconfig.yaml add node-9 --capacity=cpu=many",
    "coracle node --kubeconfig=kubeconfig.yaml drain node-9 --timeout=soon",
];

const PREFIXES: &[(&str, &str)] = &[
    ("API", "coracle apiserver --store=memory --cert-dir=pki --secure-port=0"),
    ("KUBE", "kube-apiserver --bind-address=127.0.0.1 --secure-port=0 --cert-dir=certificates"),
    ("UP", "coracle up --ephemeral"),
    ("CONTROLLERS", "coracle controller-manager --kubeconfig=kubeconfig.yaml"),
    ("STORE", "coracle store --listen-client-urls=http://127.0.0.1:0"),
];

/// A command line with its prefix written out.
fn whole(line: &str) -> String {
    let word = |word: &str| {
        let known = PREFIXES.iter().find(|(prefix, _)| *prefix == word);
        known.map_or_else(|| word.to_owned(), |(_, whole)| (*whole).to_owned())
    };
    line.split_whitespace().map(word).collect::<Vec<_>>().join(" ")
}

/// Runs a command line in `folder`, and returns what it printed, with its exit code.
fn run(folder: &Path, line: &str) -> String {
    let mut words = line.split(' ').peekable();
    let mut variables = Vec::new();
    while let Some((name, value)) = words.peek().and_then(|word| word.split_once('=')) {
        variables.push((name, value));
        words.next();
    }
    let program = words.next().unwrap();
    let file = |name: &str| File::create(folder.join(name)).unwrap();
    let mut command = Command::new(folder.join("bin").join(program));
    command.args(words).envs(variables).current_dir(folder);
    command.env("CORACLE_STATE_DIR", "state").env_remove("CORACLE_SEED").env_remove("KUBECONFIG");
    command.stdin(Stdio::null()).stdout(file("stdout")).stderr(file("stderr"));
    let status = ended(command.spawn().unwrap());
    let printed = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let (stdout, stderr) = (printed("stdout"), printed("stderr"));
    let text = format!("$ {line}\n{stderr}").replace(&folder.display().to_string(), "FOLDER");
    let stdout = if stdout.is_empty() { String::new() } else { format!("stdout: {}\n", stdout.trim_end()) };
    let code = status.map_or_else(|| DOES_NOT_END.to_owned(), |status| status.code().unwrap().to_string());
    format!("{}\n{stdout}exit code {code}\n", text.trim_end())
}

/// Stands for the exit code of a program that was killed.
const DOES_NOT_END: &str = "none: it does not end";

/// Waits for the end of a program that refuses to start; kills one that starts.
fn ended(mut child: Child) -> Option<ExitStatus> {
    #[expect(clippy::disallowed_methods, reason = "other processes are waited for")]
    let pause = || std::thread::sleep(Duration::from_millis(50));
    for _ in 0..600 {
        if let Some(status) = child.try_wait().unwrap() {
            return Some(status);
        }
        pause();
    }
    child.kill().unwrap();
    let _ = child.wait();
    None
}

#[test]
fn every_refusal_reads_as_the_file_shows_it() {
    let folder = Folder::new("refusals");
    std::fs::create_dir(folder.join("bin")).unwrap();
    std::fs::create_dir(folder.join("scenarios")).unwrap();
    for name in ["coracle", "kube-apiserver", "etcd"] {
        symlink(env!("CARGO_BIN_EXE_coracle"), folder.join("bin").join(name)).unwrap();
    }
    for (name, text) in INPUTS {
        std::fs::write(folder.join(name), text).unwrap();
    }
    let mut text = INTRODUCTION.to_owned();
    for line in REFUSED {
        let _ = write!(text, "\n{}", run(folder.path(), &whole(line)));
    }
    if std::env::var_os("CORACLE_WRITE_REFUSALS").is_some() {
        std::fs::write(FILE, &text).unwrap();
    }
    assert!(!text.contains(DOES_NOT_END), "{text}");
    let found = std::fs::read_to_string(FILE).unwrap_or_default();
    for (is, was) in text.split("\n\n").zip(found.split("\n\n")) {
        assert_eq!(is, was, "set CORACLE_WRITE_REFUSALS=1 to write {FILE}");
    }
    assert_eq!(text, found, "set CORACLE_WRITE_REFUSALS=1 to write {FILE}");
}
