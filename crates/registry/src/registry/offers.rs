use coracle_schema::decode::Format;

use crate::PatchKind;

/// What a kind offers to clients, and how it refuses other requests.
///
/// In Kubernetes these depend on the component that serves a kind: the routes of `APIInstaller` for built-in kinds,
/// which are Go structs, or `crdHandler` for custom resources, which are maps.
#[derive(Clone, Copy, Debug)]
pub struct Offers {
    /// The formats in which objects are read and written, in the order of preference.
    pub formats: &'static [Format],
    /// The supported patch types, in the order in which a refusal lists them.
    pub patches: &'static [PatchKind],
    /// The form of objects in memory.
    pub form: MemoryForm,
    /// How an unsupported path or method is refused.
    pub refusals: Refusals,
    /// The position of the kind in discovery.
    pub rank: Rank,
}

/// The form of a kind's objects in Kubernetes' memory. Clients see it in lists and in messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryForm {
    /// Go structs: printed field by field in their order, also in messages; the items of lists have no `kind`.
    Structs,
    /// Maps (`unstructured.Unstructured`): the items of lists have their `kind`, and lists always have `continue`.
    Maps,
}

/// How an unsupported path or method is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusals {
    /// Like separately installed routes: 404 and 405 with a Status.
    Routes,
    /// Like one handler of all paths: the page of an unknown path, and 405 and 415 in its own words.
    Handler,
}

/// The position of a kind in discovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rank {
    /// At this index among the group versions; resources and subresources are sorted by name together.
    /// In Kubernetes: the priorities of an APIService.
    At(usize),
    /// After all others, by name; subresources follow their resource, and a kind is listed with its group and version.
    /// In Kubernetes: the result of `crdRegistrationController` and of the `DiscoveryController` of definitions.
    Last,
}

impl Offers {
    /// The offers of a built-in kind whose group version has this index in discovery.
    pub fn built_in(place: usize) -> Self {
        Self {
            formats: &[Format::Json, Format::Yaml, Format::Protobuf],
            patches: &[PatchKind::Json, PatchKind::Merge, PatchKind::Strategic, PatchKind::Apply { force: false }],
            form: MemoryForm::Structs,
            refusals: Refusals::Routes,
            rank: Rank::At(place),
        }
    }

    /// The offers of a custom kind: without protobuf, and without the strategic merge patch, which needs merge keys.
    pub const CUSTOM: Self = Self {
        formats: &[Format::Json, Format::Yaml],
        patches: &[PatchKind::Json, PatchKind::Merge, PatchKind::Apply { force: false }],
        form: MemoryForm::Maps,
        refusals: Refusals::Handler,
        rank: Rank::Last,
    };
}
