use std::time::Duration;

use crate::{Detail, Stage};

/// An entry as it was said, which has its number and is not kept yet.
#[derive(Clone, Debug)]
pub(crate) struct Pending {
    pub(crate) at: Duration,
    pub(crate) actor: Box<str>,
    pub(crate) stage: Stage,
    pub(crate) detail: Detail,
}
