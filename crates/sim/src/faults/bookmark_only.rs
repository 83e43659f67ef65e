use super::argument_form::ArgumentForm;
use super::fault_kind::{FaultEffect, FaultKind, FaultTarget, nothing};
use crate::wire::Effect;

pub(super) const BOOKMARK_ONLY: FaultKind = FaultKind {
    word: "bookmark-only",
    argument: "`{}`",
    forms: &[ArgumentForm::Empty],
    about: "The watches stay open and deliver bookmarks, and no events. While an event is held, each bookmark has the \
            revision of the last event that was delivered. When the fault ends, the watches deliver what they held. They \
            end as for `hang`. The components of the cluster ask for no bookmarks: for these it is `hang`.",
    contract: "A bookmark states that all changes up to its revision were delivered. It does not state that there are no \
               newer ones, so it does not show that a client is up to date.",
    target: FaultTarget::Watches,
    effect: FaultEffect::Wire(|argument, _| nothing(argument).map(|()| Effect::BookmarkOnly)),
};
