//! The flags of a command: what a verb declares, and how a line is read by it.
//!
//! In Kubernetes: `spf13/pflag`.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::failure::Failure;

/// A flag that a verb declares.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flag {
    /// Its name, without the dashes.
    pub(crate) name: &'static str,
    /// Its letter, if it has one.
    pub(crate) letter: Option<char>,
    pub(crate) form: Form,
    /// What it does, for the help.
    pub(crate) about: &'static str,
}

/// The form of a flag's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// `true` or `false`; without a value `true`.
    Bool,
    /// A text.
    Text,
    /// A text; without a value this one.
    Optional(&'static str),
    /// A whole number.
    Number,
    /// A duration, as Go writes it.
    Duration,
    /// Texts, separated by commas; the flag can be repeated.
    List,
    /// Texts; the flag can be repeated.
    Texts,
}

const fn flag(name: &'static str, letter: Option<char>, form: Form, about: &'static str) -> Flag {
    Flag { name, letter, form, about }
}

impl Flag {
    pub(crate) const fn bool(name: &'static str, about: &'static str) -> Self {
        flag(name, None, Form::Bool, about)
    }

    pub(crate) const fn text(name: &'static str, about: &'static str) -> Self {
        flag(name, None, Form::Text, about)
    }

    pub(crate) const fn optional(name: &'static str, absent: &'static str, about: &'static str) -> Self {
        flag(name, None, Form::Optional(absent), about)
    }

    pub(crate) const fn number(name: &'static str, about: &'static str) -> Self {
        flag(name, None, Form::Number, about)
    }

    pub(crate) const fn duration(name: &'static str, about: &'static str) -> Self {
        flag(name, None, Form::Duration, about)
    }

    pub(crate) const fn list(name: &'static str, about: &'static str) -> Self {
        flag(name, None, Form::List, about)
    }

    pub(crate) const fn texts(name: &'static str, about: &'static str) -> Self {
        flag(name, None, Form::Texts, about)
    }

    /// The same flag with a letter.
    pub(crate) const fn or(self, letter: char) -> Self {
        Self { letter: Some(letter), ..self }
    }

    /// The flag as messages name it: `-o, --output`.
    fn in_messages(&self) -> String {
        match self.letter {
            Some(letter) => format!("-{letter}, --{}", self.name),
            None => format!("--{}", self.name),
        }
    }

    fn absent_value(&self) -> Option<&'static str> {
        match self.form {
            Form::Bool => Some("true"),
            Form::Optional(absent) => Some(absent),
            _ => None,
        }
    }

    fn check(&self, value: &str) -> Result<(), String> {
        let quoted = coracle_meta::go_quote(value);
        let why = match self.form {
            Form::Bool if bool_of(value).is_none() => format!("strconv.ParseBool: parsing {quoted}: invalid syntax"),
            Form::Number if value.parse::<i64>().is_err() => {
                format!("strconv.ParseInt: parsing {quoted}: invalid syntax")
            }
            Form::Duration if duration_of(value).is_none() => duration_error(value),
            _ => return Ok(()),
        };
        Err(format!("invalid argument {quoted} for \"{}\" flag: {why}", self.in_messages()))
    }
}

/// A duration with a sign: `--timeout=-1s`.
fn duration_of(value: &str) -> Option<Duration> {
    match value.strip_prefix('-') {
        Some(rest) => coracle_meta::parse_duration(rest).map(|_| Duration::MAX),
        None => coracle_meta::parse_duration(value).or_else(|| (value == "0").then_some(Duration::ZERO)),
    }
}

fn duration_error(value: &str) -> String {
    let quoted = coracle_meta::go_quote(value);
    let is_number = !value.is_empty() && value.chars().all(|sign| sign.is_ascii_digit() || sign == '.');
    if is_number {
        format!("time: missing unit in duration {quoted}")
    } else {
        format!("time: invalid duration {quoted}")
    }
}

/// In Go: `strconv.ParseBool`.
fn bool_of(value: &str) -> Option<bool> {
    match value {
        "1" | "t" | "T" | "TRUE" | "true" | "True" => Some(true),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Some(false),
        _ => None,
    }
}

/// A line, read by the flags of its verb.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flags {
    values: BTreeMap<&'static str, Vec<String>>,
    /// The words that are not flags.
    pub(crate) args: Vec<String>,
    /// How many of the arguments come before `--`, if the line has it.
    pub(crate) dash: Option<usize>,
}

