use std::fmt::Display;

use bytes::Bytes;
use coracle_journal::{EntryId, Events};
use coracle_viewer::{Columns, Format};
use futures_util::stream::{self, Stream};
use http_body::Frame;

use crate::generation::GenerationLog;
use crate::{Error, with_plural_kind};

/// The answer where the server keeps no event log.
const OFF: Error = Error::Unavailable("the event log is off: start the server with --events FILE or --view");

impl GenerationLog {
    fn is_on(&self) -> Result<(), Error> {
        if self.recorder.capacity() > 0 { Ok(()) } else { Err(OFF) }
    }

    /// The number of its first entry.
    fn first(&self) -> EntryId {
        EntryId(self.begins.0 + 1)
    }

    /// The entries that are in memory.
    pub(crate) fn events(&self) -> Result<Events, Error> {
        self.is_on()?;
        Ok(Events { header: self.header.clone(), entries: self.recorder.entries(self.first()) })
    }

    /// The chain of causes of an object, an entry or a revision.
    pub(crate) fn why(&self, about: &str) -> Result<Result<String, impl Display>, Error> {
        let events = self.events()?;
        let about = with_plural_kind(&events.entries, about);
        Ok(coracle_viewer::why(&events.entries, &about, Columns::Narrow))
    }

    /// The page of the run.
    pub(crate) fn report(&self) -> Result<String, Error> {
        Ok(coracle_viewer::report(&self.events()?, Format::Html))
    }

    /// The entries from a number on as JSON lines; if the reader follows, then also those that come.
    pub(crate) fn lines(
        &self,
        from: u64,
        follows: bool,
    ) -> Result<impl Stream<Item = Result<Frame<Bytes>, std::io::Error>> + Send + use<>, Error> {
        self.is_on()?;
        let recorder = self.recorder.clone();
        let from = EntryId(from.max(self.first().0));
        Ok(stream::unfold(from, move |from| {
            let recorder = recorder.clone();
            async move {
                loop {
                    if let Some((last, lines)) = recorder.lines(from, "") {
                        return Some((Ok(Frame::data(Bytes::from(lines))), EntryId(last.0 + 1)));
                    }
                    if !follows {
                        return None;
                    }
                    recorder.written(from).await;
                }
            }
        }))
    }
}
