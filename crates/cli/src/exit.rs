//! The exit codes, which are part of the stable interface.

/// Success; every check held.
pub(crate) const PASS: u8 = 0;
/// A check did not hold.
pub(crate) const CHECK_FAILED: u8 = 1;
/// The command line, a scenario or another input is invalid; nothing was run.
pub(crate) const USAGE: u8 = 2;
/// A scenario did not reach an awaited state in time.
pub(crate) const NOT_IN_TIME: u8 = 3;
/// Nothing matched: no scenario in the folder, no object in the log.
pub(crate) const NOTHING_MATCHED: u8 = 4;
/// A part of Coracle failed, or the system denied a resource.
pub(crate) const FAILED: u8 = 70;
/// Interrupted by Ctrl-C.
pub(crate) const INTERRUPTED: u8 = 130;
/// The reader of the standard output has closed it, as `head` does: 128 plus the number of SIGPIPE, as in shells.
pub(crate) const READER_GONE: u8 = 141;

/// A request that cannot be executed; nothing was done.
#[derive(Debug)]
pub(crate) struct Usage(pub(crate) String);

impl std::fmt::Display for Usage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// What was awaited did not happen in time.
#[derive(Debug)]
pub(crate) struct NotInTime(pub(crate) String);

impl std::fmt::Display for NotInTime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NotInTime {}
