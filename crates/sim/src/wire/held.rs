use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Arc;

use coracle_meta::{Status, parse_resource_version};
use futures_util::future::{Either, select};
use tokio::time::{Instant, sleep_until};

use super::line::Line;
use super::pump::{Arrived, Order, Pump};
use super::rules::{Arrival, Delivery, WatchEnding};
use super::upstream::Upstream;
use super::watermark::{Mark, Watermark};

/// The events of a watch, each delivered when the rules say so, in order.
pub(super) struct Held<U: Upstream> {
    line: Line,
    source: Source<U>,
    /// Those that have arrived.
    queue: VecDeque<(Arrival, U::Item)>,
    /// What was delivered.
    delivered: Watermark,
    /// How often the progress was asked for.
    asked: u64,
    /// What makes the event that reports an error.
    error: fn(Status) -> U::Item,
}

/// What overtakes an event that is held.
enum Ahead<T> {
    /// This bookmark.
    Bookmark(T),
    /// A bookmark at this instant.
    At(Instant),
    /// What has not arrived: a bookmark or the end of the watch.
    Awaited,
    /// The end of the watch.
    End,
    Nothing,
}

enum Source<U: Upstream> {
    /// Read when the reader reads.
    Direct(U),
    Pumped(Pump<U>),
    Ended,
}

impl<U: Upstream> Source<U> {
    /// Waits for what arrives next, and when that was; `None` at the end. Cancel-safe.
    async fn next(&mut self) -> Option<(Instant, Arrived<U::Item>)> {
        match self {
            Self::Direct(upstream) => upstream.next().await.map(|item| (Instant::now(), Arrived::Event(item))),
            Self::Pumped(pump) => pump.arrivals.recv().await,
            Self::Ended => None,
        }
    }
}

impl<U: Upstream> Held<U> {
    pub(super) fn new(line: Line, upstream: U) -> Self {
        let (error, delivered) = (upstream.errors(), Watermark::of(&line.watch));
        Self { line, source: Source::Direct(upstream), queue: VecDeque::new(), delivered, asked: 0, error }
    }

    /// Waits for the next event; `None` at the end. Cancel-safe.
    pub(super) async fn next(&mut self) -> Option<U::Item> {
        let state = Arc::clone(&self.line.state);
        loop {
            self.line.reader_lives().await;
            // Created before the rules are read, so that no change is missed.
            let changed = pin!(state.changed.notified());
            if let Some(ending) = self.line.ending() {
                return self.end(ending);
            }
            self.take_arrivals();
            if let Some(arrival) = self.queue.front().map(|(arrival, _)| *arrival) {
                let delivery = self.line.delivery(arrival);
                if let Delivery::At(due) = delivery
                    && due <= Instant::now()
                {
                    self.delivered.pass(arrival.mark, arrival.revision);
                    return self.queue.pop_front().map(|(_, item)| item);
                }
                self.line.report_held(arrival);
                match delivery {
                    Delivery::At(due) => {
                        select(pin!(sleep_until(due)), changed).await;
                    }
                    Delivery::NotYet => match self.ahead(arrival) {
                        Ahead::Bookmark(bookmark) => return Some(bookmark),
                        Ahead::At(due) => {
                            select(pin!(sleep_until(due)), changed).await;
                        }
                        Ahead::Awaited => {
                            self.arrival_or(changed).await;
                        }
                        Ahead::End => self.queue.clear(),
                        Ahead::Nothing => changed.await,
                    },
                }
                continue;
            }
            if self.line.holds() {
                self.pump();
            }
            if matches!(self.source, Source::Ended) {
                return None;
            }
            self.arrival_or(changed).await;
        }
    }

    /// Takes what arrives next, unless the rules change before.
    async fn arrival_or(&mut self, changed: impl Future<Output = ()>) {
        let news = match select(pin!(self.source.next()), pin!(changed)).await {
            Either::Left((news, _)) => news,
            Either::Right(_) => return,
        };
        match news {
            Some((at, arrived)) => self.take(at, arrived),
            None => self.source = Source::Ended,
        }
    }

    /// What overtakes the first event, which is held: a bookmark, if the event would be delivered if it were one, or the
    /// end of the watch.
    fn ahead(&mut self, first: Arrival) -> Ahead<U::Item> {
        if self.line.may_end() {
            if matches!(self.source, Source::Ended) {
                return Ahead::End;
            }
            self.pump();
        }
        match self.bookmark_ahead(first) {
            Ahead::Nothing if self.line.may_end() => Ahead::Awaited,
            ahead => ahead,
        }
    }

