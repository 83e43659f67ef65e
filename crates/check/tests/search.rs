//! A search finds what faults break, and stays silent about a controller that survives them.

use std::time::Duration;

use coracle::meta::{GroupVersionResource, Object, ObjectKey};
use coracle::runtime::{Api, Client, DeleteParams, Error, ListParams, Patch};
use coracle_check::{CheckReport, Connection, ControllerCheck, Error as CheckError, SearchStop, check};
use serde_json::{Value, json};
use tokio::time::sleep;

const CRD: &str = r#"
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: foos.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: foos, kind: Foo}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
"#;
const SAMPLE: &str = "{apiVersion: example.com/v1, kind: Foo, metadata: {name: a}, spec: {size: 1}}";
const FINALIZER: &str = "example.com/clean-up";
const PAUSE: Duration = Duration::from_secs(5);

fn foos(client: &Client) -> Api<Object> {
    Api::dynamic(client, GroupVersionResource::new("example.com", "v1", "foos")).within("default")
}

fn maps(client: &Client) -> Api<Object> {
    Api::dynamic(client, GroupVersionResource::new("", "v1", "configmaps")).within("default")
}

/// A controller that looks at all objects again and again.
async fn poll(connection: Connection, reconcile: impl AsyncFn(&Client, &Object) -> Result<(), Error>) {
    let client = connection.client();
    loop {
        if let Ok(list) = foos(&client).list(&ListParams::default()).await {
            for owner in list.items {
                // It is tried again after the pause.
                let _ = reconcile(&client, &owner).await;
            }
        }
        sleep(PAUSE).await;
    }
}

fn map(name: &Value, owner: &Object) -> Object {
    let mut metadata = json!({"namespace": "default", "labels": {"foo": owner.name()}});
    for (field, value) in name.as_object().unwrap() {
        metadata[field] = value.clone();
    }
    let size = owner.field("spec.size").map(ToString::to_string).unwrap_or_default();
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"size": size}});
    Object::from_value(map).unwrap()
}

async fn patch(client: &Client, owner: &Object, patch: Value) -> Result<(), Error> {
    foos(client).patch(&owner.key(), &Patch::Merge(patch)).await.map(drop)
}

async fn delete(client: &Client, name: &str) -> Result<(), Error> {
    match maps(client).delete(&ObjectKey::new("default", name), &DeleteParams::default()).await {
        Err(error) if !error.is_not_found() => Err(error),
        _ => Ok(()),
    }
}

async fn with_finalizer(client: &Client, owner: &Object) -> Result<(), Error> {
    if owner.finalizers().is_empty() {
        patch(client, owner, json!({"metadata": {"finalizers": [FINALIZER]}})).await?;
    }
    Ok(())
}

async fn let_go(client: &Client, owner: &Object) -> Result<(), Error> {
    patch(client, owner, json!({"metadata": {"uid": owner.uid(), "finalizers": null}})).await
}

/// It keeps the name of its child in the object, and writes it after the child: what is between the two is lost in a crash.
async fn forgets(client: &Client, owner: &Object) -> Result<(), Error> {
    let child = owner.field("status.child").and_then(Value::as_str).map(str::to_owned);
    match (owner.is_terminating(), child) {
        (true, child) => {
            if let Some(child) = child {
                delete(client, &child).await?;
            }
            let_go(client, owner).await
        }
        (false, Some(_)) => Ok(()),
        (false, None) => {
            with_finalizer(client, owner).await?;
            let created =
                maps(client).create(&map(&json!({"generateName": format!("{}-", owner.name())}), owner)).await?;
            patch(client, owner, json!({"status": {"child": created.name()}})).await
        }
    }
}

/// The name of its child follows from the object.
async fn survives(client: &Client, owner: &Object) -> Result<(), Error> {
    let key = ObjectKey::new("default", owner.name());
    if owner.is_terminating() {
        delete(client, owner.name()).await?;
        return let_go(client, owner).await;
    }
    with_finalizer(client, owner).await?;
    let wanted = map(&json!({"name": owner.name()}), owner);
    match maps(client).find(&key).await? {
        None => maps(client).create(&wanted).await.map(drop),
        Some(found) if found.field("data.size") != wanted.field("data.size") => {
            let size = json!({"data": {"size": wanted.field("data.size")}});
            maps(client).patch(&key, &Patch::Merge(size)).await.map(drop)
        }
        Some(_) => Ok(()),
    }
}

