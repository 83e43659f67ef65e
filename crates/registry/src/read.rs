use std::collections::VecDeque;
use std::sync::Arc;

use coracle_meta::{FieldError, FieldRequirement, FieldSelector, Status, WatchEvent};
use coracle_storage::{Freshness, ListQuery, Selection, Stored, StoredList, WatchQuery, WatchStart};

use crate::options::invalid_options;
use crate::registry::not_served;
use crate::{Destination, GetOptions, Kind, ListOptions, Planned, Questions, Registry, Request, Subresource};

/// The maximum number of events of a watch that are converted in one call.
const CONVERTED_TOGETHER: usize = 200;

/// A watch of the objects of a kind, in the version of the request.
pub struct ServedWatch {
    inner: coracle_storage::Watch,
    kind: Arc<Kind>,
    registry: Registry,
    request: Request,
    /// A batch of events, so that a webhook converts their objects in one call. Until then they have the stored
    /// version.
    ready: VecDeque<Served>,
}

/// An event for the client.
#[derive(Clone)]
enum Served {
    Stored(WatchEvent<Stored>),
    Converted(WatchEvent<Stored>),
}

impl std::fmt::Debug for ServedWatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServedWatch").field("inner", &self.inner).field("kind", &self.kind).finish_non_exhaustive()
    }
}

impl ServedWatch {
    /// Waits for the next event. `None` after an error: the watch has ended. Cancel-safe.
    pub async fn next(&mut self) -> Option<WatchEvent<Stored>> {
        if self.kind.conversions.is_none() {
            let event = self.inner.next().await?;
            return Some(serve(&self.kind, event).unwrap_or_else(|why| WatchEvent::Error(why.outside_of_requests())));
        }
        if self.ready.is_empty() {
            let event = self.inner.next().await?;
            self.ready.push_back(Served::Stored(event));
        }
        self.convert().await;
        match self.ready.pop_front()? {
            Served::Stored(event) | Served::Converted(event) => Some(event),
        }
    }

    /// The next event, if one is available.
    pub fn try_next(&mut self) -> Option<WatchEvent<Stored>> {
        if self.kind.conversions.is_none() {
            let event = self.inner.try_next()?;
            return Some(serve(&self.kind, event).unwrap_or_else(|why| WatchEvent::Error(why.outside_of_requests())));
        }
        match self.ready.front()? {
            Served::Converted(_) => match self.ready.pop_front()? {
                Served::Stored(event) | Served::Converted(event) => Some(event),
            },
            Served::Stored(_) => None,
        }
    }

    /// Converts the objects of the current event and of the available events after it. Nothing is removed before the
    /// conversion is finished, so this is cancel-safe.
    async fn convert(&mut self) {
        if matches!(self.ready.front(), Some(Served::Converted(_))) {
            return;
        }
        while self.ready.len() < CONVERTED_TOGETHER
            && let Some(event) = self.inner.try_next()
        {
            self.ready.push_back(Served::Stored(event));
        }
        let events: Vec<_> = self.ready.iter().cloned().collect();
        let served = || Questions::together::<_, VecDeque<_>>(events.iter().map(|event| event.served(&self.kind)));
        let converted = self.registry.planned(&self.request, &self.kind, served);
        self.ready = match converted.await {
            Ok(events) => events,
            Err(status) => VecDeque::from([Served::Converted(WatchEvent::Error(status))]),
        };
        self.kind.conversions.iter().for_each(|conversions| conversions.clear());
    }

    /// The revision up to which all events were returned; `None` while there are more. Cancel-safe.
    pub async fn progress(&mut self) -> Option<i64> {
        if self.ready.is_empty() { self.inner.progress().await } else { None }
    }

    /// Sends no more bookmarks.
    pub fn stop_bookmarks(&mut self) {
        self.inner.stop_bookmarks();
    }
}

impl Served {
    fn served(&self, kind: &Kind) -> Planned<Self> {
        match self {
            Self::Stored(event) => serve(kind, event.clone()).map(Self::Converted),
            Self::Converted(event) => Ok(Self::Converted(event.clone())),
        }
    }
}

