//! The console over the client of the same process, in virtual time: commands that wait pass time.

use std::time::Duration;

use coracle_console::{Console, Input, Output};
use tokio::time::Instant;

async fn succeed(console: &Console, line: &str) -> String {
    let Output { stdout, stderr, code } = console.run(line, &Input::default()).await;
    assert_eq!(code, 0, "{line}: {stdout}{stderr}");
    stdout
}

async fn fail(console: &Console, line: &str) -> String {
    let Output { stdout, stderr, code } = console.run(line, &Input::default()).await;
    assert_ne!(code, 0, "{line}: {stdout}{stderr}");
    stderr
}

fn session(check: impl AsyncFnOnce(Console)) {
    coracle::run_virtual(1, async |cluster| {
        let console = Console::new(&cluster.api_client(), &cluster.ambient().clock);
        succeed(&console, "wait --for=create serviceaccount/default").await;
        check(console).await;
    })
    .unwrap();
}

#[test]
fn a_rollout_is_followed_until_it_is_done() {
    session(async |console| {
        succeed(&console, "kubectl create deployment web --image=nginx --replicas=3").await;
        let began = Instant::now();
        let followed = succeed(&console, "rollout status deployment/web").await;
        assert!(followed.ends_with("deployment \"web\" successfully rolled out\n"), "{followed}");
        assert!(followed.contains("0 of 3 updated replicas are available"), "{followed}");
        assert!(began.elapsed() > Duration::ZERO, "containers take time to start");
        let pods = succeed(&console, "get pods -l app=web -o name").await;
        assert_eq!(pods.lines().count(), 3, "{pods}");
        let described = succeed(&console, "describe deployment web").await;
        assert!(described.contains("Scaled up replica set web-"), "{described}");
        let output = console.run("kubectl get nodes | wc -l", &Input::default()).await;
        assert_eq!((output.code, output.stdout.as_str()), (2, ""));
    });
}

#[test]
fn a_deletion_waits_for_the_grace_period_of_the_pod() {
    session(async |console| {
        let pod = "{apiVersion: v1, kind: Pod, metadata: {name: slow}, spec: {containers: [{name: c, image: nginx, \
                   lifecycle: {preStop: {sleep: {seconds: 9}}}}]}}";
        let output = console.run("apply -f -", &Input::default().with_stdin(pod)).await;
        assert_eq!(output.stdout, "pod/slow created\n", "{}", output.stderr);
        assert_eq!(succeed(&console, "wait --for=condition=Ready pod/slow").await, "pod/slow condition met\n");
        let began = Instant::now();
        assert_eq!(succeed(&console, "delete pod slow --grace-period=20").await, "pod \"slow\" deleted\n");
        assert!(began.elapsed() >= Duration::from_secs(9), "{:?}", began.elapsed());
        assert!(fail(&console, "get pod slow").await.contains("(NotFound)"));
    });
}

#[test]
fn a_wait_that_is_in_vain_ends_at_its_timeout() {
    session(async |console| {
        succeed(&console, "run web --image=nginx").await;
        let began = Instant::now();
        let failed = fail(&console, "wait --for=jsonpath={.status.phase}=Failed pod/web --timeout=2h").await;
        assert_eq!(failed, "error: timed out waiting for the condition on pods/web\n");
        assert_eq!(began.elapsed().as_secs(), 2 * 3600);
        let failed = fail(&console, "delete pod none").await;
        assert_eq!(failed, "Error from server (NotFound): pods \"none\" not found\n");
    });
}

#[test]
fn a_drained_node_has_no_pods() {
    session(async |console| {
        succeed(&console, "create deployment web --image=nginx --replicas=4").await;
        succeed(&console, "rollout status deployment/web").await;
        let nodes = succeed(&console, "get nodes -o name").await;
        let node = nodes.lines().next().unwrap().to_owned();
        let drained = succeed(&console, &format!("drain {node}")).await;
        assert!(drained.starts_with(&format!("{node} cordoned\n")), "{drained}");
        assert!(drained.ends_with(&format!("{node} drained\n")), "{drained}");
        let name = node.strip_prefix("node/").unwrap();
        let left = succeed(&console, &format!("get pods -A --field-selector spec.nodeName={name} -o name")).await;
        assert_eq!(left, "");
    });
}

