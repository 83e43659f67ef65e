use std::io::{BufRead, IsTerminal};
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;
use coracle_lesson::file::Spec;
use coracle_lesson::{Error, Lesson, Taught, lessons, read, teach};
use coracle_viewer::{Caption, LessonAnswer, sentence};

use super::diff::check_page;
use super::learn_in_browser::InBrowser;
use crate::colours::Weight;
use crate::exit;
use crate::output::{self, note, out};
use crate::progress::Progress;
use crate::yaml_files::is_yaml;

/// Shows how the control plane works, by runs.
#[derive(Debug, Args)]
pub(crate) struct Learn {
    /// The lesson: a name, a number or a lesson file; without it, serve all lessons to a browser, or print their list if
    /// the output is not a terminal
    lesson: Option<String>,
    /// Print the list of lessons
    #[arg(long, conflicts_with_all = ["lesson", "report"])]
    list: bool,
    #[command(flatten)]
    browser: InBrowser,
    /// Write a page with the lesson and its runs to this file; its name must end with .html
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Print everything without questions and pauses
    #[arg(long)]
    plain: bool,
}

impl Learn {
    pub(crate) fn run(self) -> Result<u8> {
        self.report.as_deref().map(check_page).transpose()?;
        let Some(wanted) = &self.lesson else {
            if self.report.is_some() {
                return Err(exit::Usage("--report needs a lesson".to_owned()).into());
            }
            let is_seen = std::io::stdout().is_terminal() && !self.plain;
            if self.browser.is_wanted() || (is_seen && !self.list) {
                return self.browser.serve(None);
            }
            list()?;
            return Ok(exit::PASS);
        };
        let (lesson, path) = match Path::new(wanted) {
            path if is_yaml(path) => match read::read(path) {
                Ok(lesson) => (lesson, path.to_owned()),
                Err(problem) => {
                    note!("{problem}");
                    return Ok(exit::USAGE);
                }
            },
            _ => match built_in(wanted) {
                Ok(found) => found,
                Err(nearest) => {
                    note!("coracle: there is no lesson `{wanted}`; {nearest}");
                    return Ok(exit::NOTHING_MATCHED);
                }
            },
        };
        if self.browser.is_wanted() {
            if path == Path::new(wanted) {
                return Err(exit::Usage("only lessons that are built in are served".to_owned()).into());
            }
            return self.browser.serve(Some(&lesson.metadata.name));
        }
        let asks = !self.plain && std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
        let mut pace = if asks { Pace::ByLine } else { Pace::Straight };
        // The question comes first, because the runs take a moment.
        ask(&lesson.spec, &mut pace)?;
        let taught = match taught(&lesson, &path) {
            Ok(taught) => taught,
            Err(Error::Cluster(error)) => return Err(error.into()),
            Err(untrue) => {
                note!("{untrue}");
                return Ok(exit::CHECK_FAILED);
            }
        };
        if let Some(path) = &self.report {
            taught.write(path)?;
        }
        tell(&taught, &mut pace)?;
        match &self.report {
            Some(path) => out!("\nThe page: {}", path.display())?,
            None => out!("\nOn a page, with every event behind it: coracle learn {wanted} --report lesson.html")?,
        }
        show_next(&lesson)?;
        Ok(exit::PASS)
    }
}

/// The lesson with its runs.
fn taught(lesson: &Lesson, path: &Path) -> Result<Taught, Error> {
    let _running = Progress::of(format!("running the lesson {}", lesson.metadata.name));
    teach(lesson, path)
}

/// Names the lesson that follows, if there is one.
fn show_next(lesson: &Lesson) -> Result<()> {
    let next = lesson.spec.number + 1;
    if lessons().iter().any(|lesson| lesson.spec.number == next) {
        out!("Next: coracle learn {next}")?;
    }
    Ok(())
}

fn list() -> Result<()> {
    let lessons = lessons();
    for lesson in &lessons {
        out!("{:>3}  {:<26}  {}", lesson.spec.number, lesson.metadata.name, lesson.spec.title)?;
    }
    out!("\nNext: coracle learn 1")?;
    Ok(())
}

/// The lesson with a name or a number, or a message with the closest name.
fn built_in(wanted: &str) -> Result<(Lesson, PathBuf), String> {
    let mut all = lessons();
    let is_it = |lesson: &Lesson| lesson.metadata.name == wanted || lesson.spec.number.to_string() == wanted;
    let begins = |lesson: &Lesson| lesson.metadata.name.starts_with(wanted);
    let mut beginning = all.iter().enumerate().filter(|(_, lesson)| begins(lesson)).map(|(place, _)| place);
    // A name may be shortened as long as one lesson has it.
    let short = beginning.next().filter(|_| beginning.next().is_none() && !wanted.is_empty());
    if let Some(place) = all.iter().position(is_it).or(short) {
        let lesson = all.swap_remove(place);
        let path = PathBuf::from(format!("lessons/{}.yaml", lesson.metadata.name));
        return Ok((lesson, path));
    }
    let names: Vec<&str> = all.iter().map(|lesson| lesson.metadata.name.as_str()).collect();
    Err(match wanted.parse::<u32>() {
        Ok(number) => {
            let near = all.iter().map(|lesson| lesson.spec.number).min_by_key(|own| own.abs_diff(number)).unwrap_or(1);
            format!("the nearest is {near}")
        }
        Err(_) => hint(wanted, &names),
    })
}

