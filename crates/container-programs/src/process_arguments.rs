use std::sync::Arc;

use coracle_api::core_v1::Container;

/// Environment variables. A copy shares its contents.
pub type Variables = imbl::OrdMap<String, Arc<str>>;

/// The size of an argument or a variable at most, in bytes. In Linux: `MAX_ARG_STRLEN`.
pub(crate) const LONGEST_ARGUMENT: usize = 128 << 10;
/// The size of all of them at most, in bytes. In Linux: a quarter of the stack, which has 8 MiB.
const MOST_BYTES: usize = 2 << 20;
/// The overhead of each: its terminator and a pointer.
const EACH: usize = 9;
/// How many bytes are processed at most, including variables that are set again.
const MOST_WORK: usize = 64 << 20;

/// The arguments and the environment of a process, as long as a kernel accepts them.
pub(crate) struct ProcessArguments {
    pub(crate) variables: Variables,
    bytes: usize,
    work: usize,
    is_too_long: bool,
}

impl ProcessArguments {
    /// The arguments of a container, without variables.
    pub(crate) fn of(container: &Container) -> Self {
        let mut own = Self { variables: Variables::new(), bytes: 0, work: 0, is_too_long: false };
        for argument in container.command.iter().chain(&container.args) {
            own.bytes += argument.len() + EACH;
            own.is_too_long |= argument.len() >= LONGEST_ARGUMENT;
        }
        own.is_too_long |= own.bytes > MOST_BYTES;
        own
    }

    /// Sets a variable. If the environment is too long, nothing more is kept.
    pub(crate) fn add(&mut self, name: &str, value: Arc<str>) {
        if self.is_too_long {
            return;
        }
        let length = |value: &str| name.len() + 1 + value.len() + EACH;
        let own = length(&value);
        self.bytes += own;
        self.work += own;
        self.is_too_long = own - EACH >= LONGEST_ARGUMENT || self.work > MOST_WORK;
        if let Some(before) = self.variables.insert(name.to_owned(), value) {
            self.bytes -= length(&before);
        }
        self.is_too_long |= self.bytes > MOST_BYTES;
    }

    /// Records that a variable would be too long; returns no value.
    pub(crate) fn refuse<T>(&mut self) -> Option<T> {
        self.is_too_long = true;
        None
    }

    /// Whether a kernel refuses to start the process (`E2BIG`).
    pub(crate) fn is_too_long(&self) -> bool {
        self.is_too_long
    }
}
