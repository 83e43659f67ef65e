use coracle_store::{Error, KeyRange, RangeRequest, RangeResponse, RangeStream, Store};

/// The size of a page of a range that is read as a whole.
const PAGE: i64 = 10_000;

/// A range of the store at one revision, in parts: those of a stream, or pages.
///
/// In Kubernetes: `streamChunks` and `pagedChunks` of `etcd3.store`.
pub(crate) struct Parts<'s> {
    store: &'s dyn Store,
    rest: Rest,
}

/// The parts that have not been returned.
enum Rest {
    /// The request for the next page.
    Page(RangeRequest),
    /// The next part, and how many values came before it.
    Stream {
        stream: Box<dyn RangeStream>,
        part: RangeResponse,
        before: i64,
    },
    Nothing,
}

impl<'s> Parts<'s> {
    /// Opens a range. A request with a limit has pages of this size, and a stream that ends there; one without is for
    /// the whole range. `streams` says whether to ask the store for a stream.
    pub(crate) async fn open(store: &'s dyn Store, request: RangeRequest, streams: bool) -> Result<Self, Error> {
        let stream = if streams { store.range_stream(request.clone()).await? } else { None };
        let rest = match stream {
            Some(mut stream) => match stream.next().await? {
                Some(part) => Rest::Stream { stream, part, before: 0 },
                None => {
                    return Err(Error::Unavailable("the stream of a range has ended without a revision".to_owned()));
                }
            },
            None => Rest::Page(RangeRequest { limit: if request.limit > 0 { request.limit } else { PAGE }, ..request }),
        };
        Ok(Self { store, rest })
    }

    /// The next part; `None` after the last. `more` says whether values follow, in the next part or after the limit.
    /// `count` is the number of values from the part's first on; in a stream, only the last part has it. The revision
    /// at which the range is read is the first one above 0.
    pub(crate) async fn next(&mut self) -> Result<Option<RangeResponse>, Error> {
        match std::mem::replace(&mut self.rest, Rest::Nothing) {
            Rest::Nothing => Ok(None),
            Rest::Page(request) => {
                let page = self.store.range(request.clone()).await?;
                if page.more
                    && let Some(last) = page.kvs.last()
                {
                    let start = [&last.key[..], b"\0"].concat().into();
                    let range = KeyRange { start, ..request.range };
                    let revision = if request.revision > 0 { request.revision } else { page.revision };
                    self.rest = Rest::Page(RangeRequest { range, revision, ..request });
                }
                Ok(Some(page))
            }
            Rest::Stream { mut stream, mut part, before } => {
                match stream.next().await? {
                    Some(following) => {
                        part.more = true;
                        let before = before + i64::try_from(part.kvs.len()).unwrap_or(i64::MAX);
                        self.rest = Rest::Stream { stream, part: following, before };
                    }
                    None => part.count -= before,
                }
                Ok(Some(part))
            }
        }
    }
}
