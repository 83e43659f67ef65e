//! The verbs of the console, one file each, and the list of them.

mod annotate;
mod api_resources;
mod apply;
mod can_i;
mod cordon;
mod create;
mod create_config;
mod create_deployment;
mod create_job;
mod create_rbac;
mod create_service;
mod create_simple;
mod delete;
mod describe;
mod drain;
mod exec;
mod explain;
mod expose;
mod get;
mod groups;
mod label;
mod logs;
mod patch;
mod rollout;
mod rollout_undo;
mod run;
mod scale;
mod set_image;
mod taint;
mod top;
mod version;
mod wait;

use coracle_meta::go_quote;
pub(crate) use get::names;

use crate::failure::Failure;
use crate::flags::Form;
use crate::suggestions::suggestions;
use crate::verb::Verb;

/// The verbs.
pub(crate) const ALL: &[&Verb] = &[
    &annotate::VERB,
    &api_resources::VERB,
    &apply::VERB,
    &can_i::VERB,
    &can_i::WHO_AM_I,
    &cordon::CORDON,
    &cordon::UNCORDON,
    &create::VERB,
    &create_config::CONFIG_MAP,
    &create_config::GENERIC_SECRET,
    &create_deployment::VERB,
    &create_job::VERB,
    &create_rbac::CLUSTER_ROLE,
    &create_rbac::CLUSTER_ROLE_BINDING,
    &create_rbac::ROLE,
    &create_rbac::ROLE_BINDING,
    &create_service::CLUSTER_IP,
    &create_service::EXTERNAL_NAME,
    &create_service::LOAD_BALANCER,
    &create_service::NODE_PORT,
    &create_simple::CRON_JOB,
    &create_simple::NAMESPACE,
    &create_simple::SERVICE_ACCOUNT,
    &delete::VERB,
    &describe::VERB,
    &drain::VERB,
    &exec::VERB,
    &explain::VERB,
    &expose::VERB,
    &get::VERB,
    &groups::AUTH,
    &groups::CONFIG,
    &groups::CREATE_SECRET,
    &groups::CREATE_SERVICE,
    &groups::ROLLOUT,
    &groups::SET,
    &groups::TOP,
    &label::VERB,
    &logs::VERB,
    &patch::VERB,
    &rollout::HISTORY,
    &rollout::PAUSE,
    &rollout::RESTART,
    &rollout::RESUME,
    &rollout::STATUS,
    &rollout_undo::VERB,
    &run::VERB,
    &scale::VERB,
    &set_image::VERB,
    &taint::VERB,
    &top::NODE,
    &top::POD,
    &version::CURRENT_CONTEXT,
    &version::VERB,
    &wait::VERB,
];

/// The verb of a line, and the words that are not a part of its name.
///
/// # Errors
/// If no verb has the name.
pub(crate) fn find(words: &[String]) -> Result<(&'static Verb, Vec<String>), Failure> {
    let mut found: Option<&'static Verb> = None;
    let mut name: Vec<&str> = Vec::new();
    let mut taken: Vec<usize> = Vec::new();
    let mut index = 0;
    while let Some(word) = words.get(index) {
        if word == "--" {
            break;
        }
        if word.starts_with('-') {
            index += 1 + usize::from(takes_next(word, found));
            continue;
        }
        name.push(word);
        let is_longer = |verb: &&&Verb| verb.words.len() > name.len() && begins(verb, &name);
        let exact = ALL.iter().find(|verb| verb.is_named(&name));
        if exact.is_none() && !ALL.iter().any(|verb| is_longer(&verb)) {
            break;
        }
        taken.push(index);
        found = exact.copied().or(found);
        if let Some(exact) = exact {
            // The rest of the name is compared with the verb's own words, not with an alias.
            name.clear();
            name.extend(exact.words);
        }
        index += 1;
    }
    match found {
        Some(verb) => {
            let rest = words.iter().enumerate().filter(|(index, _)| !taken.contains(index));
            Ok((verb, rest.map(|(_, word)| word.clone()).collect()))
        }
        None => Err(unknown(words)),
    }
}

fn begins(verb: &Verb, name: &[&str]) -> bool {
    verb.words.iter().zip(name).all(|(word, given)| word == given)
}

/// Whether a flag before the end of the name takes the next word as its value.
fn takes_next(word: &str, verb: Option<&'static Verb>) -> bool {
    let flags = verb.unwrap_or(ALL[0]).all_flags();
    let flag = match word.strip_prefix("--") {
        Some(long) => flags.iter().find(|flag| flag.name == long),
        None => flags.iter().find(|flag| flag.letter.is_some_and(|letter| word[1..] == *letter.to_string())),
    };
    flag.is_some_and(|flag| !matches!(flag.form, Form::Bool | Form::Optional(_)))
}

fn unknown(words: &[String]) -> Failure {
    let Some(word) = words.iter().find(|word| !word.starts_with('-')) else {
        return match words.first() {
            Some(flag) if !matches!(flag.as_str(), "-h" | "--help") => {
                Failure::text(format!("unknown flag: {flag}\nSee 'kubectl --help' for usage."))
            }
            _ => Failure::Verbatim(overview()),
        };
    };
    let mut message = format!("unknown command {} for \"kubectl\"", go_quote(word));
    let names: Vec<&str> = ALL.iter().map(|verb| verb.words[0]).collect();
    let similar = suggestions(word, &names);
    if !similar.is_empty() {
        message.push_str("\n\nDid you mean this?\n");
        message.extend(similar.iter().map(|name| format!("\t{name}\n")));
    }
    Failure::text(message)
}

/// The verbs whose names begin with these words.
fn overview_of(name: &[&str]) -> String {
    let below = ALL.iter().filter(|verb| verb.words.len() > name.len() && verb.words.starts_with(name));
    let lines: String = below.map(|verb| format!("  {}\t{}\n", verb.words.join(" "), verb.about)).collect();
    format!("Available Commands:\n{}", crate::tabs::DESCRIPTION.align(&lines))
}

fn overview() -> String {
    let mut text = "The console understands these verbs of kubectl:\n\n".to_owned();
    let lines: String = ALL.iter().map(|verb| format!("  {}\t{}\n", verb.words.join(" "), verb.about)).collect();
    text.push_str(&crate::tabs::DESCRIPTION.align(&lines));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(line: &str) -> Result<(String, Vec<String>), String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        find(&words).map(|(verb, rest)| (verb.words.join(" "), rest)).map_err(|failure| failure.message())
    }

    #[test]
    fn flags_can_stand_before_and_within_the_name_of_a_verb() {
        let rest = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        assert_eq!(named("-n shop get pods").unwrap(), ("get".to_owned(), rest(&["-n", "shop", "pods"])));
        assert_eq!(named("get -A pods").unwrap(), ("get".to_owned(), rest(&["-A", "pods"])));
        assert!(named("creat").unwrap_err().contains("Did you mean this?\n\tcreate\n"));
    }

    #[test]
    fn no_two_verbs_have_the_same_name_and_no_verb_has_a_flag_twice() {
        let mut names: Vec<_> = ALL.iter().map(|verb| verb.words).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ALL.len());
        for verb in ALL {
            let flags = verb.all_flags();
            let mut known: Vec<String> = flags.iter().map(|flag| flag.name.to_owned()).collect();
            known.extend(flags.iter().filter_map(|flag| flag.letter).map(String::from));
            let all = known.len();
            known.sort_unstable();
            known.dedup();
            assert_eq!(known.len(), all, "{:?}", verb.words);
        }
    }
}
