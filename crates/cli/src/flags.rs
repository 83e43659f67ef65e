//! The flags of each program: one table of what it obeys, what changes nothing, and what it refuses.
//!
//! ```text
//! fields of Args structs (obeyed) + rows of UnusedFlag (no effect, refused) --clap--> --help, values, errors
//!                                                         \--> notes, refusals        \--> docs/flags.md
//! ```
//! To add a flag that Coracle obeys, add a field to a struct with the flag's documentation as its comment. To add one
//! that it does not obey, add a row with the reason to `…_unused.rs`. Not here: flags of `coracle` itself, which
//! stand with their commands.

pub(crate) mod api_server_unused;
mod common_unused;
pub(crate) mod controller_manager;
pub(crate) mod controller_manager_unused;
pub(crate) mod election;
pub(crate) mod etcd_unused;
pub(crate) mod headings;
pub(crate) mod scheduler_unused;
pub(crate) mod unused;
pub(crate) mod values;

/// Hides the flags with a heading in `-h`: it shows what most users need.
pub(crate) fn shorten(command: clap::Command) -> clap::Command {
    command.mut_args(|arg| {
        let has_heading = arg.get_help_heading().is_some();
        arg.hide_short_help(has_heading)
    })
}
