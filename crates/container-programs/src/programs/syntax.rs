//! The parser of shell scripts.
//!
//! ```text
//! LIST    = AND-OR { (";" | newline) AND-OR }
//! AND-OR  = COMMAND { ("&&" | "||") COMMAND }
//! COMMAND = ["!"] (while | until | if | for | {NAME=WORD} {WORD})
//! ```
//! In Kubernetes: the shell of the image. This is the part of the POSIX grammar that runs commands sequentially.

/// How deeply commands may be nested.
const DEEPEST: usize = 40;

/// Commands, each with the condition on the command before it.
pub(super) type CommandList = Vec<(When, Command)>;

/// When a command is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum When {
    Always,
    IfWell,
    IfBad,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Command {
    Simple {
        assignments: Vec<(String, Word)>,
        words: Vec<Word>,
    },
    Not(Box<Command>),
    /// Runs the second list while the first one succeeds, or fails.
    Loop {
        until: bool,
        condition: CommandList,
        body: CommandList,
    },
    If {
        branches: Vec<(CommandList, CommandList)>,
        otherwise: CommandList,
    },
    For {
        variable: String,
        words: Vec<Word>,
        body: CommandList,
    },
}

/// The parts of a word, and whether any of them was quoted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) parts: Vec<WordPart>,
    pub(super) is_quoted: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum WordPart {
    Text(String),
    /// A variable; unquoted ones are split into words.
    Variable {
        name: String,
        otherwise: String,
        is_quoted: bool,
    },
    /// The output of a script.
    Output {
        script: CommandList,
        is_quoted: bool,
    },
    Arithmetic(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Word(Word),
    Sign(&'static str),
}

/// Parses a script; the error is the message of the shell.
pub(super) fn parse(script: &str) -> Result<CommandList, String> {
    parse_within(script, 0)
}

fn parse_within(script: &str, depth: usize) -> Result<CommandList, String> {
    if depth > DEEPEST {
        return Err("too deep".to_owned());
    }
    let mut parser = Parser { tokens: tokens(script, depth)?, at: 0, depth };
    let list = parser.list(&[])?;
    match parser.peek() {
        None => Ok(list),
        Some(token) => Err(format!("unexpected {}", shown(token))),
    }
}

fn shown(token: &Token) -> String {
    match token {
        Token::Sign(sign) => format!("{sign:?}"),
        Token::Word(word) => format!("{:?}", plain(word).unwrap_or("word")),
    }
}

/// A word that is one unquoted text.
fn plain(word: &Word) -> Option<&str> {
    match word.parts.as_slice() {
        [WordPart::Text(text)] if !word.is_quoted => Some(text),
        _ => None,
    }
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
}

impl Parser {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn is_word(&self, wanted: &str) -> bool {
        matches!(self.peek(), Some(Token::Word(word)) if plain(word) == Some(wanted))
    }

    fn expect(&mut self, wanted: &str) -> Result<(), String> {
        if self.is_word(wanted) {
            self.at += 1;
            return Ok(());
        }
        let found = self.peek().map_or_else(|| "the end".to_owned(), shown);
        Err(format!("{wanted:?} expected, {found} found"))
    }

    fn skip(&mut self) {
        while matches!(self.peek(), Some(Token::Sign(";" | "\n"))) {
            self.at += 1;
        }
    }

    /// Commands until one of these words, or the end.
    fn list(&mut self, ends: &[&str]) -> Result<CommandList, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err("too deep".to_owned());
        }
        let mut list = CommandList::new();
        let mut when = When::Always;
        loop {
            if when == When::Always {
                self.skip();
            } else {
                while matches!(self.peek(), Some(Token::Sign("\n"))) {
                    self.at += 1;
                }
            }
            let is_end = self.peek().is_none() || ends.iter().any(|end| self.is_word(end));
            if is_end && when == When::Always {
                break;
            }
            let command = self.command()?;
            list.push((when, command));
            when = match self.peek() {
                Some(Token::Sign("&&")) => When::IfWell,
                Some(Token::Sign("||")) => When::IfBad,
                Some(Token::Sign(";" | "\n")) => When::Always,
                Some(Token::Sign(sign)) => return Err(format!("{sign:?} is beyond this shell")),
                Some(Token::Word(_)) => continue,
                None => break,
            };
            self.at += 1;
        }
        self.depth -= 1;
        Ok(list)
    }

    fn command(&mut self) -> Result<Command, String> {
        let Some(Token::Word(word)) = self.peek() else {
            let found = self.peek().map_or_else(|| "the end".to_owned(), shown);
            return Err(format!("a command expected, {found} found"));
        };
        match plain(word) {
            Some("!") => {
                self.at += 1;
                self.depth += 1;
                if self.depth > DEEPEST {
                    return Err("too deep".to_owned());
                }
                let command = self.command()?;
                self.depth -= 1;
                Ok(Command::Not(Box::new(command)))
            }
            Some("while") => self.loops(false),
            Some("until") => self.loops(true),
            Some("if") => self.branches(),
            Some("for") => self.for_each(),
            Some(word @ ("do" | "done" | "then" | "else" | "elif" | "fi" | "case" | "{" | "}")) => {
                Err(format!("unexpected {word:?}"))
            }
            _ => self.simple(),
        }
    }

    fn loops(&mut self, until: bool) -> Result<Command, String> {
        self.at += 1;
        let condition = self.list(&["do"])?;
        self.expect("do")?;
        let body = self.list(&["done"])?;
        self.expect("done")?;
        Ok(Command::Loop { until, condition, body })
    }

    fn branches(&mut self) -> Result<Command, String> {
        let mut branches = Vec::new();
        while self.is_word("if") && branches.is_empty() || self.is_word("elif") {
            self.at += 1;
            let condition = self.list(&["then"])?;
            self.expect("then")?;
            branches.push((condition, self.list(&["elif", "else", "fi"])?));
        }
        let mut otherwise = CommandList::new();
        if self.is_word("else") {
            self.at += 1;
            otherwise = self.list(&["fi"])?;
        }
        self.expect("fi")?;
        Ok(Command::If { branches, otherwise })
    }

    fn for_each(&mut self) -> Result<Command, String> {
        self.at += 1;
        let variable = match self.peek() {
            Some(Token::Word(word)) => plain(word).filter(|name| is_name(name)).map(str::to_owned),
            _ => None,
        };
        let variable = variable.ok_or("a name expected after \"for\"")?;
        self.at += 1;
        self.expect("in")?;
        let mut words = Vec::new();
        while let Some(Token::Word(word)) = self.peek() {
            words.push(word.clone());
            self.at += 1;
        }
        self.skip();
        self.expect("do")?;
        let body = self.list(&["done"])?;
        self.expect("done")?;
        Ok(Command::For { variable, words, body })
    }

    fn simple(&mut self) -> Result<Command, String> {
        let (mut assignments, mut words) = (Vec::new(), Vec::new());
        while let Some(Token::Word(word)) = self.peek() {
            match assignment(word).filter(|_| words.is_empty()) {
                Some(assignment) => assignments.push(assignment),
                None => words.push(word.clone()),
            }
            self.at += 1;
        }
        Ok(Command::Simple { assignments, words })
    }
}

