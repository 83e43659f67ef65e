use std::fmt::Write;
use std::marker::PhantomData;

use clap::error::Error;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};

use crate::exit;
use crate::output::note;

/// The heading of flags that change nothing in `--help`.
pub(crate) const CHANGES_NOTHING: &str = "Flags that change nothing";

/// The placeholder of a flag that takes `true`, `false` or no value.
const BOOL: &str = "BOOL";

/// A flag of a Kubernetes program that no part of Coracle obeys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UnusedFlag {
    /// The name without dashes.
    pub(crate) name: &'static str,
    /// The placeholder of its value in `--help`.
    pub(crate) value: &'static str,
    pub(crate) effect: Effect,
    /// The value with which the flag says what is the case anyway: then there is no note and no refusal.
    pub(crate) anyway: Option<&'static str>,
    /// The reason: a clause after "because".
    pub(crate) because: &'static str,
}

/// What a flag does that Coracle does not obey.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// The program prints a note and starts.
    ChangesNothing,
    /// The program does not start.
    Refused,
}

/// A row for a flag that changes nothing.
pub(crate) const fn changes_nothing(name: &'static str, value: &'static str, because: &'static str) -> UnusedFlag {
    UnusedFlag { name, value, effect: Effect::ChangesNothing, anyway: None, because }
}

/// A row for a flag with which the program does not start.
pub(crate) const fn refused(name: &'static str, value: &'static str, because: &'static str) -> UnusedFlag {
    UnusedFlag { name, value, effect: Effect::Refused, anyway: None, because }
}

impl UnusedFlag {
    /// The same row, with the value that says what is the case anyway.
    pub(crate) const fn unless(self, value: &'static str) -> Self {
        Self { anyway: Some(value), ..self }
    }

    fn arg(&self) -> Arg {
        let arg = Arg::new(self.name).long(self.name).value_name(self.value).action(ArgAction::Append);
        let arg = arg.help_heading(CHANGES_NOTHING).help(format!("Because {}", self.because));
        let arg = arg.hide(self.effect != Effect::ChangesNothing).allow_hyphen_values(self.value != BOOL);
        if self.value == BOOL { arg.num_args(0..=1).default_missing_value("true") } else { arg }
    }
}

/// The rows of a program.
pub(crate) trait UnusedFlags: Send + Sync + 'static {
    /// In groups, some of which several programs share.
    const ROWS: &'static [&'static [UnusedFlag]];

    /// All rows.
    fn rows() -> impl Iterator<Item = &'static UnusedFlag> {
        Self::ROWS.iter().copied().flatten()
    }
}

/// The flags of `T` on a command line: clap arguments made of the rows.
pub(crate) struct Given<T> {
    /// In the order of the rows, with their last values.
    flags: Vec<(&'static UnusedFlag, String)>,
    rows: PhantomData<T>,
}

impl<T> std::fmt::Debug for Given<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.flags.iter().map(|(flag, value)| (flag.name, value))).finish()
    }
}

impl<T> Clone for Given<T> {
    fn clone(&self) -> Self {
        Self { flags: self.flags.clone(), rows: PhantomData }
    }
}

impl<T> Default for Given<T> {
    fn default() -> Self {
        Self { flags: Vec::new(), rows: PhantomData }
    }
}

impl<T: UnusedFlags> Args for Given<T> {
    fn augment_args(command: Command) -> Command {
        command.args(T::rows().map(UnusedFlag::arg))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<T: UnusedFlags> FromArgMatches for Given<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut given = Self::default();
        given.update_from_arg_matches(matches)?;
        Ok(given)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        for flag in T::rows() {
            if let Some(value) = matches.get_many::<String>(flag.name).and_then(Iterator::last) {
                self.flags.push((flag, value.clone()));
            }
        }
        Ok(())
    }
}

impl<T> Given<T> {
    /// Prints a note about the flags that change nothing.
    ///
    /// # Errors
    /// If a flag is refused.
    pub(crate) fn check(&self) -> Result<(), exit::Usage> {
        let unlike = |effect: Effect| {
            let given = self.flags.iter().filter(move |(flag, _)| flag.effect == effect);
            given.filter(|(flag, value)| flag.anyway != Some(value.as_str())).map(|(flag, _)| *flag)
        };
        let refused = sentence(unlike(Effect::Refused), "refused");
        if !refused.is_empty() {
            return Err(exit::Usage(refused));
        }
        let unused = sentence(unlike(Effect::ChangesNothing), "no effect");
        if !unused.is_empty() {
            note!("note: {unused}");
        }
        Ok(())
    }
}

/// `--a, --b: WHAT, because …; --c: WHAT, because …`: flags with the same reason stand together.
fn sentence<'a>(flags: impl Iterator<Item = &'a UnusedFlag>, what: &str) -> String {
    let mut reasons: Vec<(&str, String)> = Vec::new();
    for flag in flags {
        match reasons.iter_mut().find(|(because, _)| *because == flag.because) {
            Some((_, names)) => {
                let _ = write!(names, ", --{}", flag.name);
            }
            None => reasons.push((flag.because, format!("--{}", flag.name))),
        }
    }
    let clauses = reasons.iter().map(|(because, names)| format!("{names}: {what}, because {because}"));
    clauses.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug)]
    struct Rows;

    impl UnusedFlags for Rows {
        const ROWS: &'static [&'static [UnusedFlag]] = &[
            &[
                changes_nothing("cache", "BOOL", "objects are always cached"),
                changes_nothing("cache-sizes", "LIST", "objects are always cached"),
            ],
            &[
                refused("oidc-issuer-url", "URL", "OpenID Connect is not supported"),
                refused("storage", "NAME", "there is one kind of storage").unless("etcd3"),
            ],
        ];
    }

    #[derive(Debug, Parser)]
    struct Program {
        #[command(flatten)]
        unused: Given<Rows>,
    }

    fn check(line: &str) -> Result<(), String> {
        let words = std::iter::once("program").chain(line.split_whitespace());
        Program::try_parse_from(words).unwrap().unused.check().map_err(|usage| usage.to_string())
    }

    #[test]
    fn a_row_is_accepted_or_refused_with_its_reason() {
        assert_eq!(check("--cache --cache-sizes=a#1 --storage etcd3"), Ok(()));
        let refused = check("--cache=false --oidc-issuer-url=https://a --storage=etcd2").unwrap_err();
        let why = "--oidc-issuer-url: refused, because OpenID Connect is not supported; \
                   --storage: refused, because there is one kind of storage";
        assert_eq!(refused, why);
    }

    #[test]
    fn flags_with_one_reason_stand_together() {
        let said = sentence(Rows::rows().take(2), "no effect");
        assert_eq!(said, "--cache, --cache-sizes: no effect, because objects are always cached");
    }
}
