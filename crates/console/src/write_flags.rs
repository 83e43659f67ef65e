//! The flags that all writes share.

use coracle_meta::go_quote;

use crate::failure::Failure;
use crate::session::{CommandSession, WriteOptions, complain};

/// Where a write ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DryRun {
    /// It is stored.
    None,
    /// The console sends nothing.
    Client,
    /// The server stores nothing.
    Server,
}

/// Reads `--dry-run`. In Kubernetes: `cmdutil.GetDryRunStrategy`.
pub(crate) fn dry_run(session: &mut CommandSession<'_>) -> Result<DryRun, Failure> {
    match session.flags.text_or("dry-run", "none") {
        "none" => Ok(DryRun::None),
        "client" => Ok(DryRun::Client),
        "server" => Ok(DryRun::Server),
        "unchanged" => {
            complain!(
                session,
                "W0000 00:00:00.000000       1 helpers.go:1] --dry-run is deprecated and can be replaced with --dry-run=client."
            );
            Ok(DryRun::Client)
        }
        other => {
            Err(Failure::text(format!("Invalid dry-run value ({other}). Must be \"none\", \"server\", or \"client\".")))
        }
    }
}

/// Reads `--validate`. In Kubernetes: `cmdutil.GetValidationDirective`.
pub(crate) fn validation(session: &CommandSession<'_>) -> Result<&'static str, Failure> {
    match session.flags.text_or("validate", "strict") {
        "true" | "strict" | "t" | "T" | "TRUE" | "True" | "1" => Ok("Strict"),
        "false" | "ignore" | "f" | "F" | "FALSE" | "False" | "0" => Ok("Ignore"),
        "warn" => Ok("Warn"),
        other => Err(Failure::text(format!(
            "invalid - validate option {}; must be one of: strict (or true), warn, ignore (or false)",
            go_quote(other)
        ))),
    }
}

/// The field manager: that of the flag, or the verb's own.
pub(crate) fn manager(session: &CommandSession<'_>, default: &str) -> String {
    match session.flags.text("field-manager") {
        "" => default.to_owned(),
        manager => manager.to_owned(),
    }
}

impl DryRun {
    /// The options of a write.
    pub(crate) fn options<'o>(self, manager: &'o str, validation: &'o str) -> WriteOptions<'o> {
        WriteOptions { manager, validation, is_dry_run: self == Self::Server, is_forced: false }
    }
}