/// `NAME=WORD`.
fn assignment(word: &Word) -> Option<(String, Word)> {
    let Some(WordPart::Text(first)) = word.parts.first() else { return None };
    let (name, rest) = first.split_once('=')?;
    let mut value = Word { parts: vec![WordPart::Text(rest.to_owned())], is_quoted: true };
    value.parts.extend(word.parts[1..].iter().cloned());
    is_name(name).then(|| (name.to_owned(), value))
}

fn is_name(name: &str) -> bool {
    let is_sign = |sign: char| sign.is_ascii_alphanumeric() || sign == '_';
    !name.is_empty() && name.chars().all(is_sign) && !name.starts_with(|sign: char| sign.is_ascii_digit())
}

fn tokens(script: &str, depth: usize) -> Result<Vec<Token>, String> {
    let signs: Vec<char> = script.chars().collect();
    let mut reader = Reader { signs: &signs, at: 0, depth };
    let mut tokens = Vec::new();
    while let Some(sign) = reader.peek() {
        match sign {
            ' ' | '\t' | '\r' => reader.at += 1,
            '#' => {
                while reader.peek().is_some_and(|sign| sign != '\n') {
                    reader.at += 1
                }
            }
            '\\' if reader.signs.get(reader.at + 1) == Some(&'\n') => reader.at += 2,
            '\n' | ';' | '&' | '|' | '<' | '>' | '(' | ')' => tokens.push(Token::Sign(reader.sign()?)),
            _ => tokens.push(Token::Word(reader.word()?)),
        }
    }
    Ok(tokens)
}

