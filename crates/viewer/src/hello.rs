use coracle_journal::{EntryId, Header, Recorder};
use serde_json::{Value, json};

use crate::page::{FORM, sentences, stages};

/// What a page that follows a log has to know before the first entry. `begins` is the entry at which the cluster was
/// complete.
pub fn hello(recorder: &Recorder, header: &Header, begins: EntryId) -> Value {
    json!({
        "form": FORM,
        "run": header,
        "sentences": sentences(),
        "stages": stages(),
        "begins": begins,
        "newest": recorder.last(),
        "ring": recorder.capacity(),
    })
}
