use std::io::{Read, Write};
use std::net::TcpStream;

use crate::connection::Target;
use crate::objects::Kind;
use crate::options::Options;
use crate::server::Server;
use crate::{load, table};

const CONNECTIONS: usize = 16;
/// Clusters of each sort, one after the other and in turn, so that what the machine does besides strikes both.
const PAIRS: usize = 3;

/// What the page takes from a cluster: config maps created in one without it, and in one whose page is served and followed, with all
/// that this wants: the event log, and objects in it.
pub(crate) async fn measure(options: &Options) {
    let (mut without, mut with) = (0.0, 0.0);
    for pair in 0..PAIRS {
        without += creates(options, pair, Server::up(&[])).await;
        let mut viewed = Server::up(&["--view"]);
        follow(&viewed.page());
        with += creates(options, pair, viewed).await;
    }
    let lost = (1.0 - with / without) * 100.0;
    table::fact("creates lost to a page that is followed", &format!("{lost:.1} %"), "at most 5 % is wanted");
}

async fn creates(options: &Options, pair: usize, server: Server) -> f64 {
    Target::of(&server.running).connect().await.make_namespace().await;
    let kind = Kind::ConfigMap;
    let (outcome, _) = load::measured(
        &server,
        CONNECTIONS,
        options.round(),
        |_| u64::MAX,
        async move |connection, worker, number| {
            connection.post(&kind.collection(), kind.object(&format!("v{worker}-{number}"))).await;
        },
    )
    .await;
    let title = format!("create a config map, `up`, {CONNECTIONS} connections ({})", pair + 1);
    table::row(&title, &outcome, "");
    outcome.rate()
}

/// Reads the events of a page until its server ends, as a browser does, beside the load.
fn follow(link: &str) {
    let (host, path) = link.trim_start_matches("http://").split_once('/').expect("a link has a path");
    let mut stream = TcpStream::connect(host).expect("the page is served");
    let request = format!("GET /{path}events HTTP/1.1\r\nhost: {host}\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("it takes a request");
    #[expect(
        clippy::disallowed_methods,
        reason = "a browser is another program, and takes no time of who makes the load"
    )]
    std::thread::spawn(move || {
        let mut read = vec![0; 1 << 16];
        while stream.read(&mut read).is_ok_and(|length| length > 0) {}
    });
}
