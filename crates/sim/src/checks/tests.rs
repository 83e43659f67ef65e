//! Each check finds what it is for, and stays silent where a correct controller does the same.

use std::sync::Arc;
use std::time::Duration;

use coracle_journal::{Detail, EntryId, Recorder, Stage};
use coracle_meta::{GroupResource, ObjectKey};
use serde_json::{Value, json};

use super::list::findings;
use super::run::{BrokenProperty, Run, SentObjects};
use super::run_log::{LoggedRequest, LoggedStop, LoggedWrite, RunLog, STAGES};
use crate::wire::LastSent;

const OPERATOR: &str = "operator";
const MAP: &str = "configmaps/default/a";

/// A run that is written by hand.
#[derive(Clone, Default)]
struct Script {
    run: Run,
    entry: u64,
    at: Duration,
}

impl Script {
    fn new() -> Self {
        Self { run: Run::of(OPERATOR, OPERATOR), ..Self::default() }
    }

    fn next(&mut self) -> EntryId {
        self.entry += 1;
        self.at += Duration::from_millis(10);
        self.run.log.end = self.at;
        EntryId(self.entry)
    }

    fn request(mut self, user: &str, verb: &str, subject: &str) -> Self {
        let entry = self.next();
        self.run.log.requests.push(LoggedRequest {
            entry,
            at: self.at,
            user: user.into(),
            verb: verb.into(),
            subject: subject.to_owned(),
            subresource: String::new(),
            audit_id: entry.0.to_string(),
            code: Some(200),
            refusal: String::new(),
            is_dry_run: false,
            has_committed: false,
        });
        self
    }

    fn write(self, user: &str, subject: &str, after: Option<Value>) -> Self {
        let exists = |script: &Self| script.run.log.objects_at(EntryId(u64::MAX)).contains_key(subject);
        let verb = match (&after, exists(&self)) {
            (None, _) => "delete",
            (Some(_), true) => "update",
            (Some(_), false) => "create",
        };
        let mut script = self.request(user, verb, subject);
        let before = script.run.log.objects_at(EntryId(u64::MAX)).get(subject).and_then(|write| write.after.clone());
        let request = script.run.log.requests.len() - 1;
        script.run.log.requests[request].has_committed = true;
        let entry = script.next();
        script.run.log.writes.push(LoggedWrite {
            entry,
            at: script.at,
            revision: i64::try_from(entry.0).unwrap(),
            request: Some(request),
            subject: subject.to_owned(),
            before,
            after: after.map(Arc::new),
        });
        script
    }

    fn settled(mut self) -> Self {
        self.run.settled = Some(self.next());
        self
    }

    fn restarted(mut self) -> Self {
        self.run.restarted = Some(self.next());
        self
    }

    fn emptied(mut self) -> Self {
        self.run.emptied = Some(self.next());
        self
    }

    /// The words of the checks that find something.
    fn found(&self, faultless: &[&Self]) -> Vec<&'static str> {
        let faultless: Vec<Run> = faultless.iter().map(|script| script.run.clone()).collect();
        let mut words: Vec<&str> = findings(&self.run, &faultless).iter().map(|finding| finding.check.word).collect();
        words.dedup();
        words
    }
}

fn object(uid: &str, fields: Value) -> Option<Value> {
    let mut object = json!({"kind": "ConfigMap", "metadata": {"name": "a", "uid": uid}});
    for (name, value) in fields.as_object().unwrap() {
        let metadata = name.strip_prefix("metadata.");
        match metadata {
            Some(name) => object["metadata"][name] = value.clone(),
            None => object[name] = value.clone(),
        }
    }
    Some(object)
}

fn plain(uid: &str) -> Option<Value> {
    object(uid, json!({}))
}

