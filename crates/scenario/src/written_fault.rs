use std::collections::BTreeMap;
use std::time::Duration;

use coracle_schema::Table;
use coracle_sim::faults::{
    ClusterOperation, FAULTS, Fault, FaultKind, FaultRequest, FaultTarget, Lasts, Length, Now, fault_kind,
};
use coracle_sim::{Moment, Selector, Senders};
use coracle_yaml::{Location, Spanned};
use serde_json::{Map, Value};
use tokio::time::Instant;

use crate::fault_words::words_with;
use crate::file::{self, FaultMoment};
use crate::path::Position;
use crate::word::{did_you_mean, unknown_word};

/// The plurals of custom kinds, by `apiVersion` and kind.
type Custom = BTreeMap<(String, String), String>;

/// What is wrong with a fault of a file.
pub(crate) struct BadFault {
    /// The part of the file in which it is.
    pub(crate) place: Location,
    /// Its path in that part.
    pub(crate) path: Vec<Position>,
    /// What is wrong.
    pub(crate) message: String,
}

/// A fault as it is in a file, with what is known about its meaning.
pub(crate) struct WrittenFault {
    /// The fault.
    pub(crate) fault: Fault,
    /// The step with which it ends.
    pub(crate) until: Option<String>,
    /// Where the requester that it acts on is named, below `do`.
    pub(crate) requester: Option<(Vec<Position>, String)>,
    /// Where a part of the cluster that it acts on is named, below `do`.
    pub(crate) part: Option<(Vec<Position>, Part)>,
    /// Where it names the store below `do`, if it acts on a store in memory only.
    pub(crate) store_in_memory: Option<Vec<Position>>,
    /// Where the step with which it ends is named, below `for`.
    pub(crate) until_path: Vec<Position>,
}

/// A part of the cluster that a fault acts on.
pub(crate) enum Part {
    Component(String),
    Node(String),
}

/// The text of a fault without a name: `lag: 5s, kind: Pod, to: scheduler`.
fn text_of(kind: &FaultKind, action: &Map<String, Value>) -> String {
    let words = [kind.word, "kind", "to", "start"].into_iter();
    let shown = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let each = words.filter_map(|word| action.get(word).map(|value| format!("{word}: {}", shown(value))));
    each.collect::<Vec<_>>().join(", ")
}

/// The meaning of a fault.
///
/// # Errors
/// If a word, an argument or a combination is not valid. Requesters, steps, verbs and resources are not checked.
pub(crate) fn read_fault(written: &file::Fault, custom: &Custom) -> Result<WrittenFault, BadFault> {
    let place = written.action.location;
    let bad = |path: Vec<Position>, message: String| BadFault { place, path, message };
    let Value::Object(action) = &written.action.value else {
        return Err(bad(Vec::new(), format!("expected a fault such as `lag: 5s`, found {}", written.action.value)));
    };
    let (kind, argument) = kind_of(action).map_err(|(path, message)| bad(path, message))?;
    kind.check(argument).map_err(|why| bad(vec![key(kind.word)], format!("`{}`: {why}", kind.word)))?;
    let target = target(kind, action, custom).map_err(|(path, message)| bad(path, message))?;
    let request = match &written.when {
        Some(when) => {
            check_conflict(kind, argument, &when.value)?;
            request(kind, argument, when)?
        }
        None => None,
    };
    if kind.target == FaultTarget::Requests && request.is_none() {
        let message =
            format!("`{}` is a fault of requests: `when` needs `by`, `verb`, `resource` or `name`", kind.word);
        return Err(bad(vec![key(kind.word)], message));
    }
    let operation = kind.on_cluster(argument, Now { at: Instant::now(), revision: 0 });
    let length = operation.as_ref().map_or(length(kind), ClusterOperation::length);
    let (lasts, until) = lasts(kind, length, written.lasts.as_ref())?;
    let requester = match kind.target {
        FaultTarget::Requester => argument.as_str().map(|name| (vec![key(kind.word)], name.to_owned())),
        _ => action.get("to").and_then(Value::as_str).map(|name| (vec![key("to")], name.to_owned())),
    };
    let name = written.name.as_ref().map_or_else(|| text_of(kind, action), |name| name.value.clone());
    let fault = Fault { name, kind, argument: argument.clone(), request, target, lasts };
    let needs_memory = operation.as_ref().is_some_and(ClusterOperation::needs_store_in_memory);
    let store_in_memory = needs_memory.then(|| vec![key(kind.word)]);
    let part = operation.and_then(|operation| part(kind, operation));
    Ok(WrittenFault { fault, until, requester, part, store_in_memory, until_path: vec![key("until")] })
}