    fn bookmark_ahead(&mut self, first: Arrival) -> Ahead<U::Item> {
        let passes = Arrival { mark: Mark::Bookmark, ..first };
        if !matches!(self.line.delivery(passes), Delivery::At(due) if due <= Instant::now()) {
            return Ahead::Nothing;
        }
        // While its reader gets the objects that exist, no bookmark is true.
        let Some(revision) = self.delivered.revision() else { return Ahead::Nothing };
        let Some(place) = self.queue.iter().position(|(arrival, _)| arrival.mark == Mark::Bookmark) else {
            return if matches!(self.source, Source::Ended) { Ahead::Nothing } else { Ahead::Awaited };
        };
        match self.line.delivery(self.queue[place].0) {
            Delivery::At(due) if due > Instant::now() => Ahead::At(due),
            Delivery::At(_) => match self.queue.remove(place) {
                Some((_, item)) => Ahead::Bookmark(U::bookmark_at(item, revision)),
                None => Ahead::Nothing,
            },
            Delivery::NotYet => Ahead::Nothing,
        }
    }

    /// See `Events::last`.
    pub(super) fn last(&mut self) {
        match &mut self.source {
            Source::Direct(upstream) => upstream.last(),
            // A pump whose upstream has ended needs no order.
            Source::Pumped(pump) => drop(pump.orders.send(Order::Last)),
            Source::Ended => {}
        }
    }

    /// The version up to which all events were delivered; `None` while there are more. The answer of the server waits
    /// like an event. Cancel-safe.
    pub(super) async fn progress(&mut self) -> Option<String> {
        self.line.reader_lives().await;
        self.take_arrivals();
        if !self.queue.is_empty() {
            return None;
        }
        if self.line.holds() {
            self.pump();
        }
        let (at, version) = match &mut self.source {
            Source::Direct(upstream) => {
                let version = upstream.progress().await;
                self.line.reader_lives().await;
                return version;
            }
            Source::Pumped(_) => self.pumped_progress().await?,
            Source::Ended => return None,
        };
        let arrival = Arrival { at, revision: parse_resource_version(&version), mark: Mark::Unknown };
        self.line.until_delivered(arrival).await.then_some(version)
    }

    /// The progress of a pump, and when it was known; `None` if an event came first.
    async fn pumped_progress(&mut self) -> Option<(Instant, String)> {
        let Source::Pumped(pump) = &mut self.source else { return None };
        self.asked += 1;
        pump.orders.send(Order::Progress(self.asked)).ok()?;
        loop {
            match pump.arrivals.recv().await? {
                (at, Arrived::Progress(number, version)) if number == self.asked => return Some((at, version?)),
                // The answer to a call that was cancelled.
                (_, Arrived::Progress(..)) => {}
                (at, Arrived::Event(item)) => {
                    self.note(at, item);
                    return None;
                }
            }
        }
    }

    /// From now on, events are taken when they come.
    fn pump(&mut self) {
        self.source = match std::mem::replace(&mut self.source, Source::Ended) {
            Source::Direct(upstream) => Source::Pumped(Pump::start(upstream)),
            other => other,
        };
    }

    fn take_arrivals(&mut self) {
        while let Source::Pumped(pump) = &mut self.source
            && let Ok((at, arrived)) = pump.arrivals.try_recv()
        {
            self.take(at, arrived);
        }
    }

    fn take(&mut self, at: Instant, arrived: Arrived<U::Item>) {
        match arrived {
            Arrived::Event(item) => self.note(at, item),
            // The answer to a call that was cancelled.
            Arrived::Progress(..) => {}
        }
    }

    fn note(&mut self, at: Instant, item: U::Item) {
        let (mark, revision) = U::mark(&item);
        self.queue.push_back((Arrival { at, revision, mark }, item));
    }

    /// Ends the watch; what it holds is lost.
    fn end(&mut self, ending: WatchEnding) -> Option<U::Item> {
        self.queue.clear();
        let has_ended = matches!(std::mem::replace(&mut self.source, Source::Ended), Source::Ended);
        if !has_ended {
            self.line.report_ended();
        }
        match ending {
            WatchEnding::Gone if !has_ended => Some((self.error)(Status::expired("too old resource version"))),
            WatchEnding::Gone | WatchEnding::Closed => None,
        }
    }
}