/// What to write instead of a name that does not exist.
pub(super) fn hint(wanted: &str, names: &[&str]) -> String {
    match coracle_scenario::parse::nearest(wanted, names.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("there are {}", names.join(", ")),
    }
}

/// How a lesson is presented.
enum Pace {
    /// Interactively: the user guesses, and confirms each caption.
    ByLine,
    /// Without interaction.
    Straight,
}

impl Pace {
    /// The user's answer; `None` at the end of the input.
    fn ask(&mut self, prompt: &str) -> Result<Option<String>> {
        output::text(prompt)?;
        output::flush()?;
        let mut line = String::new();
        if std::io::stdin().lock().read_line(&mut line)? == 0 {
            *self = Self::Straight;
            out!("")?;
            return Ok(None);
        }
        Ok(Some(line.trim().to_owned()))
    }

    fn wait(&mut self) -> Result<()> {
        if matches!(self, Self::ByLine) {
            self.ask("  (enter to go on) ")?;
        }
        Ok(())
    }
}

/// The question, the user's guess, and the right answer.
fn ask(spec: &Spec, pace: &mut Pace) -> Result<()> {
    output::prose(Weight::Bold, &format!("{}. ", spec.number), 0, &spec.title)?;
    output::prose(Weight::Usual, "", 0, &format!("\n{}\n", spec.question.trim()))?;
    let answers = &spec.answers.value;
    for (place, answer) in answers.iter().enumerate() {
        output::prose(Weight::Usual, &format!("{}. ", LessonAnswer::letter(place)), 3, &answer.text)?;
    }
    out!("")?;
    let guess = guess(pace, answers.len())?;
    for (place, answer) in answers.iter().enumerate() {
        let mark = match (answer.right, guess == Some(place)) {
            (true, true) => "Right: ",
            (true, false) => "It is ",
            (false, true) => "It is not ",
            (false, false) => continue,
        };
        output::prose(Weight::Usual, mark, 3, &format!("{}. {}", LessonAnswer::letter(place), answer.why))?;
    }
    Ok(())
}

/// The captions of the run, and the contrast.
fn tell(taught: &Taught, pace: &mut Pace) -> Result<()> {
    let lesson = &taught.lesson;
    out!("")?;
    output::prose(Weight::Bold, "", 0, "What happened, in a run of just now (each sentence was checked on its log):")?;
    out!("")?;
    captions(&lesson.captions, &taught.events.entries, pace)?;
    out!("")?;
    output::prose(Weight::Bold, "", 0, &format!("The contrast: {}.", lesson.contrast.title))?;
    out!("")?;
    for refuted in &lesson.contrast.refuted {
        output::prose(Weight::Usual, "not so here: ", 4, &refuted.text)?;
        output::prose(Weight::Usual, "    here: ", 4, &refuted.instead)?;
    }
    out!("")?;
    captions(&lesson.contrast.captions, &taught.contrast.entries, pace)?;
    if !lesson.note.is_empty() {
        output::prose(Weight::Usual, "", 0, &format!("\n{}", lesson.note.trim()))?;
    }
    Ok(())
}

/// The user's guess, if any.
fn guess(pace: &mut Pace, answers: usize) -> Result<Option<usize>> {
    let last = LessonAnswer::letter(answers - 1);
    while matches!(pace, Pace::ByLine) {
        let Some(line) = pace.ask(&format!("Your guess (a to {last}, or enter to see): "))? else { break };
        out!("")?;
        if line.is_empty() {
            break;
        }
        match (0..answers).find(|place| line.to_lowercase() == LessonAnswer::letter(*place).to_string()) {
            Some(guess) => return Ok(Some(guess)),
            None => out!("`{line}` is not one of a to {last}.")?,
        }
    }
    Ok(None)
}

fn captions(captions: &[Caption], entries: &[coracle_journal::Entry], pace: &mut Pace) -> Result<()> {
    for (number, caption) in (1..).zip(captions) {
        output::prose(Weight::Usual, &format!("{number:>3}  "), 5, &caption.text)?;
        let place = entries.binary_search_by_key(&caption.entry, |entry| entry.id);
        if let Ok(entry) = place.map(|place| &entries[place]) {
            let at = entry.at.as_secs_f64();
            let what = format!("#{} at {at:.4} s, {}: {}", entry.id.0, entry.actor, sentence(entry));
            output::prose(Weight::Faint, "     ", 7, &what)?;
        }
        if number < captions.len() {
            pace.wait()?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_lesson_gets_the_closest_name() {
        assert_eq!(built_in("99").map(drop), Err(format!("the nearest is {}", lessons().len())));
        assert_eq!(built_in("who-owns-this-feld").map(drop), Err("did you mean `who-owns-this-field`?".to_owned()));
        assert!(built_in("x").unwrap_err().starts_with("there are a-pod-is-deleted, "));
        assert_eq!(built_in("1").unwrap().0.metadata.name, "a-pod-is-deleted");
    }
}