/// An event in the version of the request.
fn serve(kind: &Kind, event: WatchEvent<Stored>) -> Planned<WatchEvent<Stored>> {
    Ok(match event {
        WatchEvent::Added(stored) => WatchEvent::Added(kind.answer(stored)?),
        WatchEvent::Modified(stored) => WatchEvent::Modified(kind.answer(stored)?),
        WatchEvent::Deleted(stored) => WatchEvent::Deleted(kind.answer(stored)?),
        event => event,
    })
}

impl Registry {
    /// The object for a client of the served version.
    pub(crate) async fn answer(&self, request: &Request, kind: &Kind, stored: Stored) -> Result<Stored, Status> {
        self.planned(request, kind, || kind.answer(stored.clone())).await
    }

    /// The objects of a list for a client of the served version: all are converted in one call.
    async fn answers(&self, request: &Request, kind: &Kind, stored: Vec<Stored>) -> Result<Vec<Stored>, Status> {
        let answers = || Questions::together(stored.iter().map(|stored| kind.answer(stored.clone())));
        self.planned(request, kind, answers).await
    }
}

impl Request {
    /// The state that a read gets instead of `wanted`.
    async fn freshness(&self, wanted: Freshness) -> Result<Freshness, Status> {
        match self.as_of {
            Some(as_of) => as_of.freshness(wanted).await,
            None => Ok(wanted),
        }
    }
}

impl Registry {
    /// Reads one object like [`Self::get`]; `None` if it does not exist.
    ///
    /// # Errors
    /// The errors of `get`, except 404.
    pub async fn find(&self, request: &Request, options: &GetOptions) -> Result<Option<Stored>, Status> {
        match self.get(request, options).await {
            Ok(stored) => Ok(Some(stored)),
            Err(status) if status.is_not_found() => Ok(None),
            Err(status) => Err(status),
        }
    }

    /// Reads one object, or the part that `request.at.subresource` names.
    pub async fn get(&self, request: &Request, options: &GetOptions) -> Result<Stored, Status> {
        let kind = self.kind_of(request)?;
        match (request.at.subresource.as_str(), kind.subresource(&request.at.subresource)) {
            ("", _) | (_, Some(Subresource::View(_))) => {}
            ("status", _) if kind.has_status() => {}
            (_, Some(Subresource::Projection(projection))) => {
                return self.get_projection(request, &kind, &**projection).await;
            }
            _ => return Err(not_served()),
        }
        if let Some(computed) = kind.computed() {
            let object = computed.get(self, request).await?;
            return Ok(Stored::from_object(&Arc::new(object), 0));
        }
        let freshness = match revision(&options.resource_version).map_err(unreadable_version)? {
            None => Freshness::Newest,
            Some(0) => Freshness::Any,
            Some(revision) => Freshness::NotOlderThan(revision),
        };
        let freshness = request.freshness(freshness).await?;
        let found = self.inner.storage.get(&kind.store, &kind.key(request), freshness).await?;
        self.answer(request, &kind, found.ok_or_else(|| request.not_found())?).await
    }

    /// Lists objects.
    pub async fn list(&self, request: &Request, options: &ListOptions) -> Result<StoredList, Status> {
        self.list_all_or_readable(request, options, false).await
    }

    /// Lists the objects that can be decoded, and the keys of the others, for derived values, which must not fail
    /// because of one object.
    pub async fn list_readable(&self, request: &Request, options: &ListOptions) -> Result<StoredList, Status> {
        self.list_all_or_readable(request, options, true).await
    }