#[test]
fn a_crash_between_two_writes_is_found_as_what_it_leaves_behind() {
    let report = check(|connection| poll(connection, forgets)).crd(CRD).sample(SAMPLE).plans(30).search().unwrap();
    println!("{report}");
    let words: Vec<&str> = report.found.iter().map(|found| found.finding.check.word).collect();
    assert!(words.contains(&"leaves-behind"), "{words:?}");
    let found = report.found.iter().find(|found| found.finding.check.word == "leaves-behind").unwrap();
    assert_eq!(found.plan.faults.len(), 1, "{found}");
    assert!(report.fails());
}

/// It creates a pod for each object, or one that is not valid.
async fn creates_a_pod(client: &Client, owner: &Object, image: &str) -> Result<(), Error> {
    let pods = Api::dynamic(client, GroupVersionResource::new("", "v1", "pods")).within("default");
    let key = ObjectKey::new("default", owner.name());
    if owner.is_terminating() || pods.find(&key).await?.is_some() {
        return Ok(());
    }
    let owners = json!([{"apiVersion": "example.com/v1", "kind": "Foo", "name": owner.name(), "uid": owner.uid()}]);
    let metadata = json!({"name": owner.name(), "namespace": "default", "ownerReferences": owners});
    let spec = json!({"containers": [{"name": "main", "image": image}]});
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec});
    pods.create(&Object::from_value(pod).unwrap()).await.map(drop)
}

fn writes_refused(report: &CheckReport) -> Vec<&str> {
    let findings = report.without_faults.iter().filter(|finding| finding.check.word == "writes-refused");
    findings.map(|finding| finding.violation.what.as_str()).collect()
}

#[test]
fn pods_are_accepted_without_a_service_account_and_a_refused_pod_is_named() {
    let search = |image: &'static str| {
        let controller =
            move |connection| poll(connection, async move |client, owner| creates_a_pod(client, owner, image).await);
        check(controller).crd(CRD).sample(SAMPLE).plans(5).search().unwrap()
    };
    let report = search("busybox");
    assert!(report.tried.sites.iter().any(|site| site.to_string().contains("create pods")), "{report}");
    assert_eq!(writes_refused(&report), [""; 0]);
    let report = search("");
    assert_eq!(writes_refused(&report), ["create pods/default: 422: Invalid"], "{report}");
}

#[test]
fn a_controller_that_survives_faults_is_not_reported() {
    let report = check(|connection| poll(connection, survives)).crd(CRD).sample(SAMPLE).plans(100).search().unwrap();
    println!("{report}");
    assert!(!report.fails(), "{report}");
    assert!(report.tried.struck > 50, "{:?}", report.tried);
}

#[test]
fn one_seed_gives_one_report_with_any_number_of_threads() {
    let report = |jobs: usize| {
        let subject = check(|connection| poll(connection, forgets)).crd(CRD).sample(SAMPLE);
        subject.plans(12).jobs(jobs).search().unwrap().to_string()
    };
    let one = report(1);
    assert!(one.contains("leaves-behind") && one.contains("faults that struck"), "{one}");
    assert_eq!(one, report(2));
    assert_eq!(one, report(2));
}

fn forgetful() -> ControllerCheck {
    check(|connection| poll(connection, forgets)).crd(CRD).sample(SAMPLE).faults(["kill"])
}

fn words(report: &CheckReport) -> Vec<&str> {
    report.found.iter().map(|found| found.finding.check.word).collect()
}

