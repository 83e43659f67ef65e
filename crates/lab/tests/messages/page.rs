use coracle_lab::Lab;
use serde_json::{Value, json};

use crate::support::{answer, opened, result, with_web};

/// The entries after a number, as the page reads them.
fn entries(lab: &mut Lab, after: u64) -> Vec<Value> {
    let (_, payload) = answer(lab, &json!({"do": "entries", "after": after}));
    let text = String::from_utf8(payload).unwrap();
    serde_json::from_str(&format!("[{}]", text.replace('\n', ","))).unwrap()
}

#[test]
fn a_page_follows_the_log_by_its_numbers() {
    let mut lab = with_web(7);
    let hello = result(&mut lab, &json!({"do": "hello"}));
    for field in ["form", "run", "sentences", "stages", "begins", "newest", "ring"] {
        assert!(hello.get(field).is_some(), "{field}: {hello}");
    }
    let first = entries(&mut lab, 0);
    let numbers: Vec<u64> = first.iter().map(|entry| entry["i"].as_u64().unwrap()).collect();
    let newest = hello["newest"].as_u64().unwrap();
    assert_eq!(numbers, (1..=newest).collect::<Vec<_>>());
    assert!(hello["begins"].as_u64().unwrap() < newest);
    assert!(entries(&mut lab, newest).is_empty());
    result(&mut lab, &json!({"do": "advance", "by": "10m"}));
    let later = entries(&mut lab, newest);
    assert_eq!(later[0]["i"], newest + 1);
}

#[test]
fn equal_messages_give_equal_logs() {
    let log = |seed| entries(&mut with_web(seed), 0);
    assert_eq!(log(7), log(7));
    assert_ne!(log(7), log(8));
}

#[test]
fn everything_that_is_built_in_is_listed() {
    let listed = result(&mut Lab::default(), &json!({"do": "list"}));
    for (what, least) in [("lessons", 20), ("exercises", 20), ("scenarios", 40)] {
        assert!(listed[what].as_array().unwrap().len() >= least, "{what}");
    }
}

#[test]
fn a_lesson_is_the_data_of_its_page() {
    let (answered, payload) = answer(&mut opened(7), &json!({"do": "lesson", "name": "a-pod-is-deleted"}));
    assert_eq!(answered["result"]["number"], 1);
    let data: Value = serde_json::from_slice(&payload).unwrap();
    assert_eq!(data["lesson"]["name"], "a-pod-is-deleted");
    for run in [&data, &data["contrast"]] {
        assert!(run["entries"].as_array().unwrap().len() > 100);
    }
}