impl WrittenFault {
    /// The controller or node on which it acts alone, other than on its requests, and where it is named below `do`.
    pub(crate) fn alone(&self) -> Option<(&[Position], &str)> {
        let (path, name) = match (self.fault.kind.word, &self.requester, &self.part) {
            ("pause" | "skew", _, Some((path, Part::Component(name)))) | (_, Some((path, name)), _) => (path, name),
            _ => return None,
        };
        let (component, _) = name.split_once('/')?;
        // A node without network needs none.
        let is_alone = component == "controller-manager" || component == "kubelet" && self.fault.kind.word != "cut";
        is_alone.then_some((path.as_slice(), name.as_str()))
    }
}

/// The controller or node on which a fault acts alone, other than on its requests.
pub(crate) fn needs_own_informers(fault: &file::Fault, custom: &Custom) -> Option<String> {
    let written = read_fault(fault, custom).ok()?;
    written.alone().map(|(_, name)| name.to_owned())
}

/// The component that a fault of the cluster acts on; the one of a node is its kubelet.
pub(crate) fn part_of(fault: &file::Fault, custom: &Custom) -> Option<String> {
    let (_, part) = read_fault(fault, custom).ok()?.part?;
    Some(match part {
        Part::Component(name) => name,
        Part::Node(node) => format!("kubelet/{node}"),
    })
}

/// The requesters and components that a fault names.
pub(crate) fn requesters_of(fault: &file::Fault, custom: &Custom) -> Vec<String> {
    let by = fault.when.as_ref().and_then(|when| when.value.by.as_ref()).map(|by| by.value.clone());
    let requester = read_fault(fault, custom).ok().and_then(|written| written.requester);
    by.into_iter().chain(requester.map(|(_, name)| name)).chain(part_of(fault, custom)).collect()
}

/// The part of the cluster that has a name, and where the name is.
fn part(kind: &FaultKind, operation: ClusterOperation) -> Option<(Vec<Position>, Part)> {
    let word = key(kind.word);
    match operation {
        ClusterOperation::Kill(component)
        | ClusterOperation::Pause(component)
        | ClusterOperation::Double(component) => Some((vec![word], Part::Component(component))),
        ClusterOperation::Skew(component, _) => Some((vec![word, key(&component)], Part::Component(component))),
        ClusterOperation::StopNode(node) => Some((vec![word, key("stop")], Part::Node(node))),
        ClusterOperation::KillNode(node) => Some((vec![word, key("forget")], Part::Node(node))),
        ClusterOperation::KillStore
        | ClusterOperation::SlowStore(_)
        | ClusterOperation::FillStore
        | ClusterOperation::CompactStore(_) => None,
    }
}

/// How long a fault on the wire lasts if nothing else is said.
fn length(kind: &FaultKind) -> Length {
    if kind.target == FaultTarget::OpenWatches { Length::Moment } else { Length::UntilEnded }
}

type Wrong = (Vec<Position>, String);

fn key(name: &str) -> Position {
    Position::Key(name.to_owned())
}

fn words() -> Vec<&'static str> {
    FAULTS.iter().map(|kind| kind.word).collect()
}

