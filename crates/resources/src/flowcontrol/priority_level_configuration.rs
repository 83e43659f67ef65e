use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, Object};
use coracle_registry::{KindSpec, TableColumn};
use coracle_release::Release;
use serde_json::Value;

use super::{GROUP, wrong_status};
use crate::built_in::{SPEC_AND_METADATA, built_in};
use crate::field_checks::{Wrong, one_of};

const MOST_QUEUES: i64 = 10_000_000;

/// The number of bits of a hash for shuffle sharding.
const HASH_BITS: u32 = 60;

/// `prioritylevelconfigurations`.
pub(crate) fn kind(release: &Release) -> KindSpec {
    KindSpec {
        reset_by_status: SPEC_AND_METADATA,
        validate: wrong,
        validate_status: |new, _, _| wrong_status(new),
        columns: columns(),
        ..built_in(release, GROUP, "v1", "prioritylevelconfigurations")
    }
}

fn columns() -> Vec<TableColumn> {
    vec![
        TableColumn::name(),
        TableColumn::text(
            "Type",
            "`type` indicates whether this priority level is subject to limitation on request execution.  A value of `\"Exempt\"` means that requests of this priority level are not subject to a limit (and thus are never queued) and do not detract from the capacity made available to other priority levels.  A value of `\"Limited\"` means that (a) requests of this priority level _are_ subject to limits and (b) some of the server's limited capacity is made available exclusively to this priority level. Required.",
            |object| object.text("spec.type").into(),
        ),
        TableColumn::text(
            "NominalConcurrencyShares",
            "`nominalConcurrencyShares` (NCS) contributes to the computation of the NominalConcurrencyLimit (NominalCL) of this level. This is the number of execution seats available at this priority level. This is used both for requests dispatched from this priority level as well as requests dispatched from other priority levels borrowing seats from this level. The server's concurrency limit (ServerCL) is divided among the Limited priority levels in proportion to their NCS values:\n\nNominalCL(i)  = ceil( ServerCL * NCS(i) / sum_ncs ) sum_ncs = sum[priority level k] NCS(k)\n\nBigger numbers mean a larger nominal concurrency limit, at the expense of every other priority level.\n\nIf not specified, this field defaults to a value of 30.\n\nSetting this field to zero supports the construction of a \"jail\" for this priority level that is used to hold some request(s)",
            |object| or_none(object.at("spec.limited.nominalConcurrencyShares")),
        ),
        TableColumn::text(
            "Queues",
            "`queues` is the number of queues for this priority level. The queues exist independently at each apiserver. The value must be positive.  Setting it to 1 effectively precludes shufflesharding and thus makes the distinguisher method of associated flow schemas irrelevant.  This field has a default value of 64.",
            |object| or_none(object.at("spec.limited.limitResponse.queuing.queues")),
        ),
        TableColumn::text(
            "HandSize",
            "`handSize` is a small positive number that configures the shuffle sharding of requests into queues.  When enqueuing a request at this priority level the request's flow identifier (a string pair) is hashed and the hash value is used to shuffle the list of queues and deal a hand of the size specified here.  The request is put into one of the shortest queues in that hand. `handSize` must be no larger than `queues`, and should be significantly smaller (so that a few heavy flows do not saturate most of the queues).  See the user-facing documentation for more extensive guidance on setting this field.  This field has a default value of 8.",
            |object| or_none(object.at("spec.limited.limitResponse.queuing.handSize")),
        ),
        TableColumn::text(
            "QueueLengthLimit",
            "`queueLengthLimit` is the maximum number of requests allowed to be waiting in a given queue of this priority level at a time; excess requests are rejected.  This value must be positive.  If not specified, it will be defaulted to 50.",
            |object| or_none(object.at("spec.limited.limitResponse.queuing.queueLengthLimit")),
        ),
        TableColumn::age(),
    ]
}

fn or_none(value: &Value) -> Value {
    if value.is_null() { "<none>".into() } else { value.clone() }
}

/// The errors of a priority level.
fn wrong(object: &Object, release: &Release) -> Wrong {
    let spec = object.at("spec");
    let kind = spec.text("type");
    let mut wrong = Wrong::new();
    if (object.name() == "exempt") != (kind == "Exempt") {
        wrong.push(FieldError::invalid("spec.type", kind, "must be 'Exempt' if and only if `name` is 'exempt'"));
    }
    match kind {
        "Exempt" => {
            if spec.has("limited") {
                let what = "must be nil if the type is not Limited";
                wrong.push(FieldError::forbidden("spec.limited", what).declared());
            }
            wrong.extend(wrong_shares(spec.at("exempt"), "spec.exempt"));
        }
        "Limited" => {
            if spec.has("exempt") {
                wrong.push(FieldError::forbidden("spec.exempt", "must be nil if the type is Limited").declared());
            }
            if spec.has("limited") {
                wrong.extend(wrong_limits(spec.at("limited"), "spec.limited", release));
            } else {
                let what = "must not be empty when type is Limited";
                wrong.push(FieldError::required("spec.limited", what).declared());
            }
        }
        _ => wrong.extend(wrong_type(spec, "spec", &["Exempt", "Limited"], release)),
    }
    wrong.extend(wrong_status(object));
    wrong
}

