use std::sync::Arc;

use coracle_api::core_v1::Container;

/// The variables of an environment. A copy shares what it holds.
pub(crate) type Variables = imbl::OrdMap<String, Arc<str>>;

/// How many bytes an argument or a variable has at most. In Linux: `MAX_ARG_STRLEN`.
pub(crate) const LONGEST_ARGUMENT: usize = 128 << 10;
/// How many bytes all of them have together. In Linux: a quarter of the stack, which has 8 MiB.
const MOST_BYTES: usize = 2 << 20;
/// What each of them takes besides its bytes: its end and a pointer.
const EACH: usize = 9;
/// How many bytes are looked at, those of variables that are set again included.
const MOST_WORK: usize = 64 << 20;

/// The arguments and the environment of a process, as long as a kernel takes them.
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

    /// Sets a variable. Of an environment that is too long, nothing more is kept.
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

    /// Notes that a variable would be too long. There is no value.
    pub(crate) fn refuse<T>(&mut self) -> Option<T> {
        self.is_too_long = true;
        None
    }

    /// Whether a kernel refuses to start such a process (`E2BIG`).
    pub(crate) fn is_too_long(&self) -> bool {
        self.is_too_long
    }
}
