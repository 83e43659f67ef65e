//! Compiles the expressions of a lesson.

use std::collections::BTreeSet;
use std::sync::Arc;

use coracle_expression::{Environment, Error, Expression};
use coracle_journal::Stage;
use coracle_scenario::parse::unknown_word;
use coracle_yaml::{Location, Spanned};

use crate::environment::{ENTRIES, ENTRY, environment, with_entry, with_value};
use crate::file::{Caption, Named, Pattern, Refutation, Spec};
use crate::text::{TextPart, parts};

/// An error and its location.
pub(crate) type Wrong = (Location, String);

/// Both runs of a lesson.
pub(crate) struct Plan<'l> {
    pub(crate) captions: Vec<Planned<'l>>,
    /// The values of the run, which captions of the contrast may use, too.
    pub(crate) values: Vec<PlannedValue>,
    pub(crate) contrast: Vec<Planned<'l>>,
    pub(crate) contrast_values: Vec<PlannedValue>,
    pub(crate) refutations: Vec<PlannedRefutation<'l>>,
}

/// A refuted caption, and what is true instead.
pub(crate) struct PlannedRefutation<'l> {
    pub(crate) refutation: &'l Refutation,
    pub(crate) instead: Vec<TextPart>,
}

/// A caption with its compiled expressions.
pub(crate) struct Planned<'l> {
    pub(crate) caption: &'l Caption,
    pub(crate) condition: Option<Expression>,
    pub(crate) text: Vec<TextPart>,
    pub(crate) claim: Expression,
}

/// A value with its compiled expression.
pub(crate) struct PlannedValue {
    pub(crate) name: String,
    pub(crate) expression: Arc<Result<Expression, Error>>,
}

impl<'l> Plan<'l> {
    /// Compiles the expressions of a lesson.
    pub(crate) fn of(spec: &'l Spec) -> Result<Self, Wrong> {
        let compares = spec.contrast.kubernetes.is_some();
        let mut names = Names { environment: environment(), compares, ..Names::default() };
        let conditions = names.captions(&spec.captions.value)?;
        let values = names.values(&spec.values)?;
        let captions = names.planned(&spec.captions.value, conditions)?;
        let conditions = names.captions(&spec.contrast.captions.value)?;
        let contrast_values = names.values(&spec.contrast.values)?;
        let contrast = names.planned(&spec.contrast.captions.value, conditions)?;
        let known: Vec<&str> = spec.captions.value.iter().map(|caption| caption.name.value.as_str()).collect();
        let places = spec.answers.value.iter().filter_map(|answer| answer.place.as_ref()?.at.as_ref());
        for at in places {
            known_word(at, &known, "caption")?;
        }
        let refutation = |refutation: &'l Refutation| {
            known_word(&refutation.caption, &known, "caption")?;
            let instead = text(&refutation.instead, &names.environment)?;
            Ok(PlannedRefutation { refutation, instead })
        };
        let refutations = spec.contrast.refutes.value.iter().map(refutation).collect::<Result<_, Wrong>>()?;
        Ok(Self { captions, values, contrast, contrast_values, refutations })
    }
}

#[derive(Default)]
struct Names {
    /// The environment with all names so far.
    environment: Environment,
    taken: BTreeSet<String>,
    /// The names of captions.
    captions: Vec<String>,
    /// Whether the contrast is the run in another release.
    compares: bool,
}

impl Names {
    /// Adds the names of captions; returns the compiled conditions of their patterns.
    fn captions(&mut self, captions: &[Caption]) -> Result<Vec<Option<Expression>>, Wrong> {
        let mut conditions = Vec::new();
        for caption in captions {
            conditions.push(self.pattern(&caption.at)?);
            self.take(&caption.name)?;
            self.environment = with_entry(self.environment.clone(), &caption.name.value);
            self.captions.push(caption.name.value.clone());
        }
        Ok(conditions)
    }

    fn values(&mut self, values: &[Named]) -> Result<Vec<PlannedValue>, Wrong> {
        let mut made = Vec::new();
        for value in values {
            let expression = compiled(&value.cel, &self.environment)?;
            self.take(&value.name)?;
            self.environment = with_value(self.environment.clone(), &value.name.value);
            made.push(PlannedValue { name: value.name.value.clone(), expression: Arc::new(Ok(expression)) });
        }
        Ok(made)
    }

    fn planned<'l>(
        &self,
        captions: &'l [Caption],
        conditions: Vec<Option<Expression>>,
    ) -> Result<Vec<Planned<'l>>, Wrong> {
        let plan = |(caption, condition): (&'l Caption, _)| {
            let text = text(&caption.text, &self.environment)?;
            Ok(Planned { caption, condition, text, claim: compiled(&caption.claim, &self.environment)? })
        };
        captions.iter().zip(conditions).map(plan).collect()
    }

    fn pattern(&self, pattern: &Pattern) -> Result<Option<Expression>, Wrong> {
        let stages: Vec<&str> = Stage::ALL.iter().map(|stage| stage.word()).collect();
        known_word(&pattern.stage, &stages, "stage")?;
        let above: Vec<&str> = self.captions.iter().map(String::as_str).collect();
        for name in [&pattern.after, &pattern.before, &pattern.caused_by].into_iter().flatten() {
            known_word(name, &above, "caption above")?;
        }
        if let Some(nth) = pattern.nth.as_ref().filter(|nth| nth.value == 0) {
            return Err((nth.location, "`nth` counts from 1, or from the end with -1".to_owned()));
        }
        if let Some(differs) = pattern.differs.as_ref().filter(|_| !self.compares) {
            let why = "`differs` needs a contrast with `kubernetes`: other runs are not compared";
            return Err((differs.location, why.to_owned()));
        }
        let environment = with_entry(self.environment.clone(), ENTRY);
        pattern.condition.as_ref().map(|condition| compiled(condition, &environment)).transpose()
    }

    fn take(&mut self, name: &Spanned<String>) -> Result<(), Wrong> {
        let word = &name.value;
        let is_name = word.starts_with(|first: char| first.is_ascii_alphabetic())
            && word.chars().all(|sign| sign.is_ascii_alphanumeric() || sign == '_');
        let problem = |why: &str| Err((name.location, format!("`{word}` {why}")));
        if !is_name {
            return problem("is not a name for expressions: a letter, then letters, digits and `_`");
        }
        if [ENTRIES, ENTRY].contains(&word.as_str()) || Expression::compile(&format!("{word} == 1")).is_err() {
            return problem("is a word that expressions have already");
        }
        if !self.taken.insert(word.clone()) {
            return problem("is the name of something above");
        }
        Ok(())
    }
}

fn text(text: &Spanned<String>, environment: &Environment) -> Result<Vec<TextPart>, Wrong> {
    parts(&text.value, environment).map_err(|why| at(text, &why))
}

fn compiled(text: &Spanned<String>, environment: &Environment) -> Result<Expression, Wrong> {
    Expression::compile_in(&text.value, environment).map_err(|why| at(text, &format!("bad expression: {why}")))
}

fn at(text: &Spanned<String>, why: &str) -> Wrong {
    (text.location, why.to_owned())
}

/// Rejects a word that is not valid.
pub(crate) fn known_word(found: &Spanned<String>, valid: &[&str], what: &str) -> Result<(), Wrong> {
    unknown_word(&found.value, valid, what).map_or(Ok(()), |why| Err((found.location, why)))
}
