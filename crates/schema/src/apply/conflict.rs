use coracle_meta::{Status, StatusCause, StatusDetails, reason};

use super::managers::Manager;
use super::path::path_text;
use super::set::Set;

/// Fields that an apply would change and that other managers own. In Kubernetes: `merge.Conflicts`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflicts {
    /// The owners and their fields in conflict; never empty.
    pub owners: Vec<(Manager, Set)>,
}

impl Conflicts {
    /// All fields in conflict.
    pub fn fields(&self) -> Set {
        self.owners.iter().fold(Set::new(), |all, (_, set)| all.union(set))
    }

    /// The conflicts without those about some fields; `None` if nothing is left.
    pub fn without(&self, fields: &Set) -> Option<Self> {
        let owners = self.owners.iter().map(|(manager, set)| (manager.clone(), set.clone().difference(fields)));
        let owners: Vec<_> = owners.filter(|(_, set)| !set.is_empty()).collect();
        (!owners.is_empty()).then_some(Self { owners })
    }

    /// The fields of each manager as texts, up to the limit of a response, and the number of others. The limit exists
    /// because a path may contain the key of an item, which may be as long as a body.
    fn listed(&self) -> (Vec<(&Manager, Vec<String>)>, usize) {
        let (mut bytes, mut others) = (0, 0);
        let mut listed = Vec::new();
        for (manager, set) in &self.owners {
            let mut texts = Vec::new();
            set.for_each(|path| {
                if bytes > Status::LISTED_BYTES {
                    others += 1;
                } else {
                    let text = path_text(path);
                    bytes += text.len();
                    texts.push(text);
                }
            });
            listed.push((manager, texts));
        }
        (listed, others)
    }

    /// The message for the client. It lists the first fields up to 8 MiB of text.
    pub fn message(&self) -> String {
        let (paths, others) = self.listed();
        message(&paths, others)
    }

    /// The response to the client: 409 with a cause for each field.
    pub fn status(&self) -> Status {
        let (paths, others) = self.listed();
        let message = message(&paths, others);
        let mut causes = Vec::new();
        for (manager, texts) in paths {
            causes.extend(texts.into_iter().map(|field| StatusCause {
                reason: "FieldManagerConflict".to_owned(),
                message: format!("conflict with {}", manager.text()),
                field,
            }));
        }
        Status::failure(409, reason::CONFLICT, message)
            .with_details(StatusDetails { causes, ..StatusDetails::default() })
    }
}

fn message(paths: &[(&Manager, Vec<String>)], others: usize) -> String {
    let count = paths.iter().map(|(_, texts)| texts.len()).sum::<usize>() + others;
    if let ([(manager, texts)], 1) = (paths, count) {
        return format!("Apply failed with 1 conflict: conflict with {}: {}", manager.text(), texts[0]);
    }
    let mut lines = Vec::new();
    for (manager, texts) in paths {
        lines.push(format!("conflicts with {}:", manager.text()));
        lines.extend(texts.iter().map(|text| format!("- {text}")));
    }
    if others > 0 {
        lines.push(format!("and {others} more fields"));
    }
    format!("Apply failed with {count} conflicts: {}", lines.join("\n"))
}
