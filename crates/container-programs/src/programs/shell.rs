use std::sync::Arc;
use std::time::Duration;

use coracle_ambient::{TimeShift, Timestamp};

use super::syntax::{Command, CommandList, When, Word, WordPart, parse};
use super::transcript::{MOST_LINES, OutputLine};
use super::{SHELLS, Stop, Transcript, World, base_name, find};
use crate::process_arguments::Variables;

/// How many commands a script runs at most before it counts as endless.
const MOST_COMMANDS: usize = 20_000;
/// The size of a script's variables and output at most, in bytes.
const MOST_BYTES: usize = 1024 * 1024;
/// How deeply scripts may call each other.
const DEEPEST: usize = 20;

/// A shell that runs a script. Only `sleep` takes time.
pub struct Shell<'w> {
    pub(super) world: &'w World,
    pub(super) variables: Variables,
    began: Timestamp,
    passed: Duration,
    lines: Vec<OutputLine>,
    /// The line of output that is not complete yet.
    rest: String,
    /// The output of command substitutions, innermost last.
    captured: Vec<String>,
    commands: usize,
    bytes: usize,
    depth: usize,
    ends_at_failure: bool,
    code: i32,
}

impl<'w> Shell<'w> {
    /// A shell that starts at `now`.
    pub fn new(world: &'w World, now: Timestamp) -> Self {
        Self {
            world,
            variables: world.environment.clone(),
            began: now,
            passed: Duration::ZERO,
            lines: Vec::new(),
            rest: String::new(),
            captured: Vec::new(),
            commands: 0,
            bytes: 0,
            depth: 0,
            ends_at_failure: false,
            code: 0,
        }
    }

    pub(super) fn now(&self) -> Timestamp {
        self.began.later(self.passed)
    }

    /// Lets time pass.
    pub(super) fn pass(&mut self, time: Duration) {
        self.passed = self.passed.saturating_add(time);
    }

    pub(super) fn print(&mut self, text: &str) {
        self.bytes = self.bytes.saturating_add(text.len());
        if let Some(captured) = self.captured.last_mut() {
            captured.push_str(text);
            return;
        }
        let mut pieces = text.split('\n');
        self.rest.push_str(pieces.next().unwrap_or_default());
        for piece in pieces {
            let text = std::mem::replace(&mut self.rest, piece.to_owned());
            self.lines.push(OutputLine { after: self.passed, text, is_error: false, is_open: false });
        }
    }

    /// Counts work that prints nothing as this many bytes of output.
    pub(super) fn spend(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// Prints a line; returns the exit code of success.
    pub(super) fn say(&mut self, line: &str) -> i32 {
        self.print(line);
        self.print("\n");
        0
    }

    /// Prints a line to standard error.
    pub(super) fn complain(&mut self, line: &str) {
        self.bytes = self.bytes.saturating_add(line.len());
        self.lines.push(OutputLine { after: self.passed, text: line.to_owned(), is_error: true, is_open: false });
    }

    pub(super) fn finish(mut self, stop: &Stop) -> Transcript {
        let lines = self.take_lines();
        Transcript::new(lines, self.passed, stop)
    }

    /// The output since the last call.
    fn take_lines(&mut self) -> Vec<OutputLine> {
        if !self.rest.is_empty() {
            let text = std::mem::take(&mut self.rest);
            self.lines.push(OutputLine { after: self.passed, text, is_error: false, is_open: true });
        }
        let mut lines = std::mem::take(&mut self.lines);
        lines.truncate(MOST_LINES);
        lines
    }

    /// Runs a line that a user typed; returns its output, and why the shell ends if it does. Times count from the start
    /// of the shell.
    pub fn typed(&mut self, line: &str) -> (Vec<OutputLine>, Option<Stop>) {
        (self.commands, self.bytes) = (0, 0);
        let outcome = match parse(line) {
            Ok(list) => self.list(&list),
            Err(why) => {
                self.complain(&format!("sh: {why}"));
                Ok(2)
            }
        };
        (self.take_lines(), outcome.err())
    }

    /// The exit code of the last command.
    pub fn code(&self) -> i32 {
        self.code
    }

    /// Runs a command line that was not parsed by a shell.
    pub(super) fn execute(&mut self, words: &[String]) -> Result<i32, Stop> {
        let Some((first, arguments)) = words.split_first() else { return Ok(0) };
        let name = base_name(first);
        if SHELLS.contains(&name) {
            return self.nested(name, arguments);
        }
        match find(name) {
            Some(program) => program(self, arguments),
            None => Err(Stop::Forever),
        }
    }

    /// `sh -c SCRIPT`, or `sh` with a closed standard input.
    fn nested(&mut self, name: &str, arguments: &[String]) -> Result<i32, Stop> {
        let is_flag = |word: &&String| word.starts_with('-') && word.len() > 1;
        let flags: Vec<&String> = arguments.iter().take_while(is_flag).collect();
        let has = |sign: char| flags.iter().any(|flag| !flag.starts_with("--") && flag.contains(sign));
        let script = match (has('c'), arguments.get(flags.len())) {
            (true, Some(script)) => script,
            (false, None) => return Ok(0),
            _ => {
                self.complain(&format!("{name}: only -c SCRIPT is known to this shell"));
                return Ok(2);
            }
        };
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(Stop::Forever);
        }
        let before = std::mem::replace(&mut self.ends_at_failure, has('e'));
        let outcome = match parse(script) {
            Ok(list) => self.list(&list),
            Err(why) => {
                self.complain(&format!("sh: cannot run this script: {why}"));
                Ok(2)
            }
        };
        self.depth -= 1;
        self.ends_at_failure = before;
        match outcome {
            Err(Stop::Exit(code)) if self.depth > 0 => Ok(code),
            outcome => outcome,
        }
    }

