use coracle_meta::{Object, Status};

/// The result of code that decides without waiting. It runs again once the questions that it met have answers.
pub type Planned<T> = Result<T, Unplanned>;

/// Why code that decides without waiting has no result.
#[derive(Debug)]
pub enum Unplanned {
    /// The request is refused.
    Refused(Status),
    /// The code needs these answers first.
    Needs(Questions),
}

/// What only a conversion webhook, or a thread of the expression pool, can answer.
#[derive(Debug, Default)]
pub struct Questions {
    pub(crate) conversions: Vec<Conversion>,
    pub(crate) rules: Option<Box<RuleCheck>>,
}

/// An object, and the `apiVersion` that it is wanted in.
#[derive(Debug)]
pub(crate) struct Conversion {
    pub(crate) object: Object,
    pub(crate) api_version: String,
}

/// A change that the costly rules of the kind have to check.
#[derive(Debug)]
pub(crate) struct RuleCheck {
    pub(crate) new: Object,
    pub(crate) old: Option<Object>,
}

impl RuleCheck {
    /// Whether this is the check of that change.
    pub(crate) fn is_of(&self, new: &Object, old: Option<&Object>) -> bool {
        self.new == *new && self.old.as_ref() == old
    }
}

impl Unplanned {
    /// The refusal of code that has no request to ask for.
    pub(crate) fn outside_of_requests(self) -> Status {
        match self {
            Self::Refused(status) => status,
            Self::Needs(_) => Status::internal("objects of this kind are converted for requests alone"),
        }
    }
}

impl From<Status> for Unplanned {
    fn from(status: Status) -> Self {
        Self::Refused(status)
    }
}

impl From<Conversion> for Unplanned {
    fn from(conversion: Conversion) -> Self {
        Self::Needs(Questions { conversions: vec![conversion], rules: None })
    }
}

impl From<RuleCheck> for Unplanned {
    fn from(check: RuleCheck) -> Self {
        Self::Needs(Questions { conversions: Vec::new(), rules: Some(Box::new(check)) })
    }
}

impl Questions {
    /// All results, or the questions of all that have none, so that one call answers them together. A refusal counts only
    /// if there are no questions.
    ///
    /// # Errors
    /// The questions, or the first refusal.
    pub fn together<T, C: FromIterator<T>>(results: impl IntoIterator<Item = Planned<T>>) -> Planned<C> {
        let (mut refused, mut questions) = (None, None::<Self>);
        let done: C = results
            .into_iter()
            .filter_map(|result| match result {
                Ok(done) => Some(done),
                Err(Unplanned::Refused(status)) => {
                    refused.get_or_insert(status);
                    None
                }
                Err(Unplanned::Needs(more)) => {
                    questions.get_or_insert_default().add(more);
                    None
                }
            })
            .collect();
        match (questions, refused) {
            (Some(questions), _) => Err(Unplanned::Needs(questions)),
            (None, Some(status)) => Err(status.into()),
            (None, None) => Ok(done),
        }
    }

    /// Both results, or the questions of both.
    ///
    /// # Errors
    /// The questions, or the first refusal.
    pub fn both<A, B>(one: Planned<A>, other: Planned<B>) -> Planned<(A, B)> {
        match (one, other) {
            (Ok(one), Ok(other)) => Ok((one, other)),
            (Err(Unplanned::Needs(mut questions)), Err(Unplanned::Needs(more))) => {
                questions.add(more);
                Err(Unplanned::Needs(questions))
            }
            (Err(needs @ Unplanned::Needs(_)), _) | (_, Err(needs @ Unplanned::Needs(_))) => Err(needs),
            (Err(refused), _) | (_, Err(refused)) => Err(refused),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.conversions.is_empty() && self.rules.is_none()
    }

    pub(crate) fn add(&mut self, more: Self) {
        self.conversions.extend(more.conversions);
        self.rules = more.rules.or(self.rules.take());
    }
}
