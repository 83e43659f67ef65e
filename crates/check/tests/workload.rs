//! A check with the work of a user, and with properties, that its author has written.

use std::path::Path;
use std::time::Duration;

use coracle::meta::{GroupVersionResource, Object, ObjectKey};
use coracle::runtime::{Api, Client, DeleteParams, Error, ListParams, Patch};
use coracle_check::{CheckReport, Connection, ControllerCheck, check};
use serde_json::{Value, json};
use tokio::time::sleep;

const WISH: &str = "{apiVersion: v1, kind: ConfigMap, metadata: {name: wish}, data: {size: '1'}}";
const BIGGER: &str = "{apiVersion: v1, kind: ConfigMap, metadata: {name: wish}, data: {size: '2'}}";
const ECHO: &str = "{apiVersion: v1, kind: ConfigMap, metadata: {name: echo, namespace: default}}";
const FITS: &str = "configmaps.exists(e, e.metadata.name == 'echo' && has(e.data) && configmaps.exists(w, \
                    w.metadata.name == 'wish' && w.data.size == e.data.size))";

fn maps(client: &Client) -> Api<Object> {
    Api::dynamic(client, GroupVersionResource::new("", "v1", "configmaps")).within("default")
}

/// The size that the user wishes.
async fn wish(client: &Client) -> Result<Option<String>, Error> {
    let found = maps(client).find(&ObjectKey::new("default", "wish")).await?;
    Ok(found.and_then(|wish| Some(wish.field("data.size")?.as_str()?.to_owned())))
}

async fn echo(client: &Client, size: &str) -> Result<(), Error> {
    let patch = Patch::Merge(json!({"data": {"size": size}}));
    maps(client).patch(&ObjectKey::new("default", "echo"), &patch).await.map(drop)
}

/// It notes what it has echoed before the write, and does not write it again if the write fails.
async fn notes_first(connection: Connection) {
    let (client, mut noted) = (connection.client(), None);
    loop {
        if let Ok(Some(size)) = wish(&client).await
            && noted.as_ref() != Some(&size)
        {
            noted = Some(size.clone());
            let _ = echo(&client, &size).await;
        }
        sleep(Duration::from_secs(5)).await;
    }
}

/// It compares the wish with the echo that is there.
async fn compares(connection: Connection) {
    let client = connection.client();
    loop {
        if let Ok(Some(size)) = wish(&client).await {
            // It is tried again after the pause.
            let _ = compare(&client, &size).await;
        }
        sleep(Duration::from_secs(5)).await;
    }
}

async fn compare(client: &Client, size: &str) -> Result<(), Error> {
    let there = maps(client).get(&ObjectKey::new("default", "echo")).await?;
    if there.field("data.size").and_then(Value::as_str) == Some(size) { Ok(()) } else { echo(client, size).await }
}

fn echoing<F>(run: impl Fn(Connection) -> F + Send + Sync + 'static) -> ControllerCheck
where
    F: Future<Output = ()> + Send + 'static,
{
    let subject = check(run).given(ECHO).plans(60).workload(async |user| {
        user.create(WISH).await?;
        user.settled().await?;
        user.patch(BIGGER).await
    });
    subject.eventually("the echo has the size of the wish", FITS)
}

fn words(report: &CheckReport) -> Vec<&'static str> {
    let without = report.without_faults.iter().map(|finding| finding.check.word);
    without.chain(report.found.iter().map(|found| found.finding.check.word)).collect()
}

/// It makes a map for the wish, and then notes its name, with which it deletes the map later.
async fn makes(connection: Connection) {
    let client = connection.client();
    loop {
        // It is tried again after the pause.
        let _ = make(&client).await;
        sleep(Duration::from_secs(5)).await;
    }
}

async fn make(client: &Client) -> Result<(), Error> {
    let note = ObjectKey::new("default", "note");
    let noted = maps(client).get(&note).await?;
    let made = noted.field("data.made").and_then(Value::as_str);
    let name = match (wish(client).await?, made) {
        (Some(_), None) => {
            let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "made-"}});
            let made = maps(client).create(&Object::from_value(map).expect("an object")).await?;
            Some(made.name().to_owned())
        }
        (None, Some(made)) => {
            match maps(client).delete(&ObjectKey::new("default", made), &DeleteParams::default()).await {
                Err(error) if !error.is_not_found() => return Err(error),
                _ => None,
            }
        }
        _ => return Ok(()),
    };
    maps(client).patch(&note, &Patch::Merge(json!({"data": {"made": name}}))).await.map(drop)
}