/// The one word of a fault, and its argument.
fn kind_of(action: &Map<String, Value>) -> Result<(&'static FaultKind, &Value), Wrong> {
    let mut found = action.iter().filter_map(|(word, argument)| Some((fault_kind(word)?, argument)));
    let Some((kind, argument)) = found.next() else {
        let unknown = action.keys().find(|word| !["kind", "to", "start"].contains(&word.as_str()));
        return Err(match unknown {
            Some(word) => (vec![key(word)], unknown_word(word, &words(), "fault").unwrap_or_default()),
            None => (Vec::new(), format!("expected one of {}", words().join(", "))),
        });
    };
    if let Some((second, _)) = found.next() {
        return Err((vec![key(second.word)], format!("`{}` and `{}` are two faults", kind.word, second.word)));
    }
    Ok((kind, argument))
}

/// What a fault of requesters or watches acts on.
fn target(kind: &FaultKind, action: &Map<String, Value>, custom: &Custom) -> Result<Selector, Wrong> {
    let is_of_watches = matches!(kind.target, FaultTarget::Watches | FaultTarget::OpenWatches);
    let what = words_with(kind.target);
    let mut selector = Selector { verb: is_of_watches.then(|| "watch".to_owned()), ..Selector::default() };
    if is_of_watches {
        selector.from = Senders::Components;
    }
    let mut start = None;
    for (word, value) in action.iter().filter(|(word, _)| *word != kind.word) {
        let path = || vec![key(word)];
        if !what.contains(&word.as_str()) {
            let acts = match kind.target {
                FaultTarget::Requests => "requests: `when` selects them",
                FaultTarget::Requester => "all that one requester sends: it takes `start`",
                FaultTarget::Watches | FaultTarget::OpenWatches => "watches: it takes `kind` and `to`",
                FaultTarget::Cluster => "one part of the cluster",
            };
            let hint = did_you_mean(word, what.iter().copied());
            return Err((path(), format!("`{word}` does not apply: `{}` is a fault of {acts}{hint}", kind.word)));
        }
        if word == "start" {
            start = Some(value.as_u64().filter(|number| *number > 0).ok_or_else(|| {
                (path(), format!("expected the number of a start of the component, from 1, found {value}"))
            })?);
            continue;
        }
        let Some(name) = value.as_str() else { return Err((path(), format!("expected a name, found {value}"))) };
        if word == "to" {
            selector.from = Senders::Named(name.to_owned());
        } else {
            selector.resource = Some(plural_of(name, custom).map_err(|message| (path(), message))?);
        }
    }
    if let (FaultTarget::Requester, Some(name)) = (kind.target, action[kind.word].as_str()) {
        let name = name.to_owned();
        selector.from = match start {
            Some(number) => Senders::Instance(name, number),
            None => Senders::Named(name),
        };
    }
    Ok(selector)
}

/// The plural of a kind, of whatever group.
pub(crate) fn plural_of(kind: &str, custom: &Custom) -> Result<String, String> {
    let rows = Table::newest().resources();
    let own = custom.iter().find(|((_, custom), _)| custom == kind).map(|(_, plural)| plural);
    let built_in = || rows.iter().find(|row| row.kind.kind == kind).map(|row| &row.plural);
    own.or_else(built_in).cloned().ok_or_else(|| {
        let kinds = rows.iter().map(|row| row.kind.kind.as_str());
        let all = kinds.chain(custom.keys().map(|(_, custom)| custom.as_str()));
        format!("unknown kind `{kind}`{}", did_you_mean(kind, all))
    })
}

/// The verbs whose requests can conflict with another write.
const CONFLICTING: [&str; 3] = ["update", "patch", "delete"];

/// Checks that a conflict is one of requests that can conflict.
fn check_conflict(kind: &FaultKind, argument: &Value, moment: &FaultMoment) -> Result<(), BadFault> {
    let conflicts = kind.target == FaultTarget::Requests && argument.as_u64() == Some(409);
    match &moment.verb {
        Some(verb) if conflicts && !CONFLICTING.contains(&verb.value.as_str()) => {
            let (word, verbs) = (kind.word, CONFLICTING.join(", "));
            let message =
                format!("`{word}: 409` strikes only {verbs} with a resourceVersion, and not `{}`", verb.value);
            Err(BadFault { place: verb.location, path: Vec::new(), message })
        }
        _ => Ok(()),
    }
}

