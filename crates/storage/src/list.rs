use std::sync::Arc;

use coracle_meta::Status;
use coracle_store::{Error, KeyRange, RangeRequest, Revision};
use futures_util::future::BoxFuture;

use crate::continue_token::ContinueToken;
use crate::entry::{Entry, candidates, matches_object};
use crate::parts::Parts;
use crate::watch::PastObjects;
use crate::{Freshness, ListQuery, NotStorable, Resource, Selection, Storage, Stored, WatchQuery, errors};

/// A list, or a page of one.
#[derive(Clone, Debug, Default)]
pub struct StoredList {
    /// The objects, in the order of their keys.
    pub items: Vec<Stored>,
    /// The revision of the list.
    pub revision: Revision,
    /// The token for the next page; empty on the last.
    pub continue_token: String,
    /// How many objects follow, if known.
    pub remaining: Option<i64>,
    /// The keys of the values that cannot be decoded and were left out, if requested.
    pub unreadable: Vec<String>,
}

impl Storage {
    /// Lists objects: a page that continues at a revision, or an exact revision, is read from the store, all else
    /// from the cache.
    pub async fn list(&self, resource: &Arc<Resource>, query: &ListQuery) -> Result<StoredList, Status> {
        if !query.continue_token.is_empty() {
            let token = ContinueToken::decode(&query.continue_token)?;
            return match token.revision {
                Some(revision) => self.list_at(resource, query, revision, &token.start).await,
                None => self.list_cached(resource, query, Freshness::Newest, &token.start).await,
            };
        }
        match query.freshness {
            Freshness::Exact(revision) | Freshness::AsOf(revision) => self.list_at(resource, query, revision, "").await,
            freshness => self.list_cached(resource, query, freshness, "").await,
        }
    }

    /// The selected objects at a revision, for a watch that starts there.
    pub(crate) async fn objects_at(
        &self,
        resource: &Arc<Resource>,
        query: &WatchQuery,
        revision: Revision,
    ) -> Result<PastObjects, Status> {
        let list = ListQuery { selection: query.selection.clone(), ..ListQuery::default() };
        let items = self.list_at(resource, &list, revision, "").await?.items;
        let entry = |stored: Stored| {
            let key = resource.short_key(&stored.object().key());
            (Arc::from(key), Entry::new(resource, stored))
        };
        Ok(PastObjects { objects: items.into_iter().map(entry).collect(), revision })
    }

    /// The values of a resource that cannot be decoded, as the store has them now: the key of each, and why.
    ///
    /// # Errors
    /// The store does not answer.
    pub async fn unreadable(&self, resource: &Resource) -> Result<Vec<(String, NotStorable)>, Status> {
        let mut found = Vec::new();
        let request = RangeRequest { range: KeyRange::prefix(resource.prefix()), ..RangeRequest::default() };
        let parts = Parts::open(&**self.store(), request, self.streams_ranges()).await;
        let mut parts = parts.map_err(errors::status)?;
        while let Some(part) = parts.next().await.map_err(errors::status)? {
            for kv in part.kvs {
                if let Err(why) = resource.read(kv.value, kv.mod_revision) {
                    found.push((String::from_utf8_lossy(&kv.key).into_owned(), why));
                }
            }
        }
        Ok(found)
    }

