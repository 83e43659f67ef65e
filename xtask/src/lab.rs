//! `cargo xtask lab FOLDER`: writes the page of the lab into a folder that has its module.
//!
//! ```text
//! app/main.js and what it imports, of the viewer, too --> page.js, page.css and index.html, for any server of static files
//! the same, worker.js and lab.wasm.gz                 --> lab.html: all in one file, which opens from disk
//! ```

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::failure::Failure;
use crate::viewer::{crates, hash, licences, refuse_markup, script, style};

/// What a page may load from where it came from. `wasm-unsafe-eval` permits to compile WebAssembly, and nothing else.
const SERVED: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; worker-src 'self'; \
                      connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'";

/// Writes the page.
pub(crate) fn write() -> Result<(), Failure> {
    let folder = std::env::args().nth(2).ok_or("usage: cargo xtask lab FOLDER")?;
    let folder = Path::new(&folder);
    let page = Page::read()?;
    std::fs::write(folder.join("page.js"), &page.script)?;
    std::fs::write(folder.join("page.css"), &page.style)?;
    std::fs::write(folder.join("index.html"), page.served()?)?;
    let module = std::fs::read(folder.join("lab.wasm.gz")).map_err(|error| format!("lab.wasm.gz: {error}"))?;
    std::fs::write(folder.join("lab.html"), page.in_one_file(&module)?)?;
    Ok(())
}

struct Page {
    script: String,
    style: String,
    index: String,
}

impl Page {
    fn read() -> Result<Self, Failure> {
        let read = |path: &str| std::fs::read_to_string(crates().join(path));
        let own = read("lab/page/app/lab.css")?;
        let style = style(&format!("{}\n{own}", read("viewer/page/style.css")?));
        let script = script("lab/page/app/main.js")?;
        refuse_markup(&[&script, &style])?;
        Ok(Self { script, style, index: read("lab/page/app/index.html")? })
    }

    /// The page as a server of static files serves it.
    fn served(&self) -> Result<String, Failure> {
        let head = "<link rel=\"stylesheet\" href=\"page.css\">\n<script src=\"page.js\" defer></script>";
        self.filled(SERVED, head, "")
    }

    /// The page with everything in it. Its worker comes from a text of the page, because files may not start others.
    fn in_one_file(&self, module: &[u8]) -> Result<String, Failure> {
        let worker = script("lab/page/worker.js")?;
        let policy = format!(
            "default-src 'none'; script-src '{}' 'wasm-unsafe-eval'; style-src '{}'; worker-src blob:; img-src data:; \
             base-uri 'none'; form-action 'none'",
            hash(&self.script),
            hash(&self.style)
        );
        let head = format!("<style>{}</style>", self.style);
        let data = |id: &str, bytes: &[u8]| {
            format!("<script id=\"{id}\" type=\"application/octet-stream\">{}</script>\n", STANDARD.encode(bytes))
        };
        let parts =
            [data("worker", worker.as_bytes()), data("module", module), format!("<script>{}</script>", self.script)];
        self.filled(&policy, &head, &parts.concat())
    }

    fn filled(&self, policy: &str, head: &str, end: &str) -> Result<String, Failure> {
        let filled = self.index.replacen("@POLICY@", policy, 1).replacen("@HEAD@", head, 1);
        Ok(filled.replacen("@END@", end, 1).replacen("@LICENCES@", &licences()?, 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_served_page_has_no_script_and_no_style_in_it() {
        let page = Page::read().unwrap().served().unwrap();
        assert!(!page.contains("<style") && !page.contains("<script>") && !page.contains("unsafe-inline"), "{page}");
        for place in ["@POLICY@", "@HEAD@", "@END@", "@LICENCES@"] {
            assert!(!page.contains(place), "{place} is filled");
        }
    }

    #[test]
    fn the_page_in_one_file_names_no_other() {
        let page = Page::read().unwrap().in_one_file(b"module").unwrap();
        for word in [" src=", " href=\"page", "import(", "@import", "url("] {
            assert!(!page.contains(word), "{word}");
        }
        assert!(!page.contains("connect-src"), "it has nothing to load");
    }
}