    fn list(&mut self, list: &CommandList) -> Result<i32, Stop> {
        let mut code = 0;
        for (at, (when, command)) in list.iter().enumerate() {
            let is_run = match when {
                When::Always => true,
                When::IfWell => code == 0,
                When::IfBad => code != 0,
            };
            if !is_run {
                continue;
            }
            code = self.command(command)?;
            self.code = code;
            let decides = list.get(at + 1).is_some_and(|(next, _)| *next != When::Always);
            if code != 0 && self.ends_at_failure && !decides && !matches!(command, Command::Not(_)) {
                return Err(Stop::Exit(code));
            }
        }
        Ok(code)
    }

    /// Runs a list as a condition: `set -e` does not apply to it.
    fn condition(&mut self, list: &CommandList) -> Result<bool, Stop> {
        let before = std::mem::replace(&mut self.ends_at_failure, false);
        let code = self.list(list);
        self.ends_at_failure = before;
        code.map(|code| code == 0)
    }

    fn command(&mut self, command: &Command) -> Result<i32, Stop> {
        self.commands += 1;
        if self.commands > MOST_COMMANDS || self.bytes > MOST_BYTES || self.lines.len() > MOST_LINES {
            return Err(Stop::Forever);
        }
        match command {
            Command::Simple { assignments, words } => self.simple(assignments, words),
            Command::Not(command) => Ok(i32::from(self.command(command)? == 0)),
            Command::Loop { until, condition, body } => {
                let mut code = 0;
                while self.condition(condition)? != *until {
                    self.commands += 1;
                    code = self.list(body)?;
                    if self.commands > MOST_COMMANDS {
                        return Err(Stop::Forever);
                    }
                }
                Ok(code)
            }
            Command::If { branches, otherwise } => {
                for (condition, body) in branches {
                    if self.condition(condition)? {
                        return self.list(body);
                    }
                }
                self.list(otherwise)
            }
            Command::For { variable, words, body } => {
                let mut code = 0;
                for value in self.words(words)? {
                    self.variables.insert(variable.clone(), value.into());
                    code = self.list(body)?;
                }
                Ok(code)
            }
        }
    }

    fn simple(&mut self, assignments: &[(String, Word)], words: &[Word]) -> Result<i32, Stop> {
        let mut assigned = Vec::new();
        for (name, word) in assignments {
            assigned.push((name.clone(), Arc::<str>::from(self.word(word)?.concat())));
        }
        let words = self.words(words)?;
        let before = self.variables.clone();
        self.bytes = self.bytes.saturating_add(assigned.iter().map(|(_, value)| value.len()).sum());
        for (name, value) in assigned {
            self.variables.insert(name, value);
        }
        let Some((first, arguments)) = words.split_first() else { return Ok(0) };
        if let Some(code) = self.builtin(first, arguments)? {
            return Ok(code);
        }
        let code = self.execute(&words);
        // Assignments before a command apply to that command only.
        self.variables = before;
        code
    }

    /// The commands that are built into the shell.
    fn builtin(&mut self, name: &str, arguments: &[String]) -> Result<Option<i32>, Stop> {
        let first = arguments.first().map(String::as_str);
        match name {
            "exit" => Err(Stop::Exit(first.and_then(|code| code.parse().ok()).unwrap_or(self.code) & 255)),
            ":" | "cd" | "trap" | "ulimit" | "umask" => Ok(Some(0)),
            "exec" => match self.execute(arguments) {
                Ok(code) => Err(Stop::Exit(code)),
                Err(stop) => Err(stop),
            },
            "wait" => Ok(Some(0)),
            "set" => {
                let has = |flag: &str| arguments.iter().any(|word| word.starts_with(flag) && word.contains('e'));
                self.ends_at_failure = has("-") || self.ends_at_failure && !has("+");
                Ok(Some(0))
            }
            "export" => {
                for word in arguments {
                    if let Some((name, value)) = word.split_once('=') {
                        self.variables.insert(name.to_owned(), value.into());
                    }
                }
                Ok(Some(0))
            }
            _ => Ok(None),
        }
    }

