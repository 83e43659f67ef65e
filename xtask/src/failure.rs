/// Why a task could not be done.
pub(crate) type Failure = Box<dyn std::error::Error>;
