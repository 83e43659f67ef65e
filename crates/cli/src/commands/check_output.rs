use anyhow::Result;
use clap::ValueEnum;
use coracle_check::{CheckReport, Error};

use crate::commands::checked_program::CheckedProgram;
use crate::exit;
use crate::output::{self, exact, note};

/// The check that fails if a cluster does not come to rest.
const NEVER_SETTLES: &str = "never-settles";
/// The check that fails if a program ends.
const PANICS: &str = "panics";

/// The format of the report of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// Lines to read
    Text,
    /// One JSON object
    Json,
    /// A JUnit test suite, with a test case for each check
    Junit,
    /// SARIF 2.1.0, with a rule for each check
    Sarif,
}

/// How a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SearchEnd {
    /// By itself.
    Done,
    /// Its time was over.
    OutOfTime,
    /// By a signal, with its exit code.
    Interrupted(u8),
}

/// What the user sees of a search.
pub(crate) struct CheckOutput<'c> {
    /// The format of the report.
    pub(crate) format: ReportFormat,
    /// Whether the smallest Role is printed, and the report to the standard error.
    pub(crate) shows_roles: bool,
    /// How the search ended.
    pub(crate) end: SearchEnd,
    /// The program that was checked.
    pub(crate) program: &'c CheckedProgram,
}

impl CheckOutput<'_> {
    /// Prints a report, and returns the exit code.
    pub(crate) fn show(&self, report: &CheckReport) -> Result<u8> {
        let text = match self.format {
            ReportFormat::Text => report.to_string(),
            ReportFormat::Json => format!("{:#}", report.json()),
            ReportFormat::Junit => report.junit(),
            ReportFormat::Sarif => format!("{:#}", report.sarif()),
        };
        if self.shows_roles {
            note!("{}", text.trim_end());
            exact!("{}", report.rbac.to_string().trim_end())?;
        } else if self.format == ReportFormat::Text {
            output::shown(&format!("{}\n", text.trim_end()))?;
        } else {
            exact!("{}", text.trim_end())?;
        }
        let has_ended = report.without_faults.iter().any(|finding| finding.check.word == PANICS);
        if has_ended {
            note!("{}", self.with_output(String::new()).trim_start());
        }
        if let Some(line) = ending(self.end, report.tried.next) {
            note!("coracle: {line}");
        }
        Ok(code(self.end, report))
    }

    /// Prints why a program could not be checked, and returns the exit code.
    pub(crate) fn explain(&self, error: Error) -> Result<u8> {
        match (error, self.end) {
            (Error::Stopped, SearchEnd::Interrupted(code)) => {
                note!("coracle: {}", Error::Stopped);
                Ok(code)
            }
            (Error::Stopped, _) => {
                note!("coracle: {}; give it more time with --budget", Error::Stopped);
                Ok(exit::NOT_IN_TIME)
            }
            (error @ (Error::Input(_) | Error::Refused { .. } | Error::Work(_) | Error::Request(_)), _) => {
                Err(exit::Usage(self.with_output(error.to_string())).into())
            }
            (error @ Error::Cluster(_), _) => Err(error.into()),
        }
    }

    /// The text with the last lines of the program's output.
    fn with_output(&self, text: String) -> String {
        let lines = self.program.last_lines();
        if lines.is_empty() {
            return text;
        }
        let reason = self.program.known_reason().map(|reason| format!("\n{reason}")).unwrap_or_default();
        format!("{text}\nthe program printed:\n  {}{reason}", lines.join("\n  "))
    }
}

/// The line about a search that did not try all plans. `next` is the number of the first plan that it did not try.
fn ending(end: SearchEnd, next: Option<usize>) -> Option<String> {
    let next = next?;
    let why = match end {
        SearchEnd::Done => "the search has tried as many plans as --budget permits",
        SearchEnd::OutOfTime => "the time of --budget is over",
        SearchEnd::Interrupted(_) => "the search was interrupted",
    };
    Some(format!("{why}; continue it with --from {next}"))
}

/// The exit code. A failed check is more important than the way in which the search ended.
fn code(end: SearchEnd, report: &CheckReport) -> u8 {
    let mut failed = report.without_faults.iter().filter(|finding| finding.check.grade.fails()).peekable();
    match end {
        _ if !report.found.is_empty() && report.fails() => exit::CHECK_FAILED,
        _ if failed.peek().is_some() && failed.all(|finding| finding.check.word == NEVER_SETTLES) => exit::NOT_IN_TIME,
        _ if report.fails() => exit::CHECK_FAILED,
        SearchEnd::Interrupted(code) => code,
        SearchEnd::Done | SearchEnd::OutOfTime => exit::PASS,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_with_plans_left_shows_where_it_continues() {
        let line = ending(SearchEnd::OutOfTime, Some(37)).unwrap();
        assert_eq!(line, "the time of --budget is over; continue it with --from 37");
        assert_eq!(ending(SearchEnd::Interrupted(130), None), None);
    }

    #[test]
    fn an_interrupted_search_without_a_finding_has_the_code_of_the_signal() {
        let report = CheckReport::default();
        assert_eq!(code(SearchEnd::Interrupted(130), &report), 130);
        assert_eq!(code(SearchEnd::Done, &report), exit::PASS);
        assert_eq!(code(SearchEnd::OutOfTime, &report), exit::PASS);
    }
}
