use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use tokio::sync::Notify;

use crate::entry::{Entry, split_key};
use crate::{Resource, Selection};

/// Which changes can concern a watch: the narrowest part of its selection.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Interest {
    All,
    Namespace(String),
    /// A key below the resource's prefix.
    Object(String),
    /// An indexed field, and its value.
    Field(String, String),
}

impl Interest {
    pub(crate) fn of(resource: &Resource, selection: &Selection) -> Self {
        let name =
            if selection.name.is_empty() { selection.fields.exact("metadata.name") } else { Some(&*selection.name) };
        match (name, resource.namespaced, selection.namespace.is_empty()) {
            (Some(name), false, _) => return Self::Object(name.to_owned()),
            (Some(name), true, false) => return Self::Object(format!("{}/{name}", selection.namespace)),
            _ => {}
        }
        for field in &resource.indexed {
            if let Some(value) = selection.fields.exact(field) {
                return Self::Field(field.clone(), value.to_owned());
            }
        }
        if selection.namespace.is_empty() { Self::All } else { Self::Namespace(selection.namespace.clone()) }
    }
}

/// A watch in the cache.
#[derive(Debug, Default)]
pub(crate) struct Waiter {
    /// Notified when a relevant change has been applied.
    pub(crate) changed: Notify,
}

/// The watches by interest. A change wakes only those whose interest it matches.
#[derive(Debug, Default)]
pub(crate) struct Interests {
    next: u64,
    waiting: BTreeMap<Interest, BTreeMap<u64, Listener>>,
}

#[derive(Debug)]
struct Listener {
    waiter: Weak<Waiter>,
    /// The first relevant change that the watch has not read yet.
    missed: Option<u64>,
}

impl Interests {
    /// Adds a watch; returns its id.
    pub(crate) fn add(&mut self, interest: Interest, waiter: &Arc<Waiter>, missed: Option<u64>) -> u64 {
        self.next += 1;
        let listener = Listener { waiter: Arc::downgrade(waiter), missed };
        self.waiting.entry(interest).or_default().insert(self.next, listener);
        self.next
    }

    /// Whether there are no watches.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(crate) fn remove(&mut self, interest: &Interest, id: u64) {
        if let Some(of_interest) = self.waiting.get_mut(interest) {
            of_interest.remove(&id);
            if of_interest.is_empty() {
                self.waiting.remove(interest);
            }
        }
    }

    /// The first relevant change that the watch has not read yet.
    pub(crate) fn missed(&mut self, interest: &Interest, id: u64) -> Option<&mut Option<u64>> {
        Some(&mut self.waiting.get_mut(interest)?.get_mut(&id)?.missed)
    }

    /// Marks and wakes the watches that a change concerns.
    pub(crate) fn touch(
        &mut self,
        resource: &Resource,
        number: u64,
        key: &str,
        old: Option<&Entry>,
        new: Option<&Entry>,
    ) {
        if self.is_empty() {
            return;
        }
        self.wake(&Interest::All, number);
        self.wake(&Interest::Object(key.to_owned()), number);
        if resource.namespaced {
            self.wake(&Interest::Namespace(split_key(resource, key).0.to_owned()), number);
        }
        for field in &resource.indexed {
            let before = old.map(|entry| entry.field(resource, field));
            let after = new.map(|entry| entry.field(resource, field));
            for value in before.into_iter().chain(after.filter(|after| before != Some(after))) {
                self.wake(&Interest::Field(field.clone(), value.to_owned()), number);
            }
        }
    }

    fn wake(&mut self, interest: &Interest, number: u64) {
        for listener in self.waiting.get_mut(interest).into_iter().flat_map(BTreeMap::values_mut) {
            listener.missed.get_or_insert(number);
            if let Some(waiter) = listener.waiter.upgrade() {
                waiter.changed.notify_one();
            }
        }
    }

    /// Wakes all watches: the cache was filled again.
    pub(crate) fn wake_all(&mut self) {
        for waiter in self.waiting.values().flat_map(BTreeMap::values).filter_map(|listener| listener.waiter.upgrade())
        {
            waiter.changed.notify_one();
        }
    }
}