    async fn list_all_or_readable(
        &self,
        request: &Request,
        options: &ListOptions,
        skips_unreadable: bool,
    ) -> Result<StoredList, Status> {
        let kind = self.kind_of(request)?;
        validate_list(options, false)?;
        if let Some(computed) = kind.computed() {
            let objects = computed.list(self, request).await?;
            let items = objects.into_iter().map(|object| Stored::from_object(&Arc::new(object), 0)).collect();
            return Ok(StoredList { items, ..StoredList::default() });
        }
        let version = revision(&options.resource_version)
            .map_err(|why| Status::bad_request(format!("invalid resource version: {why}")))?;
        if !options.continue_token.is_empty() && version.is_some_and(|version| version > 0) {
            return Err(Status::bad_request("specifying resource version is not allowed when using continue"));
        }
        let limit = usize::try_from(options.limit).unwrap_or(0);
        let freshness = match (options.resource_version_match.as_str(), version) {
            (_, None) => Freshness::Newest,
            ("Exact", Some(version)) => Freshness::Exact(version),
            ("", Some(version)) if version > 0 && limit > 0 => Freshness::Exact(version),
            (_, Some(0)) => Freshness::Any,
            (_, Some(version)) => Freshness::NotOlderThan(version),
        };
        // A list from the cache without a minimum version has no pages.
        let limit = if freshness == Freshness::Any { 0 } else { limit };
        let freshness = request.freshness(freshness).await?;
        let query = ListQuery {
            selection: selection(request, &kind, options)?,
            freshness,
            limit,
            continue_token: options.continue_token.clone(),
            skips_unreadable,
        };
        let mut list = self.inner.storage.list(&kind.store, &query).await?;
        if !kind.is_served_as_stored() {
            list.items = self.answers(request, &kind, list.items).await?;
        }
        Ok(list)
    }

    /// Watches objects.
    pub async fn watch(&self, request: &Request, options: &ListOptions) -> Result<ServedWatch, Status> {
        let kind = self.kind_of(request)?;
        let options = &with_watch_defaults(options);
        validate_list(options, true)?;
        let version = revision(&options.resource_version).map_err(unreadable_version)?;
        let (start, freshness) = match (options.send_initial_events, version) {
            (Some(true) | None, None) => (WatchStart::Snapshot, Freshness::Newest),
            (Some(true) | None, Some(0)) => (WatchStart::Snapshot, Freshness::Any),
            (Some(true), Some(version)) => (WatchStart::Snapshot, Freshness::NotOlderThan(version)),
            (Some(false), None) => (WatchStart::Now, Freshness::Newest),
            (Some(false), Some(0)) => (WatchStart::Now, Freshness::Any),
            (Some(false) | None, Some(version)) => (WatchStart::After(version), Freshness::Any),
        };
        let (start, freshness) = match (start, request.freshness(freshness).await?) {
            (WatchStart::Now, Freshness::AsOf(revision)) => (WatchStart::After(revision), Freshness::Any),
            other => other,
        };
        let query = WatchQuery {
            selection: selection(request, &kind, options)?,
            start,
            freshness,
            bookmarks: options.allow_watch_bookmarks,
            initial_events_end: options.send_initial_events == Some(true) && options.allow_watch_bookmarks,
            timeout_seconds: options.timeout_seconds.unwrap_or(0),
        };
        let inner = self.inner.storage.watch(&kind.store, &query).await?;
        Ok(ServedWatch { inner, kind, registry: self.clone(), request: request.clone(), ready: VecDeque::new() })
    }

    /// The destination of a connection to a subresource (`log`, `exec`, `proxy`), if the plug-ins admit it.
    pub async fn connect(
        &self,
        request: &Request,
        path: &str,
        query: &[(String, String)],
    ) -> Result<Destination, Status> {
        let kind = self.kind_of(request)?;
        match kind.subresource(&request.at.subresource) {
            Some(Subresource::Connect(connect)) => {
                if let Some(options) = connect.options(request, path, query) {
                    self.admit_connect(request, &kind, options).await?;
                }
                connect.connect(self, request, path, query).await
            }
            _ => Err(not_served()),
        }
    }

    /// The revision of the last change of any object of a kind, after catching up with the store.
    pub async fn last_change(&self, resource: &coracle_meta::GroupVersionResource) -> Result<i64, Status> {
        let kind = self.kind(resource).ok_or_else(not_served)?;
        self.inner.storage.last_change(&kind.store).await
    }
}

/// Parses a resource version; `None` if it is empty.
fn revision(text: &str) -> Result<Option<i64>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    match text.parse::<u64>() {
        Ok(number) => Ok(Some(i64::try_from(number).unwrap_or(i64::MAX))),
        Err(_) => Err(format!(
            "resourceVersion: Invalid value: {text:?}: strconv.ParseUint: parsing {text:?}: invalid syntax"
        )),
    }
}

/// In Kubernetes the error of the storage reaches the client unchanged.
fn unreadable_version(why: String) -> Status {
    Status::failure(500, "", why)
}

