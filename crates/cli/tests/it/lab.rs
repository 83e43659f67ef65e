//! `coracle lab`: the folder of the lab on loopback.

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::program::{Folder, coracle};
use crate::view::{answer, serving};

const POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'";

fn sent(link: &str, method: &str, path: &str) -> String {
    let (host, root) = link.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    write!(stream, "{method} /{root}{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n").unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn the_files_of_the_lab_have_their_types_and_one_policy() {
    let folder = Folder::new("lab");
    let page = format!("<meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\"><p>the lab</p>");
    let files =
        [("index.html", page.as_str()), ("lab.wasm.gz", "\x1f module"), ("lab.wasm", "module"), ("page.js", "1")];
    for (name, text) in files {
        std::fs::write(folder.join(name), text).unwrap();
    }
    let (_running, link) = serving(coracle().args(["lab", "--address", "127.0.0.1", "--folder"]).arg(folder.path()));
    assert!(link.starts_with("http://127.0.0.1:"), "{link}");
    let types = [
        ("", "text/html"),
        ("page.js", "text/javascript"),
        ("lab.wasm", "application/wasm"),
        ("lab.wasm.gz", "application/gzip"),
    ];
    for (path, content_type) in types {
        let head = sent(&link, "HEAD", path).to_lowercase();
        assert!(head.starts_with("http/1.1 200"), "{path}: {head}");
        assert!(head.contains(&format!("content-type: {content_type}")), "{path}: {head}");
        assert!(head.contains(&format!("{}; frame-ancestors 'none'", POLICY.to_lowercase())), "{path}: {head}");
        assert!(head.contains("x-content-type-options: nosniff") && !head.contains("content-encoding"), "{head}");
        assert!(head.ends_with("\r\n\r\n"), "HEAD has no body: {head}");
        assert!(sent(&link, "GET", path).len() > head.len());
    }
    for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
        assert!(sent(&link, method, "").starts_with("HTTP/1.1 405"), "{method}");
    }
    for path in ["../index.html", "..%2f..%2fetc/passwd", "%2e%2e/index.html", "/etc/passwd", "none.js", "./page.js"] {
        assert!(sent(&link, "GET", path).starts_with("HTTP/1.1 404"), "{path}");
    }
    assert!(answer(&link, "evil.example").starts_with("HTTP/1.1 403"), "the lab has the guard of every page");
}

#[test]
fn a_folder_without_the_lab_is_refused() {
    let folder = Folder::new("no-lab");
    let refused = |path: &std::path::Path| {
        let output = coracle().args(["lab", "--folder"]).arg(path).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).unwrap()
    };
    let none = refused(&folder.join("none"));
    assert!(none.contains("there is no lab in") && none.contains("`make lab` writes one"), "{none}");
    assert!(refused(folder.path()).contains("it has no file index.html"));
    std::fs::write(folder.join("index.html"), "<p>another page</p>").unwrap();
    assert!(refused(folder.path()).contains("it has no file lab.wasm.gz"));
    std::fs::write(folder.join("lab.wasm.gz"), "module").unwrap();
    assert!(refused(folder.path()).contains("index.html is another page"));
}
