use coracle_meta::Status;

/// What a delete left behind.
#[derive(Clone, Debug, PartialEq)]
pub enum Deletion<T> {
    /// The object in its last state, or in the state in which it waits for its end.
    Object(Box<T>),
    /// The object is gone, and the server says no more than that.
    Done(Box<Status>),
}