#[test]
fn an_object_that_the_component_created_and_that_remains_is_left_behind() {
    let created = || Script::new().write("alice", "foos/default/a", plain("f")).write(OPERATOR, MAP, plain("u"));
    let emptied = |script: Script| script.write("alice", "foos/default/a", None).emptied();
    assert_eq!(emptied(created()).found(&[]), ["leaves-behind"]);
    assert_eq!(emptied(created().write(OPERATOR, MAP, None)).found(&[]), [""; 0]);
    let by_alice = Script::new().write("alice", MAP, plain("u"));
    assert_eq!(emptied(by_alice).found(&[]), [""; 0], "the component did not create it");
    let owned = object("u", json!({"metadata.ownerReferences": [{"uid": "f"}]}));
    let garbage = Script::new().write("alice", "foos/default/a", plain("f")).write(OPERATOR, MAP, owned.clone());
    assert_eq!(emptied(garbage.clone()).found(&[]), [""; 0], "the garbage collector deletes it");
    assert_eq!(garbage.emptied().found(&[]), ["leaves-behind"], "its owner exists");
    let lease = object("u", json!({"kind": "Lease"}));
    assert_eq!(Script::new().write(OPERATOR, "leases/default/a", lease).emptied().found(&[]), [""; 0]);
    let again = created().write(OPERATOR, MAP, None).write("alice", MAP, plain("v"));
    assert_eq!(again.emptied().found(&[]), [""; 0], "another object of the same name");
}

