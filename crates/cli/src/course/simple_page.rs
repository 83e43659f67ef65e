use coracle_viewer::escaped_xml;

/// A page with a heading and paragraphs.
pub(super) fn simple_page(title: &str, paragraphs: &[&str]) -> String {
    let body: String = paragraphs.iter().map(|text| format!("<p>{}</p>\n", escaped_xml(text))).collect();
    page_of("../", title, &format!("<h1>{}</h1>\n{body}<p><a href=\"../\">All lessons</a></p>\n", escaped_xml(title)))
}

/// A page of the site with this body. Its scripts and styles are those of the site. `root` leads to their folder.
pub(super) fn page_of(root: &str, title: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'self'; \
         style-src 'self'; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>{} · Coracle</title>\n<link rel=\"stylesheet\" href=\"{root}site.css\">\n</head>\n\
         <body class=\"list\">\n<main>\n{body}</main>\n</body>\n</html>\n",
        escaped_xml(title)
    )
}
