use coracle_journal::{EntryId, Events};

use crate::divergence::RunPair;
use crate::lesson::Lesson;
use crate::page::{data_of_lesson, data_of_pair, data_of_refused, pack, packed_of};

/// The page without a run, as `cargo xtask viewer` assembles it.
const PAGE: &str = include_str!("../viewer.html");

/// The element of the page that holds the run.
const PLACE: &str = "<script id=\"run\" type=\"application/octet-stream\">";

/// The page with a run in one file; `cut` says where the run's own file was truncated.
pub(crate) fn render(events: &Events, cut: Option<&str>) -> String {
    filled(&packed_of(events, cut))
}

/// The page with two runs, one on top of the other.
pub fn pair_page(both: &RunPair<'_>) -> String {
    filled(&pack(&data_of_pair(both)))
}

/// The page with a run, and why a step could not be inserted into it.
pub fn refused_page(was: &Events, at: EntryId, why: &str) -> String {
    filled(&pack(&data_of_refused(was, at, why)))
}

/// The page with a lesson in one file: its run, and the run of its contrast.
pub fn lesson_page(lesson: &Lesson, events: &Events, contrast: &Events) -> String {
    filled(&pack(&data_of_lesson(lesson, events, contrast)))
}

/// The page with the content of another page, which is packed already.
pub(crate) fn render_again(packed: &str) -> String {
    filled(packed)
}

fn filled(run: &str) -> String {
    let (before, after) = around(PAGE);
    [before, PLACE, run, after].concat()
}

/// The page of a running cluster: it fetches events from the server that it came from, and its content policy allows
/// that.
#[cfg(feature = "serve")]
pub(crate) fn live() -> String {
    let page = PAGE.replacen("content=\"default-src 'none';", "content=\"default-src 'none'; connect-src 'self';", 1);
    let (before, after) = around(&page);
    [before, &PLACE.replace("<script", "<script data-events=\"events\""), after].concat()
}

/// A page of this crate as one of a site: with a script and a style sheet of the site, with data for that script, and
/// with forms that the site answers. `root` leads from the page to the folder of both files.
///
/// # Panics
/// If the page is not one of this crate.
#[cfg(feature = "serve")]
pub fn page_of_site(page: &str, root: &str, data: &serde_json::Value) -> String {
    // Text that closes the element must not occur in it.
    let data = data.to_string().replace('<', "\\u003c");
    let parts = format!(
        "<link rel=\"stylesheet\" href=\"{root}site.css\"><script id=\"site\" type=\"application/json\">{data}</script>\
         <script src=\"{root}site.js\"></script>"
    );
    let stated = policy(page);
    let widened = stated
        .replace("form-action 'none'", "form-action 'self'")
        .replace("script-src ", "script-src 'self' ")
        .replace("style-src ", "style-src 'self' ");
    let end = page.rfind("</body>").expect("the page has a body");
    [&page[..end], &parts, &page[end..]].concat().replacen(stated, &widened, 1)
}

/// The content security policy of a page.
#[cfg(feature = "serve")]
pub(crate) fn policy(page: &str) -> &str {
    let stated = page.split_once("Content-Security-Policy\" content=\"").map(|(_, after)| after);
    stated.and_then(|after| after.split_once('"')).map(|(policy, _)| policy).expect("the page states a policy")
}

fn around(page: &str) -> (&str, &str) {
    page.split_once(PLACE).expect("the page has a place for a run")
}

/// The packed content of an earlier page; `None` if the text is not such a page.
pub(crate) fn packed_in(page: &str) -> Option<&str> {
    let (_, after) = page.split_once(PLACE)?;
    after.split_once("</script>").map(|(packed, _)| packed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;

    #[test]
    fn the_page_is_small_and_has_one_place_for_a_run() {
        assert_eq!(PAGE.matches(PLACE).count(), 1);
        let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
        gzip.write_all(PAGE.as_bytes()).unwrap();
        let (whole, compressed) = (PAGE.len(), gzip.finish().unwrap().len());
        assert!(whole <= 200_000 && compressed <= 62_000, "{whole} bytes, {compressed} compressed");
    }

    #[test]
    fn the_page_asks_for_nothing_from_anywhere() {
        for word in [" src=", "href=\"http", "fetch(", "XMLHttpRequest", "WebSocket", "@import", "url(", "import("] {
            assert!(!PAGE.contains(word), "{word}");
        }
        assert!(PAGE.contains("content=\"default-src 'none'; script-src 'sha256-"));
    }
}