impl Flags {
    /// Reads the words after the verb. `command` is the verb as messages name it.
    pub(crate) fn parse(words: &[String], known: &[&Flag], command: &str) -> Result<Self, Failure> {
        let usage = |why: String| Failure::text(format!("{why}\nSee '{command} --help' for usage."));
        let mut flags = Self::default();
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            if word == "--" {
                flags.dash = Some(flags.args.len());
                flags.args.extend(rest.cloned());
                break;
            }
            let read = if let Some(long) = word.strip_prefix("--") {
                flags.read_long(long, &mut rest, known)
            } else if word.len() > 1 && word.starts_with('-') {
                flags.read_letters(&word[1..], &mut rest, known)
            } else {
                flags.args.push(word.clone());
                Ok(())
            };
            read.map_err(usage)?;
        }
        Ok(flags)
    }

    fn read_long<'w>(
        &mut self,
        word: &str,
        rest: &mut impl Iterator<Item = &'w String>,
        known: &[&Flag],
    ) -> Result<(), String> {
        if word.starts_with(['-', '=']) {
            return Err(format!("bad flag syntax: --{word}"));
        }
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (word, None),
        };
        let flag = known.iter().find(|flag| flag.name == name).ok_or_else(|| format!("unknown flag: --{name}"))?;
        let value = match value.or_else(|| flag.absent_value().map(str::to_owned)) {
            Some(value) => value,
            None => rest.next().cloned().ok_or_else(|| format!("flag needs an argument: --{name}"))?,
        };
        self.set(flag, value)
    }

    fn read_letters<'w>(
        &mut self,
        letters: &str,
        rest: &mut impl Iterator<Item = &'w String>,
        known: &[&Flag],
    ) -> Result<(), String> {
        let mut left = letters.chars();
        while let Some(letter) = left.next() {
            let from_here = format!("{letter}{}", left.as_str());
            let flag = known.iter().find(|flag| flag.letter == Some(letter));
            let flag = flag.ok_or_else(|| format!("unknown shorthand flag: '{letter}' in -{from_here}"))?;
            let after = left.as_str();
            if let Some(value) = after.strip_prefix('=') {
                return self.set(flag, value.to_owned());
            }
            if let Some(absent) = flag.absent_value() {
                self.set(flag, absent.to_owned())?;
                continue;
            }
            if !after.is_empty() {
                return self.set(flag, after.to_owned());
            }
            let value = rest.next().cloned();
            let value = value.ok_or_else(|| format!("flag needs an argument: '{letter}' in -{from_here}"))?;
            return self.set(flag, value);
        }
        Ok(())
    }

    fn set(&mut self, flag: &Flag, value: String) -> Result<(), String> {
        flag.check(&value)?;
        let values = self.values.entry(flag.name).or_default();
        match flag.form {
            Form::List => values.extend(value.split(',').map(str::to_owned)),
            Form::Texts => values.push(value),
            _ => *values = vec![value],
        }
        Ok(())
    }

    /// Whether the line has the flag.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }

    /// The value of a text, empty without one.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.values.get(name).and_then(|values| values.last()).map_or("", String::as_str)
    }

    /// The value of a text, or its default.
    pub(crate) fn text_or<'f>(&'f self, name: &str, default: &'f str) -> &'f str {
        if self.has(name) { self.text(name) } else { default }
    }

    pub(crate) fn texts(&self, name: &str) -> &[String] {
        self.values.get(name).map_or(&[], Vec::as_slice)
    }

    /// Whether a flag is set.
    pub(crate) fn is(&self, name: &str) -> bool {
        self.is_or(name, false)
    }

    pub(crate) fn is_or(&self, name: &str, default: bool) -> bool {
        if self.has(name) { bool_of(self.text(name)).unwrap_or(default) } else { default }
    }

    pub(crate) fn number(&self, name: &str) -> Option<i64> {
        self.values.get(name)?.last()?.parse().ok()
    }

    /// A duration; a negative one is as long as possible.
    pub(crate) fn duration(&self, name: &str) -> Option<Duration> {
        duration_of(self.values.get(name)?.last()?)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const KNOWN: &[Flag] = &[
        Flag::text("output", "").or('o'),
        Flag::bool("all-namespaces", "").or('A'),
        Flag::list("label-columns", "").or('L'),
        Flag::optional("dry-run", "unchanged", ""),
        Flag::number("replicas", ""),
        Flag::duration("timeout", ""),
    ];

    fn read(line: &str) -> Result<Flags, String> {
        let known: Vec<&Flag> = KNOWN.iter().collect();
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Flags::parse(&words, &known, "kubectl get").map_err(|failure| failure.message())
    }

    #[test]
    fn values_stand_after_an_equals_sign_in_the_next_word_or_after_the_letter() {
        for line in ["-o wide -A pods", "pods -owide -A", "-Ao wide pods", "--output=wide -A pods", "pods -A -o=wide"] {
            let flags = read(line).unwrap();
            assert_eq!((flags.text("output"), flags.is("all-namespaces")), ("wide", true), "{line}");
            assert_eq!(flags.args, ["pods"]);
        }
        assert_eq!(read("-L a,b -L c").unwrap().texts("label-columns"), ["a", "b", "c"]);
        assert_eq!(read("--dry-run --replicas 3").unwrap().text("dry-run"), "unchanged");
        let flags = read("a -- -o b").unwrap();
        assert_eq!((flags.args, flags.dash), (vec!["a".to_owned(), "-o".to_owned(), "b".to_owned()], Some(1)));
    }

    #[test]
    fn what_cannot_be_read_is_refused_in_the_words_of_kubectl() {
        for (line, message) in [
            ("--foo", "unknown flag: --foo"),
            ("-AZ", "unknown shorthand flag: 'Z' in -Z"),
            ("-o", "flag needs an argument: 'o' in -o"),
            ("--output", "flag needs an argument: --output"),
            ("--=x", "bad flag syntax: --=x"),
            (
                "--replicas=x",
                r#"invalid argument "x" for "--replicas" flag: strconv.ParseInt: parsing "x": invalid syntax"#,
            ),
            ("--timeout=5", r#"invalid argument "5" for "--timeout" flag: time: missing unit in duration "5""#),
            (
                "-A=maybe",
                r#"invalid argument "maybe" for "-A, --all-namespaces" flag: strconv.ParseBool: parsing "maybe": invalid syntax"#,
            ),
        ] {
            let expected = format!("error: {message}\nSee 'kubectl get --help' for usage.\n");
            assert_eq!(read(line).unwrap_err(), expected, "{line}");
        }
    }

    proptest! {
        #[test]
        fn no_line_panics(words in prop::collection::vec("-{0,3}[a-zA=o ]{0,6}|\\PC{0,6}", 0..6)) {
            let known: Vec<&Flag> = KNOWN.iter().collect();
            let _ = Flags::parse(&words, &known, "kubectl get");
        }
    }
}
