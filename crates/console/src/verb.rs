//! A verb of the console: its words, its flags, and what it does.

use futures_util::future::BoxFuture;

use crate::failure::Failure;
use crate::flags::Flag;
use crate::session::CommandSession;

/// What a verb does.
pub(crate) type Run = for<'s> fn(&'s mut CommandSession<'_>) -> BoxFuture<'s, Result<(), Failure>>;

/// A verb.
#[derive(Debug)]
pub(crate) struct Verb {
    /// Its words: `create deployment`.
    pub(crate) words: &'static [&'static str],
    /// Other last words.
    pub(crate) aliases: &'static [&'static str],
    /// Groups of flags.
    pub(crate) flags: &'static [&'static [Flag]],
    /// The flags that the line must have.
    pub(crate) required: &'static [&'static str],
    /// What it does, for the help.
    pub(crate) about: &'static str,
    pub(crate) run: Run,
}

/// The flags of all verbs.
const GLOBAL: &[Flag] = &[
    Flag::text("namespace", "The namespace of the command").or('n'),
    Flag::text("as", "The user that the command impersonates"),
    Flag::text("request-timeout", "Without effect: requests stay in one process"),
    Flag::bool("help", "Print the flags of the verb").or('h'),
    Flag::bool("warnings-as-errors", "Without effect"),
];

/// `-o` of verbs that print objects.
pub(crate) const OUTPUT: &[Flag] = &[
    Flag::text("output", "The format: json, yaml, name, jsonpath=, go-template=").or('o'),
    Flag::text("template", "The template of the formats go-template and jsonpath"),
    Flag::bool("show-managed-fields", "Keep managedFields in objects"),
    Flag::bool("allow-missing-template-keys", "Without effect: missing keys are empty"),
];

/// `-f` of verbs that read files.
pub(crate) const FILES: &[Flag] = &[
    Flag::list("filename", "A file in memory, or - for the standard input").or('f'),
    Flag::list("kustomize", "Not supported").or('k'),
    Flag::bool("recursive", "Read folders with their folders").or('R'),
];

/// `-l` of verbs that select objects.
pub(crate) const SELECTOR: &[Flag] = &[Flag::text("selector", "A label selector").or('l')];

/// `--field-selector` of verbs that select objects.
pub(crate) const FIELD_SELECTOR: &[Flag] = &[Flag::text("field-selector", "A field selector")];

/// `-A` of verbs that select objects.
pub(crate) const ALL_NAMESPACES: &[Flag] = &[Flag::bool("all-namespaces", "All namespaces").or('A')];

/// `--all` of verbs that select objects.
pub(crate) const ALL: &[Flag] = &[Flag::bool("all", "All objects of the kinds in the namespace")];

/// The flags of writes.
pub(crate) const WRITE: &[Flag] = &[
    Flag::optional("dry-run", "unchanged", "none, client or server"),
    Flag::text("field-manager", "The owner of the written fields"),
];

/// How a write treats unknown fields.
pub(crate) const VALIDATE: &[Flag] = &[Flag::optional("validate", "strict", "strict, warn or ignore")];

impl Verb {
    /// The flags of the verb, and those of all verbs.
    pub(crate) fn all_flags(&self) -> Vec<&'static Flag> {
        self.flags.iter().copied().chain([GLOBAL]).flatten().collect()
    }

    /// Whether a line of these words names the verb.
    pub(crate) fn is_named(&self, words: &[&str]) -> bool {
        let Some((last, before)) = self.words.split_last() else { return false };
        words.len() == self.words.len()
            && words[..before.len()] == *before
            && words.last().is_some_and(|word| word == last || self.aliases.contains(word))
    }

    /// Refuses a line without the required flags. In Kubernetes: `cobra.Command.ValidateRequiredFlags`.
    pub(crate) fn check(&self, session: &CommandSession<'_>) -> Result<(), Failure> {
        let missing: Vec<String> =
            self.required.iter().filter(|name| !session.flags.has(name)).map(|name| format!("\"{name}\"")).collect();
        if missing.is_empty() {
            return Ok(());
        }
        Err(Failure::text(format!("required flag(s) {} not set", missing.join(", "))))
    }

    /// The help: what the verb does, and its flags.
    pub(crate) fn help(&self) -> String {
        let mut text = format!("{}\n\nUsage:\n  kubectl {} [options]\n", self.about, self.words.join(" "));
        let mut lines = String::new();
        for flag in self.flags.iter().copied().flatten() {
            let letter = flag.letter.map_or("    ".to_owned(), |letter| format!("-{letter}, "));
            lines.push_str(&format!("    {letter}--{}:\t{}\n", flag.name, flag.about));
        }
        if !lines.is_empty() {
            text.push_str("\nOptions:\n");
            text.push_str(&crate::tabs::DESCRIPTION.align(&lines));
        }
        text
    }
}