#[test]
fn an_applied_change_keeps_what_others_have_set() {
    session(async |console| {
        let map = |data: &str| {
            Input::default().with_file(
                "map.yaml",
                &format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: m}}\ndata: {data}\n"),
            )
        };
        let apply = async |data: &str| console.run("apply -f map.yaml", &map(data)).await.stdout;
        assert_eq!(apply("{a: '1', b: '1'}").await, "configmap/m created\n");
        assert_eq!(apply("{a: '1', b: '1'}").await, "configmap/m unchanged\n");
        succeed(&console, r#"patch cm m --type=merge -p '{"data":{"c":"9"}}'"#).await;
        assert_eq!(apply("{a: '2'}").await, "configmap/m configured\n");
        assert_eq!(succeed(&console, "get cm m -o jsonpath={.data}").await, r#"{"a":"2","c":"9"}"#);
        let broken =
            console.run("apply -f broken.yaml", &Input::default().with_file("broken.yaml", "a: b\n c: d\n")).await;
        assert_eq!((broken.code, broken.stdout.as_str()), (1, ""));
        assert!(broken.stderr.starts_with("error: error parsing broken.yaml: "), "{}", broken.stderr);
    });
}

#[test]
fn words_are_completed_from_the_verbs_and_the_objects() {
    session(async |console| {
        succeed(&console, "run web --image=nginx").await;
        let complete = async |line: &str| console.complete(line, line.len()).await.candidates;
        assert_eq!(complete("kubectl desc").await, ["describe"]);
        assert_eq!(complete("rollout re").await, ["restart", "resume"]);
        assert_eq!(
            complete("get po").await,
            ["po", "podcertificaterequests", "poddisruptionbudgets", "pods", "podtemplates"]
        );
        assert_eq!(complete("get pod ").await, ["web"]);
        assert_eq!(complete("delete pod/w").await, ["pod/web"]);
        assert_eq!(complete("logs w").await, ["web"]);
        assert!(complete("get pods -n kube-s").await.contains(&"kube-system".to_owned()));
        assert!(complete("get pods --sort").await.contains(&"--sort-by".to_owned()));
        assert_eq!(console.complete("get pods web", 6).await.start, 4);
    });
}

#[test]
fn any_line_is_answered() {
    session(async |console| {
        for line in [
            "",
            "kubectl",
            "-",
            "--",
            "get",
            "get --",
            "get -o",
            "'",
            "get pods -o jsonpath='{'",
            "describe é",
            "wait",
            "apply -f",
            "delete --all",
            "get pods --help",
            "rollout",
            "create secret",
            "top",
            "exec x",
            "get pod ../x",
            "scale --replicas=-1 deployment x",
            "patch pod x -p '{'",
            "taint nodes a b",
            "explain ...",
            "get pods/",
            "logs a b c",
            "run -- x",
            "label pod x =",
            "get , ,",
            "set image",
            "-n",
            "get pods -l '!!'",
        ] {
            let output = console.run(line, &Input::default()).await;
            let is_help = line.contains("--help") || line.is_empty() || line == "kubectl";
            assert!(output.code != 0 || is_help || line.starts_with("delete --all"), "{line}: {output:?}");
            assert!(!output.stderr.is_empty() || !output.stdout.is_empty(), "{line}");
        }
    });
}

#[test]
fn programs_of_containers_run_and_their_exit_code_is_that_of_the_command() {
    session(async |console| {
        succeed(&console, "run box --image=busybox --command -- sleep 100000").await;
        succeed(&console, "wait --for=condition=Ready pod/box").await;
        assert_eq!(succeed(&console, "exec box -- echo hello").await, "hello\n");
        let output = console.run("exec box -- sh -c 'sleep 2; echo awake; exit 3'", &Input::default()).await;
        assert_eq!((output.code, output.stdout.as_str()), (3, "awake\n"), "{}", output.stderr);
        assert_eq!(output.stderr, "command terminated with exit code 3\n");
        let output = console.run("exec -i box -- sh", &Input::default().with_stdin("echo given\nexit 4\n")).await;
        assert_eq!((output.code, output.stdout.as_str()), (4, "given\n"), "{}", output.stderr);
        assert!(fail(&console, "exec box -- no-such-program").await.starts_with("error: "));
    });
}
