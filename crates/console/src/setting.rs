//! What all commands of a console share.

use coracle_ambient::Clock;
use coracle_client::Client;

/// The API, the clock, and the namespace of commands that name none.
#[derive(Clone)]
pub(crate) struct Setting {
    pub(crate) client: Client,
    pub(crate) clock: Clock,
    pub(crate) namespace: String,
}
