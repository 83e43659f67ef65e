//! Regular expressions as programs over characters: a class is one instruction, however many characters it has. Each
//! character of the text passes each instruction at most once. In Kubernetes: the machine of Go's `regexp`.

use std::sync::Arc;

use regex_syntax::hir::{Class, Hir, HirKind, Look, Repetition};

/// The maximum weight of a compiled expression. In Go: `maxSize` of `regexp/syntax`, which accepts more.
pub(super) const LARGEST_PROGRAM: u64 = 500_000;
/// The maximum number of executed instructions for one match.
const MOST_STEPS: usize = 50_000_000;

/// The number of instructions of an expression plus the number of ranges of its classes, with expanded repetitions.
pub(super) fn weight(hir: &Hir) -> u64 {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => 1,
        HirKind::Literal(literal) => literal.0.len() as u64,
        HirKind::Class(Class::Unicode(class)) => 1 + class.ranges().len() as u64,
        HirKind::Class(Class::Bytes(class)) => 1 + class.ranges().len() as u64,
        HirKind::Capture(capture) => weight(&capture.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => {
            parts.iter().fold(0_u64, |sum, part| sum.saturating_add(2).saturating_add(weight(part)))
        }
        HirKind::Repetition(repetition) => {
            let count = repetition.max.unwrap_or(repetition.min).max(1);
            weight(&repetition.sub).saturating_add(2).saturating_mul(u64::from(count) + 1)
        }
    }
}

/// A compiled expression.
#[derive(Debug)]
pub(super) struct Program(Vec<Instruction>);

#[derive(Clone, Debug)]
enum Instruction {
    Sign(char),
    Class(Arc<[(char, char)]>),
    Look(Look),
    /// Continues at both places.
    Split(usize, usize),
    Jump(usize),
    Match,
}

impl Program {
    /// # Errors
    /// If the expression matches bytes that are not text.
    pub(super) fn new(hir: &Hir) -> Result<Self, String> {
        let mut program = Vec::new();
        add(hir, &mut program)?;
        program.push(Instruction::Match);
        Ok(Self(program))
    }

    /// Whether the text has a match anywhere.
    ///
    /// # Errors
    /// If that takes too many steps.
    pub(super) fn is_match(&self, text: &str) -> Result<bool, String> {
        let mut run = Run { program: &self.0, steps: 0, stack: Vec::new() };
        let (mut here, mut next) = (Places::new(self.0.len()), Places::new(self.0.len()));
        let mut before = None;
        let mut signs = text.chars();
        loop {
            let sign = signs.next();
            if run.follow(0, before, sign, &mut here)? {
                return Ok(true);
            }
            let Some(sign) = sign else { return Ok(false) };
            let after = signs.clone().next();
            for at in here.list.drain(..) {
                if run.takes(at, sign) && run.follow(at + 1, Some(sign), after, &mut next)? {
                    return Ok(true);
                }
            }
            here.seen.fill(0);
            run.steps += here.seen.len();
            std::mem::swap(&mut here, &mut next);
            before = Some(sign);
        }
    }
}

fn add(hir: &Hir, program: &mut Vec<Instruction>) -> Result<(), String> {
    let no_text = || "invalid UTF-8".to_owned();
    match hir.kind() {
        HirKind::Empty => {}
        HirKind::Literal(literal) => {
            let text = std::str::from_utf8(&literal.0).map_err(|_| no_text())?;
            program.extend(text.chars().map(Instruction::Sign));
        }
        HirKind::Class(class) => {
            let ranges: Arc<[(char, char)]> = match class {
                Class::Unicode(class) => class.ranges().iter().map(|range| (range.start(), range.end())).collect(),
                Class::Bytes(class) if class.is_ascii() => {
                    class.ranges().iter().map(|range| (range.start().into(), range.end().into())).collect()
                }
                Class::Bytes(_) => return Err(no_text()),
            };
            program.push(Instruction::Class(ranges));
        }
        HirKind::Look(look) => program.push(Instruction::Look(*look)),
        HirKind::Capture(capture) => add(&capture.sub, program)?,
        HirKind::Concat(parts) => parts.iter().try_for_each(|part| add(part, program))?,
        HirKind::Alternation(parts) => add_alternation(parts, program)?,
        HirKind::Repetition(repetition) => add_repetition(repetition, program)?,
    }
    Ok(())
}