    fn words(&mut self, words: &[Word]) -> Result<Vec<String>, Stop> {
        let mut all = Vec::new();
        for word in words {
            all.extend(self.word(word)?);
        }
        Ok(all)
    }

    /// Expands a word; unquoted variables are split into several words.
    fn word(&mut self, word: &Word) -> Result<Vec<String>, Stop> {
        let mut words: Vec<String> = Vec::new();
        let mut current: Option<String> = word.is_quoted.then(String::new);
        for part in &word.parts {
            let (text, is_whole) = match part {
                WordPart::Text(text) => (text.clone(), true),
                WordPart::Arithmetic(text) => (self.arithmetic(text)?, true),
                WordPart::Variable { name, otherwise, is_quoted } => {
                    let value = match name.as_str() {
                        "?" => self.code.to_string(),
                        name => self.variables.get(name).map(|value| value.to_string()).unwrap_or_default(),
                    };
                    (if value.is_empty() { otherwise.clone() } else { value }, *is_quoted || word.is_quoted)
                }
                WordPart::Output { script, is_quoted } => (self.output(script)?, *is_quoted || word.is_quoted),
            };
            self.bytes = self.bytes.saturating_add(text.len());
            if self.bytes > MOST_BYTES {
                return Err(Stop::Forever);
            }
            if is_whole {
                current.get_or_insert_default().push_str(&text);
                continue;
            }
            let mut pieces = text.split_whitespace();
            if let Some(first) = pieces.next() {
                current.get_or_insert_default().push_str(first);
            }
            for piece in pieces {
                words.extend(current.replace(piece.to_owned()));
            }
        }
        words.extend(current);
        // An unquoted word that expands to nothing is dropped.
        if !word.is_quoted && words.len() == 1 && words[0].is_empty() {
            words.clear();
        }
        Ok(words)
    }

    fn output(&mut self, script: &CommandList) -> Result<String, Stop> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(Stop::Forever);
        }
        self.captured.push(String::new());
        let outcome = self.list(script);
        let text = self.captured.pop().unwrap_or_default();
        self.depth -= 1;
        match outcome {
            Ok(_) | Err(Stop::Exit(_)) => Ok(text.trim_end_matches('\n').to_owned()),
            Err(Stop::Forever) => Err(Stop::Forever),
        }
    }

    /// Evaluates sums and products of integers by precedence, from left to right.
    fn arithmetic(&mut self, text: &str) -> Result<String, Stop> {
        let mut terms = Terms { signs: text.chars().filter(|sign| !sign.is_whitespace()).collect(), at: 0 };
        match terms.sum(&self.variables, 0) {
            Some(value) if terms.at == terms.signs.len() => Ok(value.to_string()),
            _ => {
                self.complain(&format!("sh: arithmetic syntax error: {text}"));
                Err(Stop::Exit(2))
            }
        }
    }
}

struct Terms {
    signs: Vec<char>,
    at: usize,
}

impl Terms {
    fn take(&mut self, signs: &[char]) -> Option<char> {
        let sign = self.signs.get(self.at).copied().filter(|sign| signs.contains(sign))?;
        self.at += 1;
        Some(sign)
    }

    fn sum(&mut self, variables: &Variables, depth: usize) -> Option<i64> {
        let mut value = self.product(variables, depth)?;
        while let Some(sign) = self.take(&['+', '-']) {
            let other = self.product(variables, depth)?;
            value = if sign == '+' { value.checked_add(other)? } else { value.checked_sub(other)? };
        }
        Some(value)
    }

    fn product(&mut self, variables: &Variables, depth: usize) -> Option<i64> {
        let mut value = self.factor(variables, depth)?;
        while let Some(sign) = self.take(&['*', '/', '%']) {
            let other = self.factor(variables, depth)?;
            value = match sign {
                '*' => value.checked_mul(other)?,
                '/' => value.checked_div(other)?,
                _ => value.checked_rem(other)?,
            };
        }
        Some(value)
    }

    fn factor(&mut self, variables: &Variables, depth: usize) -> Option<i64> {
        if depth > DEEPEST {
            return None;
        }
        if self.take(&['(']).is_some() {
            let value = self.sum(variables, depth + 1)?;
            self.take(&[')'])?;
            return Some(value);
        }
        if self.take(&['-']).is_some() {
            return self.factor(variables, depth + 1)?.checked_neg();
        }
        self.take(&['$']);
        let rest = self.signs[self.at..].iter();
        let word: String = rest.take_while(|sign| sign.is_ascii_alphanumeric() || **sign == '_').collect();
        self.at += word.len();
        match word.parse() {
            Ok(number) => Some(number),
            Err(_) if word.is_empty() || word.starts_with(|sign: char| sign.is_ascii_digit()) => None,
            Err(_) => match variables.get(&word) {
                Some(value) => value.trim().parse().ok(),
                None => Some(0),
            },
        }
    }
}
