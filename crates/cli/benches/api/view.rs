use std::io::{Read, Write};
use std::net::TcpStream;

use crate::connection::Target;
use crate::objects::Kind;
use crate::options::Options;
use crate::server::Server;
use crate::{load, table};

const CONNECTIONS: usize = 16;
/// Clusters of each sort, in turn, so that what the machine does besides strikes all.
const ROUNDS: usize = 8;

/// What the page takes from a cluster: config maps created in one without it, in one whose page is served with all that this wants
/// (the event log, and objects in it), and in one whose page is also followed. What is lost is said of each round, and of
/// the median: machines do other things, too.
pub(crate) async fn measure(options: &Options) {
    let (mut served, mut followed) = (Vec::new(), Vec::new());
    for round in 1..=ROUNDS {
        let without = creates(options, &format!("{round}"), Server::up(&[])).await;
        let lost = |with: f64| (1.0 - with / without) * 100.0;
        served.push(lost(creates(options, &format!("{round}, page served"), Server::up(&["--view"])).await));
        let mut viewed = Server::up(&["--view"]);
        follow(&viewed.page());
        followed.push(lost(creates(options, &format!("{round}, page followed"), viewed).await));
    }
    tell("creates lost to a page that nobody looks at", served);
    tell("creates lost to a page that is followed", followed);
}

fn tell(what: &str, mut lost: Vec<f64>) {
    lost.sort_by(f64::total_cmp);
    let (least, median, most) = (lost[0], lost[lost.len() / 2], lost[lost.len() - 1]);
    table::fact(what, &format!("{median:.1} % ({least:.1} to {most:.1})"), "at most 5 % is wanted");
}

async fn creates(options: &Options, which: &str, server: Server) -> f64 {
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
    let title = format!("create a config map, `up`, {CONNECTIONS} connections ({which})");
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
