use std::fmt::Write;

use coracle_lesson::Lesson;
use coracle_viewer::escaped_xml;

use super::simple_page::page_of;

/// The list of lessons. The script of the site adds the progress that the browser has stored.
pub(super) fn page(lessons: &[Lesson]) -> String {
    let mut body = String::from(
        "<h1>How a control plane works</h1>\n\
         <p class=\"lead\">Each lesson asks a question, runs a cluster, and shows what happened and why. Afterwards you \
         can change the run. Progress is stored in this browser only.</p>\n\
         <p id=\"progress\" role=\"status\"></p>\n<ol class=\"lessons\">\n",
    );
    for lesson in lessons {
        let (name, spec) = (&lesson.metadata.name, &lesson.spec);
        let _ = writeln!(
            body,
            "<li data-lesson=\"{name}\"><span class=\"number\">{}</span> <a href=\"lesson/{name}\">{}</a> <span class=\"minutes\">{} min</span> \
             <span class=\"state\"></span>\n<p>{}</p></li>",
            spec.number,
            marked(&spec.title),
            lesson.minutes(),
            marked(spec.question.trim()),
            name = escaped_xml(name),
        );
    }
    body.push_str(
        "</ol>\n<script id=\"site\" type=\"application/json\">{\"kind\":\"list\"}</script>\n<script src=\"site.js\"></script>\n",
    );
    page_of("", "Lessons", &body)
}

/// A text in which what stands between backquotes is code.
fn marked(text: &str) -> String {
    let part = |(place, part): (usize, &str)| match place % 2 {
        0 => escaped_xml(part).to_string(),
        _ => format!("<code>{}</code>", escaped_xml(part)),
    };
    text.split('`').enumerate().map(part).collect()
}

#[cfg(test)]
mod tests {
    use coracle_lesson::lessons;

    use super::*;

    #[test]
    fn the_list_links_every_lesson_with_its_question_and_its_duration() {
        let all = lessons();
        let page = page(&all);
        for lesson in &all {
            assert!(
                page.contains(&format!("<a href=\"lesson/{}\">", lesson.metadata.name)),
                "{}",
                lesson.metadata.name
            );
            assert!((3..=20).contains(&lesson.minutes()), "{}: {}", lesson.metadata.name, lesson.minutes());
        }
        assert_eq!(page.matches(" min</span>").count(), all.len());
        assert!(page.contains(&marked(all[0].spec.question.trim())));
    }

    #[test]
    fn text_of_a_lesson_is_never_markup() {
        assert_eq!(marked("a `<b>` & c"), "a <code>&lt;b&gt;</code> &amp; c");
    }
}
