use coracle_journal::{EntryId, Events};

use crate::lesson::Lesson;
use crate::page::{data_of_both, data_of_lesson, data_of_refused, pack, packed_of};
use crate::parting::Both;

/// The page without a run, as `cargo xtask viewer` joined it.
const PAGE: &str = include_str!("../viewer.html");

/// Where the run lies in it.
const PLACE: &str = "<script id=\"run\" type=\"application/octet-stream\">";

/// The page and the run in one file; `cut` says where the run's own file ends too early.
pub(crate) fn render(events: &Events, cut: Option<&str>) -> String {
    filled(&packed_of(events, cut))
}

/// The page and two runs over each other.
pub(crate) fn render_both(both: &Both<'_>) -> String {
    filled(&pack(&data_of_both(both)))
}

/// The page and a run, and what was said against a step that was to be put into it.
pub(crate) fn render_refused(was: &Events, at: EntryId, why: &str) -> String {
    filled(&pack(&data_of_refused(was, at, why)))
}

/// The page and a lesson in one file: its run, and that of its contrast.
pub fn lesson_page(lesson: &Lesson, events: &Events, contrast: &Events) -> String {
    filled(&pack(&data_of_lesson(lesson, events, contrast)))
}

/// The page and all that another page holds, packed as it lies there.
pub(crate) fn render_again(packed: &str) -> String {
    filled(packed)
}

fn filled(run: &str) -> String {
    let (before, after) = around(PAGE);
    [before, PLACE, run, after].concat()
}

/// The page of a cluster that runs: it asks for events where it came from, and its policy lets it.
#[cfg(feature = "serve")]
pub(crate) fn live() -> String {
    let page = PAGE.replacen("content=\"default-src 'none';", "content=\"default-src 'none'; connect-src 'self';", 1);
    let (before, after) = around(&page);
    [before, &PLACE.replace("<script", "<script data-events=\"events\""), after].concat()
}

/// The content policy that a page states.
#[cfg(feature = "serve")]
pub(crate) fn policy(page: &str) -> &str {
    let stated = page.split_once("Content-Security-Policy\" content=\"").map(|(_, after)| after);
    stated.and_then(|after| after.split_once('"')).map(|(policy, _)| policy).expect("the page states a policy")
}

fn around(page: &str) -> (&str, &str) {
    page.split_once(PLACE).expect("the page has a place for a run")
}

/// What lies in the place for a run of a page that somebody wrote earlier; `None` if it has no such place.
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
        assert!(whole <= 150_000 && compressed <= 50_000, "{whole} bytes, {compressed} compressed");
    }

    #[test]
    fn the_page_asks_for_nothing_from_anywhere() {
        for word in [" src=", "href=\"http", "fetch(", "XMLHttpRequest", "WebSocket", "@import", "url(", "import("] {
            assert!(!PAGE.contains(word), "{word}");
        }
        assert!(PAGE.contains("content=\"default-src 'none'; script-src 'sha256-"));
    }
}
