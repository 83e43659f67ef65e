use anyhow::Result;
use clap::{Arg, CommandFactory, FromArgMatches, Parser};

use crate::commands::store::etcd_flags::EtcdFlags;
use crate::commands::store::serve;
use crate::interrupt::interrupted_or_orphaned;
use crate::output::note;
use crate::runtime::runtime;
use crate::{flags, go_flags};

/// Coracle's store as a replacement of etcd in test environments. Unknown flags are ignored with a warning.
#[derive(Debug, Parser)]
#[command(name = "etcd", version = "Version: 3.6.6")]
pub(crate) struct Etcd {
    #[command(flatten)]
    flags: EtcdFlags,
}

impl Etcd {
    pub(crate) fn run(arguments: Vec<String>) -> Result<u8> {
        let Self { flags } = tolerant(arguments)?;
        runtime()?.block_on(serve(flags, interrupted_or_orphaned))
    }
}

/// Parses the flags of `T`, and prints a warning with the names of the others.
pub(crate) fn tolerant<T: CommandFactory + FromArgMatches>(arguments: Vec<String>) -> Result<T> {
    let mut command = flags::shorten(T::command());
    command.build();
    let known = |name: &str| command.get_arguments().any(|arg| is_called(arg, name));
    let asked = arguments.iter().find(|argument| matches!(argument.as_str(), "--help" | "-h" | "--version")).cloned();
    let (flags, unknown) = match asked {
        Some(asked) => (vec![asked], Vec::new()),
        None => go_flags::normalize(arguments, known),
    };
    if !unknown.is_empty() {
        note!("note: {}: unknown to this {}; ignored", unknown.join(", "), command.get_name());
    }
    let name = command.get_name().to_owned();
    let matches = command.try_get_matches_from(std::iter::once(name).chain(flags))?;
    Ok(T::from_arg_matches(&matches)?)
}

fn is_called(arg: &Arg, name: &str) -> bool {
    arg.get_long() == Some(name) || arg.get_all_aliases().is_some_and(|aliases| aliases.contains(&name))
}