    fn list_cached<'a>(
        &'a self,
        resource: &'a Arc<Resource>,
        query: &'a ListQuery,
        freshness: Freshness,
        start: &'a str,
    ) -> BoxFuture<'a, Result<StoredList, Status>> {
        // Boxed, so that its code is compiled once, and not in each crate that awaits it.
        Box::pin(async move {
            let cache = self.cache(resource);
            match freshness {
                Freshness::Newest | Freshness::Any => cache.fresh().await?,
                Freshness::NotOlderThan(revision) | Freshness::Exact(revision) | Freshness::AsOf(revision) => {
                    cache.wait_for(revision).await?;
                }
            }
            let (objects, revision, unreadable) = {
                let state = cache.state();
                let unreadable = if query.skips_unreadable {
                    state.unreadable.keys(resource)
                } else {
                    state.unreadable.check(resource, &query.selection).map(|()| Vec::new())?
                };
                (state.objects.clone(), state.revision, unreadable)
            };
            let base = base(resource, &query.selection);
            let after = (!start.is_empty()).then(|| format!("{base}{start}"));
            let mut rest = candidates(resource, &objects, &query.selection, after.as_deref()).peekable();
            let mut list = StoredList { revision, unreadable, ..StoredList::default() };
            let mut last = None;
            while let Some((key, entry)) = rest.next() {
                if entry.matches(resource, key, &query.selection) {
                    list.items.push(entry.stored.clone());
                }
                if query.limit > 0 && list.items.len() == query.limit {
                    last = rest.peek().is_some().then_some(key);
                    break;
                }
            }
            if let Some(last) = last {
                list.continue_token = token(revision, last.strip_prefix(&base).unwrap_or(last));
                list.remaining = remaining(&query.selection, rest.count());
            }
            Ok(list)
        })
    }

    fn list_at<'a>(
        &'a self,
        resource: &'a Arc<Resource>,
        query: &'a ListQuery,
        revision: Revision,
        start: &'a str,
    ) -> BoxFuture<'a, Result<StoredList, Status>> {
        // Boxed, so that its code is compiled once, and not in each crate that awaits it.
        Box::pin(async move {
            let base = base(resource, &query.selection);
            let prefix = format!("{}{base}", resource.prefix());
            let mut range = KeyRange::prefix(prefix.clone());
            if !start.is_empty() {
                range.start = format!("{prefix}{start}").into();
            }
            let mut list = StoredList { revision, ..StoredList::default() };
            // The store does not select. So it reads the whole range for a selector, and a stream would not end at the limit.
            let filtered = query.selection.is_filtered();
            let streams = self.streams_ranges() && (query.limit == 0 || !filtered);
            let limit = if filtered { 0 } else { i64::try_from(query.limit).unwrap_or(i64::MAX) };
            let request = RangeRequest { range, revision, limit, ..RangeRequest::default() };
            let failed = |error, already| range_error(error, revision, start, already);
            let parts = Parts::open(&**self.store(), request, streams).await;
            let mut parts = parts.map_err(|error| failed(error, 0))?;
            while let Some(part) = parts.next().await.map_err(|error| failed(error, list.items.len()))? {
                let seen = part.kvs.len();
                for (index, kv) in part.kvs.into_iter().enumerate() {
                    let key = String::from_utf8_lossy(&kv.key).into_owned();
                    let short = resource.below_prefix(&key).unwrap_or(&key);
                    let stored = match self.cached(resource, short, &kv) {
                        Some(stored) => stored,
                        None => crate::storage::stored(resource, kv)?,
                    };
                    if matches_object(resource, &stored, short, &query.selection) {
                        list.items.push(stored);
                    }
                    if query.limit > 0 && list.items.len() == query.limit && (part.more || index + 1 < seen) {
                        list.continue_token = token(revision, key.strip_prefix(&prefix).unwrap_or(&key));
                        let rest = part.count - 1 - index as i64;
                        list.remaining = remaining(&query.selection, usize::try_from(rest).unwrap_or(0));
                        return Ok(list);
                    }
                }
            }
            Ok(list)
        })
    }
}

/// The part of a key between the resource's prefix and the key in a token: the namespace of a list in one.
fn base(resource: &Resource, selection: &Selection) -> String {
    if resource.namespaced && !selection.namespace.is_empty() {
        format!("{}/", selection.namespace)
    } else {
        String::new()
    }
}

fn token(revision: Revision, last_key: &str) -> String {
    ContinueToken { revision: Some(revision), start: format!("{last_key}\0") }.encode()
}

/// The number of remaining objects is only reported without a selector.
fn remaining(selection: &Selection, rest: usize) -> Option<i64> {
    (!selection.is_filtered()).then(|| i64::try_from(rest).unwrap_or(i64::MAX))
}

fn range_error(error: Error, revision: Revision, start: &str, already: usize) -> Status {
    match error {
        Error::FutureRevision { current } => errors::too_large(revision, current),
        Error::Compacted { .. } if !start.is_empty() && already == 0 => {
            let mut status = Status::expired(CONTINUE_TOO_OLD);
            let fresh = ContinueToken { revision: None, start: start.to_owned() }.encode();
            status.metadata.insert("continue".to_owned(), fresh.into());
            status
        }
        error => errors::status(error),
    }
}

/// The message for a page whose revision is compacted, with a token that continues at the newest.
const CONTINUE_TOO_OLD: &str = "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.";