struct Reader<'s> {
    signs: &'s [char],
    at: usize,
    depth: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.signs.get(self.at).copied()
    }

    fn sign(&mut self) -> Result<&'static str, String> {
        let rest = &self.signs[self.at..];
        let sign = match rest {
            ['&', '&', ..] => "&&",
            ['|', '|', ..] => "||",
            ['\n', ..] => "\n",
            [';', ..] => ";",
            [other, ..] => return Err(format!("\"{other}\" is beyond this shell")),
            [] => return Err("nothing".to_owned()),
        };
        self.at += sign.len();
        Ok(sign)
    }

    fn word(&mut self) -> Result<Word, String> {
        let mut word = Word::default();
        let mut text = String::new();
        while let Some(sign) = self.peek() {
            match sign {
                ' ' | '\t' | '\r' | '\n' | ';' | '&' | '|' | '<' | '>' | '(' | ')' => break,
                '\'' => {
                    word.is_quoted = true;
                    self.at += 1;
                    text.push_str(&self.until('\'')?);
                }
                '"' => {
                    word.is_quoted = true;
                    self.at += 1;
                    self.quoted(&mut word, &mut text)?;
                }
                '\\' => {
                    self.at += 1;
                    text.extend(self.peek());
                    self.at += 1;
                    word.is_quoted = true;
                }
                '`' => return Err("\"`\" is beyond this shell".to_owned()),
                '$' => self.dollar(&mut word, &mut text, false)?,
                _ => {
                    text.push(sign);
                    self.at += 1;
                }
            }
        }
        if !text.is_empty() || word.parts.is_empty() {
            word.parts.push(WordPart::Text(text));
        }
        Ok(word)
    }

    fn until(&mut self, end: char) -> Result<String, String> {
        let rest = &self.signs[self.at..];
        let length = rest.iter().position(|sign| *sign == end).ok_or_else(|| format!("{end} is not closed"))?;
        self.at += length + 1;
        Ok(rest[..length].iter().collect())
    }

    fn quoted(&mut self, word: &mut Word, text: &mut String) -> Result<(), String> {
        loop {
            match self.peek().ok_or("\" is not closed")? {
                '"' => {
                    self.at += 1;
                    return Ok(());
                }
                '\\' => {
                    self.at += 1;
                    let sign = self.peek().ok_or("\" is not closed")?;
                    if !matches!(sign, '"' | '\\' | '$' | '`') {
                        text.push('\\');
                    }
                    text.push(sign);
                    self.at += 1;
                }
                '`' => return Err("\"`\" is beyond this shell".to_owned()),
                '$' => self.dollar(word, text, true)?,
                sign => {
                    text.push(sign);
                    self.at += 1;
                }
            }
        }
    }

    /// The text after a dollar sign.
    fn dollar(&mut self, word: &mut Word, text: &mut String, is_quoted: bool) -> Result<(), String> {
        self.at += 1;
        let part = match &self.signs[self.at..] {
            ['(', '(', ..] => {
                self.at += 2;
                let inner = self.balanced()?;
                if self.peek() != Some(')') {
                    return Err("$(( is not closed".to_owned());
                }
                self.at += 1;
                WordPart::Arithmetic(inner)
            }
            ['(', ..] => {
                self.at += 1;
                let script = parse_within(&self.balanced()?, self.depth + 1)?;
                WordPart::Output { script, is_quoted }
            }
            ['{', ..] => {
                self.at += 1;
                let inner = self.until('}')?;
                let (name, otherwise) = inner.split_once(":-").unwrap_or((&inner, ""));
                if !is_name(name) {
                    return Err(format!("${{{inner}}} is beyond this shell"));
                }
                WordPart::Variable { name: name.to_owned(), otherwise: otherwise.to_owned(), is_quoted }
            }
            ['?', ..] => {
                self.at += 1;
                WordPart::Variable { name: "?".to_owned(), otherwise: String::new(), is_quoted }
            }
            [first, ..] if first.is_ascii_alphabetic() || *first == '_' => {
                let rest = self.signs[self.at..].iter();
                let name: String = rest.take_while(|sign| sign.is_ascii_alphanumeric() || **sign == '_').collect();
                self.at += name.len();
                WordPart::Variable { name, otherwise: String::new(), is_quoted }
            }
            _ => {
                text.push('$');
                return Ok(());
            }
        };
        if !text.is_empty() {
            word.parts.push(WordPart::Text(std::mem::take(text)));
        }
        word.parts.push(part);
        Ok(())
    }

    /// The text up to the matching bracket.
    fn balanced(&mut self) -> Result<String, String> {
        let (start, mut depth) = (self.at, 1);
        while let Some(sign) = self.peek() {
            self.at += 1;
            depth += match sign {
                '(' => 1,
                ')' => -1,
                _ => 0,
            };
            if depth == 0 {
                return Ok(self.signs[start..self.at - 1].iter().collect());
            }
        }
        Err("( is not closed".to_owned())
    }
}
