//! The words that can stand at the cursor.

use coracle_client::RawRequest;

use crate::flags::Flags;
use crate::input::Input;
use crate::session::CommandSession;
use crate::setting::Setting;
use crate::table::ACCEPT;
use crate::verbs;

/// The words that can stand at the cursor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Completion {
    /// Where the completed part of the line begins, in bytes.
    pub start: usize,
    /// The words that can stand there.
    pub candidates: Vec<String>,
}

/// The flags whose values are namespaces.
const NAMESPACE: &[&str] = &["-n", "--namespace"];

/// The words that can stand at the cursor.
pub(crate) async fn complete(setting: &Setting, line: &str, cursor: usize) -> Completion {
    let cursor = (0..=cursor.min(line.len())).rev().find(|at| line.is_char_boundary(*at)).unwrap_or(0);
    let before = &line[..cursor];
    let start =
        before.rfind(char::is_whitespace).map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
    let (whole, part) = (&before[..start], &before[start..]);
    let mut words: Vec<String> = whole.split_whitespace().map(str::to_owned).collect();
    if words.first().is_some_and(|word| word == "kubectl" || word == "k") {
        words.remove(0);
    }
    let candidates = candidates(setting, &words, part).await;
    let mut candidates: Vec<String> = candidates.into_iter().filter(|word| word.starts_with(part)).collect();
    candidates.sort_unstable();
    candidates.dedup();
    Completion { start, candidates }
}

async fn candidates(setting: &Setting, words: &[String], part: &str) -> Vec<String> {
    let input = Input::default();
    let flags = Flags::default();
    let mut session = CommandSession::new(setting, &input, flags, String::new());
    if words.last().is_some_and(|word| NAMESPACE.contains(&word.as_str())) {
        return names(&mut session, "namespaces", "").await;
    }
    let name: Vec<&str> = words.iter().map(String::as_str).filter(|word| !word.starts_with('-')).collect();
    let below = below(&name);
    let Ok((verb, rest)) = verbs::find(words) else { return below };
    if !below.is_empty() && !part.starts_with('-') {
        return below;
    }
    if part.starts_with('-') {
        return verb.all_flags().iter().map(|flag| format!("--{}", flag.name)).collect();
    }
    if words.last().is_some_and(|word| word == "-f" || word == "--filename") {
        return Vec::new();
    }
    let namespace = rest.iter().zip(rest.iter().skip(1)).find(|(flag, _)| NAMESPACE.contains(&flag.as_str()));
    let namespace = namespace.map_or(setting.namespace.clone(), |(_, namespace)| namespace.clone());
    let arguments = arguments(&rest);
    match verb.words {
        ["cordon" | "uncordon" | "drain"] => names(&mut session, "nodes", "").await,
        ["logs" | "exec"] if arguments.is_empty() => names(&mut session, "pods", &namespace).await,
        ["create", ..] | ["run" | "logs" | "exec"] => Vec::new(),
        _ => kinds_or_names(&mut session, &arguments, part, &namespace).await,
    }
}

/// The arguments that are neither flags nor their values.
fn arguments(words: &[String]) -> Vec<&str> {
    let mut out = Vec::new();
    let mut is_value = false;
    for word in words {
        if word.starts_with('-') {
            is_value = !word.contains('=') && matches!(word.as_str(), "-n" | "--namespace" | "-o" | "--output" | "-l");
        } else if std::mem::take(&mut is_value) {
            continue;
        } else {
            out.push(word.as_str());
        }
    }
    out
}

/// The words that continue the name of a verb.
fn below(name: &[&str]) -> Vec<String> {
    let continues = |words: &&'static [&'static str]| words.len() > name.len() && words[..name.len()] == *name;
    verbs::ALL.iter().map(|verb| verb.words).filter(continues).map(|words| words[name.len()].to_owned()).collect()
}

async fn kinds_or_names(session: &mut CommandSession<'_>, args: &[&str], part: &str, namespace: &str) -> Vec<String> {
    if let Some((kind, _)) = part.split_once('/') {
        let found = names(session, kind, namespace).await;
        return found.into_iter().map(|name| format!("{kind}/{name}")).collect();
    }
    match args.first() {
        Some(kind) if !kind.contains('/') => names(session, kind, namespace).await,
        Some(_) => Vec::new(),
        None => match session.kinds().await {
            Ok(kinds) => {
                let listed =
                    kinds.all().iter().filter(|kind| kind.is_preferred && kind.verbs.iter().any(|verb| verb == "list"));
                listed.flat_map(|kind| kind.short_names.iter().cloned().chain([kind.plural.clone()])).collect()
            }
            Err(_) => Vec::new(),
        },
    }
}

/// The names of the objects of a kind.
async fn names(session: &mut CommandSession<'_>, word: &str, namespace: &str) -> Vec<String> {
    let Ok(kinds) = session.kinds().await else { return Vec::new() };
    let Ok(kind) = kinds.of_word(word) else { return Vec::new() };
    let request = RawRequest::get(kind.path(namespace, "", ""), ACCEPT);
    session.value(request).await.map(|table| verbs::names(&table)).unwrap_or_default()
}
