use coracle_meta::Status;

/// The result of a delete.
#[derive(Clone, Debug, PartialEq)]
pub enum Deletion<T> {
    /// The object in its last state, or in the state in which it waits for its finalizers or its grace period.
    Object(Box<T>),
    /// The object is gone, and the server returned only a status.
    Done(Box<Status>),
}
