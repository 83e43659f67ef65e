//! A pseudo terminal, on which a program runs, and the screen that it shows.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use unicode_width::UnicodeWidthStr;

/// A terminal with a width. Programs on it see only the variables of the environment that are set here.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terminal {
    pub(crate) columns: u16,
    pub(crate) has_colour: bool,
    pub(crate) is_utf8: bool,
}

/// What a program left on a terminal.
#[derive(Debug)]
pub(crate) struct Shown {
    /// The exit code.
    pub(crate) code: Option<i32>,
    /// All that the program wrote.
    pub(crate) written: String,
    /// The lines on the screen at the end, with their colours.
    pub(crate) screen: String,
    /// The widest line that was on the screen at any time, without colours.
    pub(crate) widest: String,
}

impl Terminal {
    /// Runs a program on the terminal to its end. Whenever it waits after a text of `prompts`, it gets an empty line.
    pub(crate) fn run(self, mut command: Command, prompts: &[&str]) -> Shown {
        let (master, slave) = self.open();
        let again = || slave.try_clone().unwrap();
        command.stdin(again()).stdout(again()).stderr(again());
        self.end_of(command, master, slave, prompts)
    }

    /// Runs a program to its end whose standard error alone is the terminal.
    pub(crate) fn run_errors(self, mut command: Command) -> Shown {
        let (master, slave) = self.open();
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(slave.try_clone().unwrap());
        self.end_of(command, master, slave, &[])
    }

    /// Both ends of a new pseudo terminal: the one of the person, and the one of the program.
    fn open(self) -> (OwnedFd, OwnedFd) {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let slave = rustix::fs::open(&name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty()).unwrap();
        let size = Winsize { ws_row: 50, ws_col: self.columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&slave, size).unwrap();
        (master, slave)
    }

    fn end_of(self, mut command: Command, master: OwnedFd, slave: OwnedFd, prompts: &[&str]) -> Shown {
        self.set_environment(&mut command);
        let mut child = command.spawn().unwrap();
        // The terminal ends when no process has it open.
        drop((command, slave));
        let written = read(File::from(master), prompts);
        let mut screen = Screen::default();
        screen.write(&written);
        Shown { code: child.wait().unwrap().code(), written, screen: screen.text(), widest: screen.widest }
    }

    fn set_environment(self, command: &mut Command) {
        for name in ["COLUMNS", "CLICOLOR_FORCE", "NO_COLOR", "LC_CTYPE", "LANG"] {
            command.env_remove(name);
        }
        command.env("TERM", "xterm").env("LC_ALL", if self.is_utf8 { "C.UTF-8" } else { "C" });
        if !self.has_colour {
            command.env("NO_COLOR", "1");
        }
    }
}

/// All that is written to a terminal.
fn read(mut master: File, prompts: &[&str]) -> String {
    let (mut written, mut answered, mut part) = (Vec::new(), 0, [0; 4096]);
    // The end of the last process with the terminal is an error of the system.
    while let Ok(length @ 1..) = master.read(&mut part) {
        written.extend_from_slice(&part[..length]);
        let new = String::from_utf8_lossy(&written[answered..]);
        if prompts.iter().any(|prompt| new.ends_with(prompt)) {
            answered = written.len();
            master.write_all(b"\n").unwrap();
        }
    }
    String::from_utf8(written).unwrap()
}

/// The lines of a terminal. It knows the sequences that the program uses, and refuses others.
#[derive(Default)]
struct Screen {
    lines: Vec<String>,
    line: usize,
    widest: String,
}

impl Screen {
    fn write(&mut self, text: &str) {
        let mut rest = text;
        while let Some(letter) = rest.chars().next() {
            rest = &rest[letter.len_utf8()..];
            match letter {
                '\n' => self.line += 1,
                '\r' => {
                    let redraws = rest.starts_with('\n') || rest.starts_with("\x1b[2K") || rest.starts_with('\r');
                    assert!(redraws, "text is written over text: {rest:?}");
                }
                '\x1b' => rest = self.obey(rest),
                letter => {
                    assert!(!letter.is_control(), "{letter:?} is not for a screen");
                    self.now().push(letter);
                }
            }
            self.measure();
        }
    }

    /// Obeys a sequence after its escape character, and returns the text after it.
    fn obey<'t>(&mut self, text: &'t str) -> &'t str {
        let end = text.find(|letter: char| letter.is_ascii_alphabetic()).expect("a sequence ends");
        let (sequence, rest) = text.split_at(end + 1);
        match sequence {
            "[1A" => self.line = self.line.checked_sub(1).expect("the first line is the top"),
            "[2K" => self.now().clear(),
            _ if sequence.ends_with('m') => {
                let sequence = format!("\x1b{sequence}");
                self.now().push_str(&sequence);
            }
            _ => panic!("the escape sequence {sequence:?}"),
        }
        rest
    }

    fn now(&mut self) -> &mut String {
        if self.lines.len() <= self.line {
            self.lines.resize(self.line + 1, String::new());
        }
        &mut self.lines[self.line]
    }

    fn measure(&mut self) {
        let line = without_colours(self.now());
        if line.width() > self.widest.width() {
            self.widest = line;
        }
    }

    fn text(&self) -> String {
        let text: String = self.lines.iter().flat_map(|line| [line.trim_end(), "\n"]).collect();
        format!("{}\n", text.trim_end())
    }
}

/// A text without the sequences of colours.
pub(crate) fn without_colours(text: &str) -> String {
    let mut parts = text.split("\x1b[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once('m').expect("a colour").1)
}
