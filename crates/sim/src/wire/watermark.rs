use super::asked::Asked;

/// The revision up to which the reader of a watch has all events; `None` while it gets the objects that exist, which
/// come in no order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Watermark(Option<i64>);

/// What an event says about the revision up to which its reader has all events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// `ADDED`: an object that came to be, or one of those that exist.
    Added,
    /// `MODIFIED` or `DELETED`: the objects that exist have been delivered before.
    Changed,
    /// A bookmark that may be left out.
    Bookmark,
    /// The bookmark that ends the objects that exist.
    InitialEventsEnd,
    /// An error, or an event in a format that the wire does not read.
    Unknown,
}

impl Mark {
    /// Of an event with this type; `ends_the_initial` says whether a bookmark has the annotation for it.
    pub(super) fn of(event_type: &str, ends_the_initial: impl FnOnce() -> bool) -> Self {
        match event_type {
            "ADDED" => Self::Added,
            "MODIFIED" | "DELETED" => Self::Changed,
            "BOOKMARK" if ends_the_initial() => Self::InitialEventsEnd,
            "BOOKMARK" => Self::Bookmark,
            _ => Self::Unknown,
        }
    }
}

impl Watermark {
    /// At the beginning of a watch.
    pub(super) fn of(watch: &Asked) -> Self {
        Self(watch.since)
    }

    /// After an event was delivered.
    pub(super) fn pass(&mut self, mark: Mark, revision: Option<i64>) {
        let is_in_order = match mark {
            Mark::Added => self.0.is_some(),
            Mark::Changed | Mark::Bookmark | Mark::InitialEventsEnd => true,
            Mark::Unknown => false,
        };
        if is_in_order {
            self.0 = revision.or(self.0);
        }
    }

    /// The revision.
    pub(super) fn revision(self) -> Option<i64> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(mut watermark: Watermark, passed: &[(Mark, i64)]) -> Option<i64> {
        for (mark, revision) in passed {
            watermark.pass(*mark, Some(*revision));
        }
        watermark.revision()
    }

    #[test]
    fn objects_that_exist_come_in_no_order() {
        let begun = Watermark(None);
        assert_eq!(after(begun, &[(Mark::Added, 9), (Mark::Added, 4)]), None);
        assert_eq!(after(begun, &[(Mark::Added, 9), (Mark::InitialEventsEnd, 12), (Mark::Added, 13)]), Some(13));
        assert_eq!(after(begun, &[(Mark::Added, 9), (Mark::Changed, 12), (Mark::Added, 13)]), Some(13));
    }

    #[test]
    fn a_watch_that_begins_after_a_revision_is_in_order() {
        let begun = Watermark(Some(7));
        assert_eq!(after(begun, &[]), Some(7));
        assert_eq!(after(begun, &[(Mark::Added, 8), (Mark::Unknown, 9)]), Some(8));
        assert_eq!(after(begun, &[(Mark::Added, 8), (Mark::Bookmark, 20)]), Some(20));
    }
}