#[test]
fn a_finalizer_that_the_component_added_and_keeps_at_rest_is_found() {
    let with = |finalizer: &str, terminating: bool| {
        let mut fields = json!({"metadata.finalizers": [finalizer]});
        if terminating {
            fields["metadata.deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        }
        object("u", fields)
    };
    let given =
        |finalizer: &str| Script::new().write("alice", MAP, plain("u")).write(OPERATOR, MAP, with(finalizer, false));
    let stuck = given("example.com/own").write("alice", MAP, with("example.com/own", true));
    assert_eq!(stuck.clone().emptied().found(&[]), ["stuck-finalizer"]);
    assert_eq!(stuck.settled().found(&[]), ["stuck-finalizer"]);
    assert_eq!(given("example.com/own").emptied().found(&[]), [""; 0], "it is not deleted");
    let of_alice = || Script::new().write("alice", MAP, with("gate", false)).write("alice", MAP, with("gate", true));
    let removed = of_alice().write(OPERATOR, MAP, object("u", json!({}))).settled();
    assert_eq!(of_alice().settled().found(&[&removed])[0], "stuck-finalizer", "it removes it without a fault");
    let claim = || Script::new().write(OPERATOR, MAP, with("kubernetes.io/pvc-protection", false));
    let terminating = claim().write("alice", MAP, with("kubernetes.io/pvc-protection", true));
    assert_eq!(terminating.settled().found(&[]), [""; 0], "the API server adds it");
    let of_another = Script::new().write("alice", MAP, with("other", false)).write("alice", MAP, with("other", true));
    assert_eq!(of_another.emptied().found(&[]), [""; 0]);
}

#[test]
fn an_observed_generation_is_never_ahead_and_never_goes_back_and_is_not_behind_at_rest() {
    let seen = |uid: &str, generation: i64, observed: Option<i64>| {
        let status = observed.map_or(json!({}), |observed| json!({"observedGeneration": observed}));
        object(uid, json!({"metadata.generation": generation, "status": status}))
    };
    let ahead = Script::new().write("alice", MAP, seen("u", 1, None)).write(OPERATOR, MAP, seen("u", 1, Some(2)));
    assert_eq!(ahead.found(&[]), ["observed-generation"]);
    let back = Script::new().write("alice", MAP, seen("u", 3, None)).write(OPERATOR, MAP, seen("u", 3, Some(3)));
    assert_eq!(back.write(OPERATOR, MAP, seen("u", 3, Some(2))).found(&[]), ["observed-generation"]);
    let right = Script::new().write("alice", MAP, seen("u", 3, None)).write(OPERATOR, MAP, seen("u", 3, Some(3)));
    let right = right.settled();
    assert_eq!(right.found(&[]), [""; 0]);
    let behind = Script::new().write("alice", MAP, seen("u", 3, None)).settled();
    assert_eq!(behind.found(&[&right]), ["observed-generation"]);
    assert_eq!(behind.found(&[&behind]), [""; 0], "it is behind without a fault, too");
}

#[test]
fn a_restart_at_rest_changes_nothing() {
    let at_rest = || Script::new().write(OPERATOR, MAP, plain("u")).settled();
    let writes = at_rest().write(OPERATOR, MAP, object("u", json!({"data": "1"}))).restarted();
    assert_eq!(writes.found(&[]), ["writes-after-restart"]);
    assert_eq!(writes.found(&[&writes]), [""; 0], "it does that without a fault, too");
    assert_eq!(at_rest().restarted().found(&[]), [""; 0]);
    let by_alice = at_rest().write("alice", MAP, object("u", json!({"data": "1"}))).restarted();
    assert_eq!(by_alice.found(&[]), [""; 0]);
    let lease = at_rest().write(OPERATOR, "leases/default/a", object("l", json!({"kind": "Lease"}))).restarted();
    assert_eq!(lease.found(&[]), [""; 0]);
    let at = |second: u8| object("u", json!({"checked": format!("2026-01-01T00:00:0{second}Z")}));
    let again = Script::new().write(OPERATOR, MAP, at(1)).settled().write(OPERATOR, MAP, at(2)).restarted();
    assert_eq!(again.found(&[]), [""; 0], "it changes a time only");
}

#[test]
fn a_deletion_of_another_incarnation_than_the_one_that_was_shown_is_found() {
    let deletion = |shown: &str| {
        let mut script = Script::new().write("alice", MAP, plain("new")).write(OPERATOR, MAP, None);
        let audit_id = script.run.log.requests.last().unwrap().audit_id.clone();
        let sent = LastSent { uid: shown.to_owned(), revision: 1, is_deleted: false };
        script.run.shown.insert(audit_id, all_sent("configmaps", sent));
        script
    };
    assert_eq!(deletion("old").found(&[]), ["unseen-incarnation"]);
    assert_eq!(deletion("new").found(&[]), [""; 0]);
    let blind = Script::new().write("alice", MAP, plain("new")).write(OPERATOR, MAP, None);
    assert_eq!(blind.found(&[]), [""; 0], "it was shown nothing");
}

/// What was sent of the object `default/a` of a resource.
fn all_sent(resource: &str, sent: LastSent) -> SentObjects {
    SentObjects::from([((GroupResource::new("", resource), ObjectKey::new("default", "a")), sent)])
}

#[test]
fn a_deletion_for_another_incarnation_of_the_owner_is_found() {
    let deletion = |of: &str| {
        let owner = json!([{"uid": "new", "controller": true}]);
        let owned = object("u", json!({"metadata.ownerReferences": owner}));
        let script = Script::new().write("alice", "foos/default/a", plain("new"));
        let mut script = script.write(OPERATOR, MAP, owned).write(OPERATOR, MAP, None);
        let audit_id = script.run.log.requests.last().unwrap().audit_id.clone();
        let sent = LastSent { uid: of.to_owned(), revision: 1, is_deleted: false };
        script.run.shown.insert(audit_id, all_sent("foos", sent));
        script
    };
    assert_eq!(deletion("old").found(&[]), ["foreign-object"]);
    assert_eq!(deletion("new").found(&[]), [""; 0]);
    let gone = |script: Script| script.write("alice", "foos/default/a", None);
    assert_eq!(gone(deletion("new")).found(&[]), [""; 0]);
}

#[test]
fn a_write_of_an_instance_that_has_lost_its_lease_is_found_once_the_new_holder_has_written() {
    const LEASE: &str = "leases/default/operator";
    let held_by = |holder: &str| object("l", json!({"kind": "Lease", "spec": {"holderIdentity": holder}}));
    let sent = |script: Script, instance: u64, subject: &str, after: Option<Value>| {
        let mut script = script.write(OPERATOR, subject, after);
        let audit_id = script.run.log.requests.last().unwrap().audit_id.clone();
        script.run.senders.insert(audit_id, instance);
        script
    };
    let size = |size: u64| object("u", json!({"data": {"size": size}}));
    let led = sent(sent(Script::new(), 1, LEASE, held_by("first")), 1, MAP, size(1));
    let taken = sent(led.clone(), 2, LEASE, held_by("second"));
    let acted = sent(taken.clone(), 2, MAP, size(2));
    assert_eq!(sent(acted.clone(), 1, MAP, size(1)).found(&[]), ["lost-lease"]);
    assert_eq!(sent(acted.clone(), 2, MAP, size(3)).found(&[]), [""; 0], "the holder acts");
    assert_eq!(sent(taken, 1, MAP, size(3)).found(&[]), [""; 0], "the new holder has not written yet");
    assert_eq!(sent(acted.clone(), 3, MAP, size(3)).found(&[]), [""; 0], "this instance never held a Lease");
    assert_eq!(sent(acted.clone(), 1, LEASE, held_by("second")).found(&[]), [""; 0], "it writes the Lease only");
    let back = sent(sent(acted, 1, LEASE, held_by("first")), 1, MAP, size(3));
    assert_eq!(back.found(&[]), [""; 0], "it has taken the Lease again");
}

#[test]
fn a_property_that_does_not_hold_and_work_that_fails_are_found() {
    let mut script = Script::new().write("alice", MAP, plain("u"));
    assert_eq!(script.found(&[]), [""; 0]);
    let revision = script.run.log.writes[0].revision;
    let broken = |revision: Option<i64>| {
        let (sentence, found) = ("there is no map".to_owned(), "true".to_owned());
        BrokenProperty { sentence, revision, found }
    };
    script.run.broken_properties = vec![broken(Some(revision)), broken(None)];
    let found = findings(&script.run, &[]);
    let entries: Vec<Option<EntryId>> = found.iter().map(|finding| finding.violation.entry).collect();
    assert_eq!(entries, [Some(script.run.log.writes[0].entry), None]);
    assert_eq!(found[0].violation.what, "there is no map: true");
    assert_eq!(script.found(&[]), ["breaks-property"]);
    let mut script = Script::new();
    script.run.failed_work = Some("step `a`, create: refused".to_owned());
    assert_eq!(script.found(&[]), ["fails-work"]);
}

#[test]
fn a_run_that_does_not_settle_a_panic_and_a_loop_are_found() {
    let mut script = Script::new();
    script.run.unsettled = Some("configmaps/default/a changes".to_owned());
    assert_eq!(script.found(&[]), ["never-settles"]);
    let stopped = |component: &str, why: &str| {
        let mut script = Script::new();
        let entry = script.next();
        script.run.log.stops.push(LoggedStop { entry, component: component.to_owned(), why: why.to_owned() });
        script
    };
    assert_eq!(stopped(OPERATOR, "panicked: no boat").found(&[]), ["panics"]);
    assert_eq!(stopped(OPERATOR, "exited").found(&[]), ["panics"]);
    assert_eq!(stopped(OPERATOR, "killed").found(&[]), [""; 0]);
    assert_eq!(stopped("scheduler", "panicked: no boat").found(&[]), [""; 0]);
    let requests =
        |count: usize, user: &str| (0..count).fold(Script::new(), |script, _| script.request(user, "get", MAP));
    assert_eq!(requests(3000, OPERATOR).found(&[]), ["hot-loop"]);
    assert_eq!(requests(2800, OPERATOR).found(&[]), [""; 0]);
    assert_eq!(requests(3000, "alice").found(&[]), [""; 0]);
    let mut during_a_fault = requests(3000, OPERATOR);
    during_a_fault.run.calm = Some(during_a_fault.next());
    assert_eq!(during_a_fault.found(&[]), [""; 0]);
}

#[test]
fn each_component_of_the_author_is_judged_and_what_a_run_has_once_is_found_once() {
    let part = "second".to_owned();
    let of_the_part = |script: Script| Script { run: script.run.clone().with_parts([&part]), ..script };
    let created = Script::new().write("alice", "foos/default/a", plain("f")).write(&part, MAP, plain("u"));
    let left = created.write("alice", "foos/default/a", None).emptied();
    assert_eq!(left.found(&[]), [""; 0], "it is no component of the author");
    let mut left = of_the_part(left);
    assert_eq!(left.found(&[]), ["leaves-behind"]);
    assert_eq!(findings(&left.run, &[])[0].component, part);
    left.run.unsettled = Some("configmaps/default/a changes".to_owned());
    assert_eq!(findings(&left.run, &[]).len(), 2);
}

#[test]
fn a_run_that_ends_with_other_objects_than_each_run_without_a_fault_differs() {
    let end = |size: i64, uid: &str, time: &str| {
        let child = object(uid, json!({"metadata.generateName": "a-", "metadata.name": format!("a-{uid}")}));
        let status = json!({"owner": uid, "at": time, "child": format!("a-{uid}")});
        Script::new()
            .write("alice", MAP, object(uid, json!({"spec": {"size": size}, "status": status})))
            .write(OPERATOR, &format!("pods/default/a-{uid}"), child)
            .settled()
    };
    let (one, two) = (end(1, "u1", "2026-01-01T00:00:00Z"), end(1, "u2", "2026-01-01T00:00:09Z"));
    assert_eq!(one.found(&[&two]), [""; 0], "uids, times and generated names are made up");
    let referring = |to: &str| {
        let label = object("leader", json!({"worker": to}));
        let again = Script::new().write("alice", "pods/default/w", plain("w1")).write("alice", "pods/default/w", None);
        again.write("alice", "pods/default/w", plain("w2")).write("alice", MAP, label).settled()
    };
    assert_eq!(referring("w1").found(&[&referring("w2")]), ["ends-differently"], "it refers to a pod that is gone");
    assert_eq!(end(2, "u3", "2026-01-01T00:00:00Z").found(&[&one, &two]), ["ends-differently"]);
    assert_eq!(end(2, "u3", "2026-01-01T00:00:00Z").found(&[&end(2, "u4", "2026-01-01T00:00:00Z"), &one]), [""; 0]);
    let more = end(1, "u1", "2026-01-01T00:00:00Z");
    let more = Script { run: Run { settled: None, ..more.run }, ..more };
    let more = more.write(
        OPERATOR,
        "pods/default/a-x",
        object("x", json!({"metadata.generateName": "a-", "metadata.name": "a-x"})),
    );
    assert_eq!(more.settled().found(&[&one]), ["ends-differently", "more-children"]);
}

#[test]
fn an_address_and_what_a_fault_has_written_do_not_make_an_end_another() {
    let end = |address: &str, more: Value| {
        let mut pod = json!({"status": {"podIP": address}, "metadata.labels": {"app": "web"}});
        pod.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        Script::new().write("user", "pods/default/a", object("u", pod)).settled()
    };
    let usual = end("10.0.0.1", json!({}));
    let conflict = json!({"metadata.annotations": {"coracle.dev/conflict": "conflict-1"}});
    assert_eq!(end("fd00::7", conflict).found(&[&usual]), [""; 0]);
    assert_eq!(end("10.0.0.2", json!({"metadata.labels": {"app": "db"}})).found(&[&usual]), ["ends-differently"]);
    assert_eq!(end("none", json!({})).found(&[&usual]), ["ends-differently"]);
}

#[test]
fn the_version_in_a_reference_does_not_make_an_end_another_and_its_name_does() {
    let end = |name: &str, version: &str| {
        let claim = json!({"name": name, "resourceVersion": version});
        let volume = object("u", json!({"spec": {"claimRef": claim}}));
        Script::new().write(OPERATOR, "persistentvolumes/a", volume).settled()
    };
    assert_eq!(end("data", "7").found(&[&end("data", "9")]), [""; 0]);
    assert_eq!(end("data", "7").found(&[&end("other", "7")]), ["ends-differently"]);
}

#[test]
fn a_time_in_a_name_does_not_count_and_another_number_does() {
    let end = |number: &str| {
        let name = format!("a-{number}");
        let job = object("u", json!({"metadata.name": name}));
        Script::new().write(OPERATOR, &format!("jobs/default/{name}"), job).settled()
    };
    assert_eq!(end("1795731540").found(&[&end("1795731600")]), [""; 0]);
    assert_eq!(end("2").found(&[&end("1")]), ["ends-differently"]);
}

#[test]
fn waste_is_found_and_fails_nothing() {
    let nothing = Script::new().request(OPERATOR, "update", MAP);
    assert_eq!(nothing.found(&[]), ["writes-nothing"]);
    let condition = |time: &str, status: &str| {
        object(
            "u",
            json!({"status": {"conditions": [{"type": "Ready", "status": status, "lastTransitionTime": time}]}}),
        )
    };
    let moved = |status: &str| {
        Script::new().write(OPERATOR, MAP, condition("1", "True")).write(OPERATOR, MAP, condition("2", status))
    };
    assert_eq!(moved("True").found(&[]), ["moves-transition-times"]);
    assert_eq!(moved("False").found(&[]), [""; 0]);
    let lists = |count: usize| {
        (0..count).fold(Script::new().request(OPERATOR, "watch", "pods"), |script, _| {
            script.request(OPERATOR, "list", "pods")
        })
    };
    assert_eq!(lists(3).found(&[]), ["lists-again"]);
    assert_eq!(lists(2).found(&[]), [""; 0]);
    let refused = |verb: &str, code: u16| {
        let mut script = Script::new().request(OPERATOR, verb, "pods/default");
        script.run.log.requests[0].code = Some(code);
        script
    };
    assert_eq!(refused("create", 403).found(&[]), ["writes-refused"]);
    assert_eq!(refused("create", 403).found(&[&Script::new()]), [""; 0], "a fault may be the reason");
    for (verb, code) in [("create", 409), ("patch", 404), ("update", 429), ("list", 403), ("create", 500)] {
        assert_eq!(refused(verb, code).found(&[]), [""; 0], "{verb} {code}");
    }
    let run = nothing.run;
    assert!(findings(&run, &[]).iter().all(|finding| !finding.check.grade.fails()));
}

#[tokio::test(start_paused = true)]
async fn a_run_log_knows_the_request_of_each_write_and_the_object_before_and_after_it() {
    let recorder = Recorder::ring(100);
    let request = recorder.record("apiserver", Stage::ApiRequest, || {
        let detail = Detail::about(MAP).with("verb", "create").with("user", OPERATOR);
        detail.with("agent", "").with("audit", "a1")
    });
    let commit = recorder
        .record("store", Stage::StoreCommit, || Detail::about(MAP).at(7).caused_by(request).with("op", "create"));
    recorder.record("apiserver", Stage::ApiRespond, || Detail::about(MAP).caused_by(request).with("code", 201));
    let whole = json!({"kind": "ConfigMap", "data": {"a": "1", "b": "2"}});
    recorder.record("world", Stage::ObjectChange, || {
        Detail::about(MAP).at(7).caused_by(commit).with("whole", whole.clone())
    });
    let patch = json!({"data": {"a": null}});
    let commit = recorder.record("store", Stage::StoreCommit, || Detail::about(MAP).at(8).with("op", "put"));
    recorder.record("world", Stage::ObjectChange, || Detail::about(MAP).at(8).caused_by(commit).with("patch", patch));
    recorder.record("world", Stage::ObjectChange, || Detail::about(MAP).at(9).with("gone", true));
    let log = RunLog::of(&recorder.entries_of(EntryId(0), &STAGES));
    let [created, changed, removed] = &log.writes[..] else { panic!("{log:?}") };
    assert_eq!((created.revision, created.before.as_deref(), created.after.as_deref()), (7, None, Some(&whole)));
    let request = log.request_of(created).unwrap();
    assert_eq!((&*request.user, request.code, request.has_committed), (OPERATOR, Some(201), true));
    assert_eq!(changed.after.as_deref(), Some(&json!({"kind": "ConfigMap", "data": {"b": "2"}})));
    assert!(changed.request.is_none() && removed.after.is_none() && removed.before == changed.after);
    assert_eq!(log.writes_of(OPERATOR).count(), 1);
    assert_eq!(log.objects_at(changed.entry).len(), 1);
    assert!(log.objects_at(removed.entry).is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_run_continues_with_the_objects_that_existed_before_it() {
    let whole = json!({"kind": "ConfigMap", "data": {"a": "1"}});
    let before = Recorder::ring(100);
    before.record("world", Stage::ObjectChange, || Detail::about(MAP).at(7).with("whole", whole.clone()));
    let before = RunLog::before_a_run(&before.entries(EntryId(0)));
    let recorder = Recorder::ring(100);
    let patch = json!({"data": {"b": "2"}});
    recorder.record("world", Stage::ObjectChange, || Detail::about(MAP).at(8).with("patch", patch));
    recorder.record("world", Stage::ObjectChange, || Detail::about(MAP).at(9).with("gone", true));
    let log = before.continued(&recorder.entries_of(EntryId(0), &STAGES));
    let [there, changed, removed] = &log.writes[..] else { panic!("{log:?}") };
    assert_eq!((there.entry, there.request, there.after.as_deref()), (EntryId(0), None, Some(&whole)));
    assert_eq!((changed.act(), removed.act()), ("changes", "removes"));
    assert_eq!(changed.after.as_deref(), Some(&json!({"kind": "ConfigMap", "data": {"a": "1", "b": "2"}})));
    assert_eq!(log.objects_at(EntryId(0)).len(), 1);
    assert!(log.objects_at(removed.entry).is_empty());
}