#[test]
fn faults_strike_another_component_of_the_author_and_its_finding_has_its_name() {
    let note = "{apiVersion: v1, kind: ConfigMap, metadata: {name: note, namespace: default}}";
    let report = echoing(compares).given(note).part("maker", makes).search().unwrap();
    println!("{report}");
    let left = report.found.iter().find(|found| found.finding.check.word == "leaves-behind").expect("a map is left");
    assert_eq!(left.finding.component, "maker");
    assert_eq!(left.plan.faults[0]["when"]["by"], "maker");
    assert!(left.acts.iter().any(|act| act.contains("maker creates configmaps/default/made-")), "{report}");
    assert!(report.tried.sites.iter().any(|site| site.by == "controller"), "{report}");
}

#[test]
fn a_property_that_does_not_hold_at_rest_after_a_fault_is_found_with_its_sentence() {
    let report = echoing(notes_first).search().unwrap();
    println!("{report}");
    assert!(words(&report).contains(&"breaks-property"), "{report}");
    assert!(report.to_string().contains("the echo has the size of the wish: expected "), "{report}");
}

#[test]
fn a_controller_whose_properties_hold_is_not_reported() {
    let report = echoing(compares).search().unwrap();
    println!("{report}");
    assert!(!report.fails() && report.tried.struck > 10, "{report}");
}

#[test]
fn a_property_that_never_holds_is_found_without_a_fault_at_the_write_that_breaks_it() {
    let report = echoing(compares)
        .never(
            "an echo is bigger than 1",
            "configmaps.exists(m, has(m.data) && m.metadata.name == 'echo' && m.data.size == '2')",
        )
        .search()
        .unwrap();
    assert_eq!(words(&report), ["breaks-property"]);
    let violation = &report.without_faults[0].violation;
    assert!(violation.what.starts_with("an echo is bigger than 1: ") && violation.entry.is_some(), "{violation:?}");
}

#[test]
fn the_steps_and_conditions_of_a_scenario_are_a_workload() {
    let scenario = "apiVersion: coracle.dev/v1alpha1\nkind: Scenario\nmetadata: {name: grow}\nspec:\n  steps:\n  \
                    - name: a wish\n    try: [{create: {resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: wish}, \
                    data: {size: '1'}}}}]\n  - name: it grows\n    user: alice\n    try:\n    - {patch: {resource: {apiVersion: v1, \
                    kind: ConfigMap, metadata: {name: wish}, data: {size: '2'}}}}\n    \
                    - {assert: {cel: \"FITS\", timeout: 30s}}\n  eventually: [{name: the echo fits, cel: \"FITS\"}]\n";
    let scenario = scenario.replace("FITS", FITS);
    let run = |subject: ControllerCheck| {
        subject.given(ECHO).plans(60).workload_from(Path::new("grow.yaml"), &scenario).search().unwrap()
    };
    let report = run(check(notes_first));
    println!("{report}");
    assert!(words(&report).contains(&"breaks-property"), "{report}");
    assert!(report.to_string().contains("the echo fits: expected "), "{report}");
    let report = run(check(compares));
    assert!(!report.fails() && report.tried.struck > 10, "{report}");
}

#[test]
fn work_that_fails_without_a_fault_is_the_finding() {
    let subject = check(compares).given(ECHO).workload(async |user| user.patch(BIGGER).await);
    let report = subject.search().unwrap();
    assert_eq!(words(&report), ["fails-work"]);
    assert!(report.without_faults[0].violation.what.contains("ConfigMap wish"), "{report}");
}

#[test]
fn a_controller_that_writes_without_end_is_a_finding_after_a_few_seconds_of_its_time() {
    let restless = |connection: Connection| async move {
        let client = connection.client();
        for turn in 0.. {
            let _ = maps(&client).list(&ListParams::default()).await;
            let _ = echo(&client, &format!("{turn}")).await;
        }
    };
    let report = check(restless).given(ECHO).sample(WISH).search().unwrap();
    assert!(words(&report).contains(&"never-settles"), "{report}");
    assert_eq!(report.tried.runs, 1, "the first run is enough");
}

#[test]
fn bad_properties_and_bad_workloads_are_refused_with_the_nearest_word() {
    let refused = |subject: ControllerCheck| subject.search().map(drop).unwrap_err().to_string();
    let bad = refused(echoing(compares).never("a typo", "configmap.size() > 3"));
    assert!(bad.starts_with("the property \"a typo\": bad expression: `configmap` is neither"), "{bad}");
    assert!(bad.contains("did you mean `configmaps`?"), "{bad}");
    let head = "apiVersion: coracle.dev/v1alpha1\nkind: Scenario\nmetadata: {name: a}\nspec:\n";
    let scenario = format!("{head}  steps:\n  - name: a\n    try: [{{creat: {{}}}}]\n");
    let bad = refused(check(compares).workload_from("w.yaml", scenario));
    assert!(
        bad.starts_with("w.yaml:7:12: unknown variant `creat`") && bad.ends_with("did you mean `create`?"),
        "{bad}"
    );
    let bad = refused(check(compares));
    assert!(bad.starts_with("there is no sample"), "{bad}");
}
