use std::pin::pin;

use futures_util::future::{Either, select};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::Instant;

use super::upstream::Upstream;

/// A task that takes the events of a watch when they come, and notes when that was. It ends with its reader.
pub(super) struct Pump<U: Upstream> {
    pub(super) orders: UnboundedSender<Order>,
    pub(super) arrivals: UnboundedReceiver<(Instant, Arrived<U::Item>)>,
}

/// A request of the reader to the upstream.
#[derive(Clone, Copy, Debug)]
pub(super) enum Order {
    Last,
    /// The progress, under this number.
    Progress(u64),
}

/// What arrived.
pub(super) enum Arrived<T> {
    Event(T),
    Progress(u64, Option<String>),
}

impl<U: Upstream> Pump<U> {
    pub(super) fn start(upstream: U) -> Self {
        let ((orders, ordered), (arrived, arrivals)) = (unbounded_channel(), unbounded_channel());
        tokio::spawn(run(upstream, ordered, arrived));
        Self { orders, arrivals }
    }
}

async fn run<U: Upstream>(
    mut upstream: U,
    mut orders: UnboundedReceiver<Order>,
    arrived: UnboundedSender<(Instant, Arrived<U::Item>)>,
) {
    loop {
        let next = match select(pin!(orders.recv()), pin!(upstream.next())).await {
            Either::Left((order, _)) => Either::Left(order),
            Either::Right((event, _)) => Either::Right(event),
        };
        let what = match next {
            Either::Left(Some(Order::Last)) => {
                upstream.last();
                continue;
            }
            Either::Left(Some(Order::Progress(number))) => Arrived::Progress(number, upstream.progress().await),
            Either::Right(Some(event)) => Arrived::Event(event),
            Either::Left(None) | Either::Right(None) => return,
        };
        if arrived.send((Instant::now(), what)).is_err() {
            return;
        }
    }
}