/// A watch without a version begins with the existing objects and a bookmark at their end.
/// In Kubernetes: `SetListOptionsDefaults`.
fn with_watch_defaults(options: &ListOptions) -> ListOptions {
    let mut options = options.clone();
    let says_how = options.send_initial_events.is_some() || !options.resource_version_match.is_empty();
    if !says_how && matches!(options.resource_version.as_str(), "" | "0") {
        options.send_initial_events = Some(true);
        options.resource_version_match = "NotOlderThan".to_owned();
    }
    options
}

/// Refuses invalid combinations of options. In Kubernetes: `ValidateListOptions`.
fn validate_list(options: &ListOptions, is_watch: bool) -> Result<(), Status> {
    let matching = options.resource_version_match.as_str();
    let forbidden = |field: &str, why: &str| FieldError::forbidden(field, why);
    let mut errors = Vec::new();
    if options.send_initial_events.is_some() {
        if !is_watch {
            errors.push(forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"));
        } else if matching != "NotOlderThan" {
            let why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
            errors.push(forbidden("resourceVersionMatch", why));
        }
    }
    if !matching.is_empty() && errors.is_empty() {
        let field = "resourceVersionMatch";
        if is_watch && options.send_initial_events.is_none() {
            errors.push(forbidden(
                field,
                "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
            ));
        } else if is_watch && !options.continue_token.is_empty() {
            errors.push(forbidden(field, "resourceVersionMatch is forbidden when continue is provided"));
        } else if !is_watch {
            if options.resource_version.is_empty() {
                errors.push(forbidden(field, "resourceVersionMatch is forbidden unless resourceVersion is provided"));
            }
            if !options.continue_token.is_empty() {
                errors.push(forbidden(field, "resourceVersionMatch is forbidden when continue is provided"));
            }
            if !matches!(matching, "Exact" | "NotOlderThan") {
                errors.push(FieldError::not_supported(field, matching, &["Exact", "NotOlderThan", ""]));
            }
            if matching == "Exact" && options.resource_version == "0" {
                let why = "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
                errors.push(forbidden(field, why));
            }
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(invalid_options("ListOptions", &errors)) }
}

/// The selected objects; 400 if a field selector uses a field that the kind does not support.
fn selection(request: &Request, kind: &Kind, options: &ListOptions) -> Result<Selection, Status> {
    let selector = stored_selector(kind, &options.field_selector)?;
    let name = match (request.at.name.as_str(), selector.exact("metadata.name")) {
        ("", exact) => exact.unwrap_or(""),
        (name, Some(exact)) if exact != name => {
            let why = format!("fieldSelector metadata.name={exact} doesn't match requested name");
            return Err(Status::bad_request(why));
        }
        (name, _) => name,
    };
    // Requirements that the key already satisfies need no comparison, and do not count as a filter.
    let is_said =
        |own: &&FieldRequirement| own.field == "metadata.name" && own.equal && own.value == name && !name.is_empty();
    let rest = selector.requirements.iter().filter(|requirement| !is_said(requirement));
    Ok(Selection {
        namespace: if kind.is_namespaced() { request.at.namespace.clone() } else { String::new() },
        name: name.to_owned(),
        labels: options.label_selector.clone(),
        fields: FieldSelector { requirements: rest.cloned().collect() },
    })
}

/// A field selector with the names of the stored version.
fn stored_selector(kind: &Kind, selector: &FieldSelector) -> Result<FieldSelector, Status> {
    let requirements = selector.requirements.iter().map(|requirement| {
        let field = stored_label(kind, &requirement.field)?;
        Ok(FieldRequirement { field, ..requirement.clone() })
    });
    Ok(FieldSelector { requirements: requirements.collect::<Result<_, Status>>()? })
}

fn stored_label(kind: &Kind, field: &str) -> Result<String, Status> {
    let labels = kind.hub().selectable_fields();
    let stored = match kind.spec().field_labels {
        _ if matches!(field, "metadata.name" | "metadata.namespace") => Some(field),
        Some(own) => own.iter().find(|(label, _)| *label == field).map(|(_, stored)| *stored),
        None => labels.as_ref().is_some_and(|labels| labels.contains(&field)).then_some(field),
    };
    stored.map(str::to_owned).ok_or_else(|| {
        Status::bad_request(match labels {
            None => format!("{field:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\""),
            Some(_) => format!("field label not supported: {field}"),
        })
    })
}