/// The request with which a fault begins, if it begins with one.
fn request(kind: &FaultKind, argument: &Value, when: &Spanned<FaultMoment>) -> Result<Option<FaultRequest>, BadFault> {
    let moment = &when.value;
    let bad = |place: Location, message: String| BadFault { place, path: Vec::new(), message };
    if !moment.has_request() {
        if moment.nth.is_some() || moment.moment.is_some() {
            let message = "`nth` and `moment` need `by`, `verb`, `resource` or `name`".to_owned();
            return Err(bad(when.location, message));
        }
        return Ok(None);
    }
    let text = |field: &Option<Spanned<String>>| field.as_ref().map(|field| field.value.clone());
    let is_of_requests = kind.target == FaultTarget::Requests;
    let is_of_answers = argument.as_str() == Some("answer") || argument.get("answer").is_some();
    let natural = if is_of_requests && is_of_answers { "landed" } else { "sent" };
    let word = moment.moment.as_ref().map_or(natural, |word| word.value.as_str());
    if let Some(written) = moment.moment.as_ref().filter(|_| is_of_requests && word != natural) {
        let message = format!("`{}` strikes when the request is {natural}, and not when it is `{word}`", kind.word);
        return Err(bad(written.location, message));
    }
    let resource = text(&moment.resource);
    let (resource, subresource) = match resource.as_deref().map(|all| all.split_once('/').unwrap_or((all, ""))) {
        Some((resource, subresource)) => (Some(resource.to_owned()), Some(subresource.to_owned())),
        None => (None, None),
    };
    let selector = Selector {
        from: text(&moment.by).map_or(Senders::All, Senders::Named),
        verb: text(&moment.verb),
        resource,
        subresource,
        namespace: text(&moment.namespace),
        name: text(&moment.name),
        turns: None,
    };
    let nth = moment.nth.map_or(1, |nth| u64::try_from(nth).unwrap_or(u64::MAX));
    Ok(Some(FaultRequest { selector, nth, moment: moment_of(word) }))
}

fn moment_of(word: &str) -> Moment {
    match word {
        "landed" => Moment::Landed,
        "answered" => Moment::Answered,
        _ => Moment::Sent,
    }
}

/// How long a fault lasts, and the step with which it ends.
fn lasts(
    kind: &FaultKind,
    length: Length,
    written: Option<&Spanned<Value>>,
) -> Result<(Lasts, Option<String>), BadFault> {
    let is_of_requests = kind.target == FaultTarget::Requests;
    let Some(written) = written else {
        let lasts = match length {
            _ if is_of_requests => Lasts::Requests(1),
            Length::UntilEnded => Lasts::UntilEnded,
            Length::Moment if kind.target == FaultTarget::OpenWatches => Lasts::UntilEnded,
            Length::Moment | Length::AtOnce => Lasts::For(Duration::ZERO),
        };
        return Ok((lasts, None));
    };
    let bad = |message: String| BadFault { place: written.location, path: Vec::new(), message };
    if length == Length::Moment {
        return Err(bad(format!("`{}` takes place at one moment, and takes no `for`", kind.word)));
    }
    match &written.value {
        Value::Number(count) if !is_of_requests => {
            Err(bad(format!("`{}` is no fault of requests, so `for` cannot be a number ({count})", kind.word)))
        }
        Value::Number(count) => match count.as_u64().filter(|count| *count > 0) {
            Some(count) => Ok((Lasts::Requests(count), None)),
            None => Err(bad(format!("expected a number of at least 1, found {count}"))),
        },
        Value::String(text) => match coracle_meta::parse_duration(text) {
            Some(duration) => Ok((Lasts::For(duration), None)),
            None => Err(bad(format!("`{text}` is not a duration such as `500ms`, `30s`, `5m` or `1h30m`"))),
        },
        Value::Object(fields) if fields.len() == 1 => match fields.get("until").and_then(Value::as_str) {
            Some(step) => Ok((Lasts::UntilEnded, Some(step.to_owned()))),
            None => Err(bad("expected `{until: STEP}`".to_owned())),
        },
        other => Err(bad(format!("expected a duration, a number of requests or `{{until: STEP}}`, found {other}"))),
    }
}
