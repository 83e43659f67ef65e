//! What the API costs: `make bench-api`. One release server with TLS on loopback, driven over HTTP/2.
//!
//! ```text
//! options -> requests (create .. delete at 1, 16, 64 connections) -> lists and memory -> watches -> view -> webhooks -> rules -> a table
//! ```
//! The load tool takes its share of the machine, so the server's own CPU time stands beside each rate.
//! `--quick` takes a minute; `--only requests,lists,watches,view,webhooks,rules` leaves parts out; `--url`, `--ca`, `--token` and `--pids`
//! drive a server that runs already. Nothing here passes or fails.

mod connection;
mod lists;
mod load;
mod objects;
mod options;
mod requests;
mod rules;
mod server;
mod table;
mod view;
mod watches;
mod webhooks;

use options::Options;

fn main() {
    let options = Options::from_arguments(std::env::args().skip(1));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(measure(&options));
}

async fn measure(options: &Options) {
    table::heading();
    if options.wants("requests") {
        requests::measure(options).await;
    }
    if options.wants("lists") {
        lists::measure(options).await;
    }
    if options.wants("watches") {
        watches::measure(options).await;
    }
    if options.wants("view") {
        view::measure(options).await;
    }
    if options.wants("webhooks") {
        webhooks::measure(options).await;
    }
    if options.wants("rules") {
        rules::measure(options).await;
    }
}
