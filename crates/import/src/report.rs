use std::fmt;

/// What happened to one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImportOutcome {
    /// It was created.
    Made,
    /// A dry run found nothing that prevents its creation.
    WouldBeMade,
    /// It was skipped, and why.
    Skipped(String),
    /// The cluster refused it, or a part of it, and why.
    Refused(String),
}

/// One object of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// The file and the line.
    pub place: String,
    /// Kind, namespace and name: `Pod shop/web`.
    pub what: String,
    /// What happened to it.
    pub fate: ImportOutcome,
    /// How it differs from the object in the file.
    pub notes: Vec<String>,
}

/// What happened to all objects, in the order of creation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportReport {
    /// One entry for each object of the file.
    pub objects: Vec<Imported>,
}

impl ImportReport {
    /// How many objects were created (or would be), skipped and refused.
    pub fn counts(&self) -> (usize, usize, usize) {
        let count = |is: fn(&ImportOutcome) -> bool| self.objects.iter().filter(|object| is(&object.fate)).count();
        (
            count(|fate| matches!(fate, ImportOutcome::Made | ImportOutcome::WouldBeMade)),
            count(|fate| matches!(fate, ImportOutcome::Skipped(_))),
            count(|fate| matches!(fate, ImportOutcome::Refused(_))),
        )
    }
}

impl fmt::Display for Imported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, what, fate, notes } = self;
        match fate {
            ImportOutcome::Made => write!(f, "made     {what}")?,
            ImportOutcome::WouldBeMade => write!(f, "would make {what}")?,
            ImportOutcome::Skipped(why) => write!(f, "skipped  {what}: {why}")?,
            ImportOutcome::Refused(why) => write!(f, "refused  {what} ({place}): {why}")?,
        }
        notes.iter().try_for_each(|note| write!(f, "\n         {note}"))
    }
}

impl fmt::Display for ImportReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.objects.iter().try_for_each(|object| writeln!(f, "{object}"))?;
        let (made, skipped, refused) = self.counts();
        let is_dry = self.objects.iter().any(|object| object.fate == ImportOutcome::WouldBeMade);
        write!(f, "{made} {}made, {skipped} skipped, {refused} refused", if is_dry { "would be " } else { "" })
    }
}
