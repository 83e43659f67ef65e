use coracle::meta::GroupVersion;
use coracle_schema::{KindSchema, Table, protobuf};
use serde_json::Value;

use crate::transcript::Transcript;

/// The object in an answer, if it is of a kind with protobuf.
fn object(answer: &str) -> Option<(Value, KindSchema)> {
    let object: Value = serde_saphyr::from_str(answer.split_once("\n\n")?.1).ok()?;
    let version = GroupVersion::parse(object.get("apiVersion")?.as_str()?)?;
    let schema = Table::newest().kind(&version.kind(object.get("kind")?.as_str()?))?;
    Some((object, schema))
}

/// The conversion from text, which most answers take, gives what the conversion from a tree gives.
#[test]
fn every_object_in_the_transcripts_becomes_the_same_message_from_text_and_from_a_tree() {
    let mut count = 0;
    for path in crate::files() {
        let transcript = Transcript::read(&std::fs::read_to_string(&path).unwrap()).unwrap();
        for (object, schema) in transcript.exchanges.iter().filter_map(|exchange| object(&exchange.answer)) {
            let from_tree = protobuf::encode(object.as_object().unwrap(), &schema);
            let from_text = protobuf::transcode(object.to_string().as_bytes(), &schema).unwrap();
            let version = GroupVersion::parse(object["apiVersion"].as_str().unwrap()).unwrap();
            let kind = version.kind(object["kind"].as_str().unwrap());
            assert_eq!(protobuf::seal(&kind, &from_text), from_tree, "{}: {object}", path.display());
            count += 1;
        }
    }
    assert!(count > 300, "only {count} objects");
}
