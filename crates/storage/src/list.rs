use coracle_store::Revision;

use crate::Stored;

/// A list, or a page of one.
#[derive(Clone, Debug, Default)]
pub struct List {
    /// The objects, in the order of their keys.
    pub items: Vec<Stored>,
    /// The revision at which the list was true.
    pub revision: Revision,
    /// The token for the next page; empty on the last.
    pub continue_token: String,
    /// How many objects follow, where that is known.
    pub remaining: Option<i64>,
}
