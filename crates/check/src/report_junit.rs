use std::fmt::Write;

use coracle_sim::checks::Check;
use coracle_viewer::escaped_xml;

use crate::check_report::CheckReport;

impl CheckReport {
    /// The report as a JUnit test suite, with a test case for each check.
    pub fn junit(&self) -> String {
        let problems: Vec<(&Check, Vec<String>)> =
            self.checks.iter().map(|check| (*check, self.problems(check))).collect();
        let fails = |(check, problems): &&(&Check, Vec<String>)| check.grade.fails() && !problems.is_empty();
        let (tests, failures) = (problems.len(), problems.iter().filter(fails).count());
        let totals = format!("tests=\"{tests}\" failures=\"{failures}\"");
        let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        let _ = writeln!(text, "<testsuites {totals}>\n  <testsuite name=\"coracle check\" {totals}>");
        for (check, problems) in &problems {
            case(&mut text, check, problems);
        }
        text.push_str("  </testsuite>\n</testsuites>\n");
        text
    }

    /// What a check found, as texts.
    fn problems(&self, check: &Check) -> Vec<String> {
        let without = self.without_faults.iter().filter(|finding| finding.check.word == check.word);
        let without = without.map(|finding| format!("{}, without a fault", finding.violation.what));
        let found = self.found.iter().filter(|found| found.finding.check.word == check.word);
        without.chain(found.map(ToString::to_string)).collect()
    }
}

fn case(text: &mut String, check: &Check, problems: &[String]) {
    let _ = write!(text, "    <testcase classname=\"coracle.check\" name=\"{}\"", escaped_xml(check.word));
    let Some(first) = problems.first() else { return text.push_str("/>\n") };
    let body = escaped_xml(problems.join("\n").trim_end());
    let (kind, message) = (check.grade.word(), escaped_xml(first.lines().next().unwrap_or_default()));
    let _ = if check.grade.fails() {
        writeln!(text, ">\n      <failure type=\"{kind}\" message=\"{message}\">{body}</failure>")
    } else {
        writeln!(text, ">\n      <system-out>{body}</system-out>")
    };
    text.push_str("    </testcase>\n");
}