fn add_alternation(parts: &[Hir], program: &mut Vec<Instruction>) -> Result<(), String> {
    let mut ends = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        if at + 1 == parts.len() {
            add(part, program)?;
            break;
        }
        let split = program.len();
        program.push(Instruction::Match);
        add(part, program)?;
        ends.push(program.len());
        program.push(Instruction::Match);
        program[split] = Instruction::Split(split + 1, program.len());
    }
    let end = program.len();
    ends.into_iter().for_each(|jump| program[jump] = Instruction::Jump(end));
    Ok(())
}

fn add_repetition(repetition: &Repetition, program: &mut Vec<Instruction>) -> Result<(), String> {
    let mut one = Vec::new();
    add(&repetition.sub, &mut one)?;
    for _ in 0..repetition.min {
        add_moved(&one, program);
    }
    match repetition.max {
        None => {
            let split = program.len();
            program.push(Instruction::Match);
            add_moved(&one, program);
            program.push(Instruction::Jump(split));
            program[split] = Instruction::Split(split + 1, program.len());
        }
        Some(most) => {
            let first = program.len();
            let count = most.saturating_sub(repetition.min) as usize;
            let end = first + count * (one.len() + 1);
            for _ in 0..count {
                program.push(Instruction::Split(program.len() + 1, end));
                add_moved(&one, program);
            }
        }
    }
    Ok(())
}

/// Appends a part with its jump targets moved to its position.
fn add_moved(part: &[Instruction], program: &mut Vec<Instruction>) {
    let by = program.len();
    program.extend(part.iter().map(|instruction| match instruction {
        Instruction::Split(one, other) => Instruction::Split(one + by, other + by),
        Instruction::Jump(to) => Instruction::Jump(to + by),
        other => other.clone(),
    }));
}

/// The instructions that wait for a character, each once.
struct Places {
    list: Vec<usize>,
    /// A bit for each instruction that was reached.
    seen: Vec<u64>,
}

impl Places {
    fn new(count: usize) -> Self {
        Self { list: Vec::new(), seen: vec![0; count.div_ceil(64)] }
    }

    fn is_new(&mut self, at: usize) -> bool {
        let (word, bit) = (&mut self.seen[at / 64], 1 << (at % 64));
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }
}

struct Run<'p> {
    program: &'p [Instruction],
    steps: usize,
    stack: Vec<usize>,
}

impl Run<'_> {
    /// Follows an instruction between two characters to the instructions that wait for a character; returns whether the
    /// match is complete.
    fn follow(
        &mut self,
        at: usize,
        before: Option<char>,
        after: Option<char>,
        to: &mut Places,
    ) -> Result<bool, String> {
        self.stack.clear();
        self.stack.push(at);
        while let Some(at) = self.stack.pop() {
            self.steps += 1;
            if !to.is_new(at) {
                continue;
            }
            match &self.program[at] {
                Instruction::Match => return Ok(true),
                Instruction::Sign(_) | Instruction::Class(_) => to.list.push(at),
                Instruction::Split(one, other) => self.stack.extend([*other, *one]),
                Instruction::Jump(next) => self.stack.push(*next),
                Instruction::Look(look) => {
                    if holds(*look, before, after) {
                        self.stack.push(at + 1);
                    }
                }
            }
        }
        if self.steps > MOST_STEPS { Err("a match takes too many steps".to_owned()) } else { Ok(false) }
    }

    fn takes(&mut self, at: usize, sign: char) -> bool {
        self.steps += 1;
        match &self.program[at] {
            Instruction::Sign(own) => *own == sign,
            Instruction::Class(ranges) => {
                let after = ranges.partition_point(|(_, last)| *last < sign);
                ranges.get(after).is_some_and(|(first, _)| *first <= sign)
            }
            _ => false,
        }
    }
}

fn holds(look: Look, before: Option<char>, after: Option<char>) -> bool {
    let is_ascii_word = |sign: Option<char>| sign.is_some_and(|sign| sign.is_ascii_alphanumeric() || sign == '_');
    let is_word = |sign: Option<char>| sign.is_some_and(regex_syntax::is_word_character);
    match look {
        Look::Start => before.is_none(),
        Look::End => after.is_none(),
        Look::StartLF => before.is_none_or(|sign| sign == '\n'),
        Look::EndLF => after.is_none_or(|sign| sign == '\n'),
        Look::WordAscii => is_ascii_word(before) != is_ascii_word(after),
        Look::WordAsciiNegate => is_ascii_word(before) == is_ascii_word(after),
        Look::WordUnicode => is_word(before) != is_word(after),
        Look::WordUnicodeNegate => is_word(before) == is_word(after),
        // Go has no other assertions, and no pattern is translated to them.
        _ => false,
    }
}