#[test]
fn each_format_of_a_report_has_the_finding() {
    let report = forgetful().only(["leaves-behind", "hot-loop"]).plans(4).search().unwrap();
    assert_eq!(words(&report), ["leaves-behind"]);
    let json = report.json();
    assert_eq!((&json["fails"], &json["found"][0]["check"]), (&json!(true), &json!("leaves-behind")));
    assert_eq!(json["found"][0]["faults"], json!(report.found[0].plan.faults));
    let junit = report.junit();
    assert!(junit.contains("<testsuites tests=\"2\" failures=\"1\">"), "{junit}");
    assert!(junit.contains("name=\"leaves-behind\">\n      <failure type=\"broken\""), "{junit}");
    assert!(junit.contains("name=\"hot-loop\"/>"), "{junit}");
    let run = &report.sarif()["runs"][0];
    assert_eq!(run["tool"]["driver"]["rules"].as_array().unwrap().len(), 2, "{run}");
    assert_eq!((&run["results"][0]["ruleId"], &run["results"][0]["level"]), (&json!("leaves-behind"), &json!("error")));
}

#[test]
fn checks_that_do_not_count_and_faults_that_are_not_tried_find_nothing() {
    let other_check = forgetful().only(["hot-loop"]).plans(4).search().unwrap();
    assert!(!other_check.fails() && other_check.tried.struck == 4, "{other_check}");
    let no_fault = forgetful().faults([]).search().unwrap();
    assert!(!no_fault.fails() && no_fault.tried.plans == 0 && !no_fault.tried.sites.is_empty(), "{no_fault}");
    let unknown = forgetful().only(["hot-lop"]).search().unwrap_err().to_string();
    assert!(unknown.ends_with("did you mean `hot-loop`?"), "{unknown}");
}

#[test]
fn a_search_that_has_ended_shows_with_which_plan_it_continues_and_numbers_stay_the_same() {
    let all = forgetful().plans(4).search().unwrap();
    let number = all.found.iter().find(|found| found.finding.check.word == "leaves-behind").unwrap().number.unwrap();
    let before = forgetful().plans(number - 1).search().unwrap();
    assert_eq!(before.tried.next, Some(number), "{before}");
    let after = forgetful().from(number).plans(1).search().unwrap();
    assert_eq!((words(&after), after.found[0].number), (vec!["leaves-behind"], Some(number)), "{after}");
    let stop = SearchStop::default();
    stop.ask();
    assert!(matches!(forgetful().stopped_by(&stop).search(), Err(CheckError::Stopped)));
}

#[test]
fn a_plan_in_a_file_is_replayed_a_hundred_times_with_the_same_event_log_and_what_has_changed_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    let report = forgetful().only(["leaves-behind"]).plans(4).out(folder.path()).pages().search().unwrap();
    let file = report.found[0].file.clone().unwrap();
    assert!(file.with_extension("html").is_file());
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("log: sha256:"), "{text}");
    let again = check(|connection| poll(connection, forgets)).crd(CRD).sample(SAMPLE).replay("f", &*text);
    let again = again.search().unwrap();
    assert!(again.fails() && again.tried.plans == 1, "{again}");
    assert_eq!(again.replayed[0].to_string(), "f: leaves-behind still fails\n");
    let often = check(|connection| poll(connection, forgets)).crd(CRD).sample(SAMPLE);
    let often = (0..100).fold(often, |check, _| check.replay("f", &*text)).search().unwrap();
    assert_eq!(often.replayed.len(), 100);
    assert!(often.replayed.iter().all(|replayed| replayed.is_found_again && replayed.changes.is_empty()), "{often}");
    let other = SAMPLE.replace("size: 1", "size: 2");
    let fixed = check(|connection| poll(connection, survives)).crd(CRD).sample(other).replay("f", &*text);
    let fixed = fixed.search().unwrap();
    let shown = fixed.replayed[0].to_string();
    assert!(!fixed.fails() && shown.contains("does not fail any more"), "{fixed}");
    assert!(shown.contains("samples are not those of this check") && shown.contains("write "), "{shown}");
    let renamed = check(|connection| poll(connection, forgets)).named("other").sample(SAMPLE).replay("f", &*text);
    let why = renamed.search().unwrap_err().to_string();
    assert_eq!(why, "f: it is a plan of the controller `controller`, and this one has the name `other`");
}