fn wrong_shares(level: &Value, path: &str) -> Wrong {
    let mut wrong = Wrong::new();
    let shares = level.int("nominalConcurrencyShares");
    if shares < 0 {
        let what = "must be a non-negative integer";
        wrong.push(FieldError::invalid(format!("{path}.nominalConcurrencyShares"), shares, what));
    }
    let percent = level.int("lendablePercent");
    if !(0..=100).contains(&percent) {
        let what = "must be between 0 and 100, inclusive";
        wrong.push(FieldError::invalid(format!("{path}.lendablePercent"), percent, what));
    }
    wrong
}

/// An unknown type, or none.
fn wrong_type(holder: &Value, path: &str, known: &[&str], release: &Release) -> Wrong {
    if holder.text("type").is_empty() && release.has("MissingValuesAreRequired") {
        return vec![FieldError::required(format!("{path}.type"), "").declared()];
    }
    one_of(holder, "type", path, known)
}

fn wrong_limits(limits: &Value, path: &str, release: &Release) -> Wrong {
    let mut wrong = wrong_shares(limits, path);
    let borrowed = limits.int("borrowingLimitPercent");
    if borrowed < 0 {
        let what = "if specified, must be a non-negative integer";
        wrong.push(FieldError::invalid(format!("{path}.borrowingLimitPercent"), borrowed, what));
    }
    let response = limits.at("limitResponse");
    let path = format!("{path}.limitResponse");
    match (response.text("type"), response.has("queuing")) {
        ("Reject", false) => {}
        ("Reject", true) => {
            let what = "must be nil if limited.limitResponse.type is not Limited";
            wrong.push(FieldError::forbidden(format!("{path}.queuing"), what).declared());
        }
        ("Queue", true) => wrong.extend(wrong_queues(response.at("queuing"), &format!("{path}.queuing"))),
        ("Queue", false) => {
            let what = "must not be empty if limited.limitResponse.type is Limited";
            wrong.push(FieldError::required(format!("{path}.queuing"), what).declared());
        }
        _ => wrong.extend(wrong_type(response, &path, &["Queue", "Reject"], release)),
    }
    wrong
}

fn wrong_queues(queuing: &Value, path: &str) -> Wrong {
    let [length, queues, hand] = ["queueLengthLimit", "queues", "handSize"].map(|field| queuing.int(field));
    let mut wrong = Wrong::new();
    let mut say = |field: &str, value: i64, what: String| {
        wrong.push(FieldError::invalid(format!("{path}.{field}"), value, what));
    };
    if length <= 0 {
        say("queueLengthLimit", length, "must be positive".to_owned());
    }
    match queues {
        ..1 => say("queues", queues, "must be positive".to_owned()),
        queues if queues > MOST_QUEUES => say("queues", queues, format!("must not be greater than {MOST_QUEUES}")),
        _ => {}
    }
    match hand {
        ..1 => say("handSize", hand, "must be positive".to_owned()),
        hand if hand > queues => say("handSize", hand, format!("should not be greater than queues ({queues})")),
        hand if entropy_bits(queues, hand) > f64::from(HASH_BITS) => {
            let sizes = format!("deckSize {queues} and handSize {hand}");
            say("handSize", hand, format!("required entropy bits of {sizes} should not be greater than {HASH_BITS}"));
        }
        _ => {}
    }
    wrong
}

/// The number of bits for a hand of this size from a deck. In Kubernetes: `shufflesharding.RequiredEntropyBits`.
fn entropy_bits(deck: i64, hand: i64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a deck has at most ten million cards")]
    let bits = (deck as f64).log2() * hand as f64;
    bits.ceil()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn messages(wrong: Wrong) -> Vec<String> {
        wrong.iter().map(FieldError::message).collect()
    }

    #[test]
    fn shuffle_sharding_uses_a_hash() {
        assert!(wrong_queues(&json!({"queueLengthLimit": 50, "queues": 64, "handSize": 8}), "q").is_empty());
        let said = messages(wrong_queues(&json!({"queueLengthLimit": 50, "queues": 65536, "handSize": 8}), "q"));
        let want = "required entropy bits of deckSize 65536 and handSize 8 should not be greater than 60";
        assert_eq!(said, [format!("q.handSize: Invalid value: 8: {want}")]);
    }
}
