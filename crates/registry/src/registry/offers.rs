use coracle_schema::decode::Format;

use crate::PatchKind;

/// What a kind offers its clients, and the manners in which it speaks to them.
///
/// In Kubernetes these differ with the part of the server that serves a kind: the routes that `APIInstaller` makes for
/// the built-in ones, which are Go structs, or the one `crdHandler` of custom resources, which are maps.
#[derive(Clone, Copy, Debug)]
pub struct Offers {
    /// In what objects are read and written, in the order of preference.
    pub formats: &'static [Format],
    /// In which languages objects can be patched, in the order in which a refusal lists them.
    pub patches: &'static [PatchKind],
    /// In what form the server holds objects.
    pub form: Form,
    /// How a path or a method that the kind does not have is refused.
    pub refusals: Refusals,
    /// Where and how discovery lists the kind.
    pub rank: Rank,
}

/// In what form Kubernetes holds objects of a kind, which clients see in lists and in messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Go structs: printed field by field in their order, also in messages; the items of lists say no kind.
    Structs,
    /// Maps (`unstructured.Unstructured`): the items of lists say their kind, and lists always say `continue`.
    Maps,
}

/// How what a kind does not have is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusals {
    /// As routes that were installed one by one do: 404 and 405 with a Status of their own.
    Routes,
    /// As one handler of all paths does: the page of a path that nobody serves, and 405 and 415 in its own words.
    Handler,
}

/// Where and how discovery lists a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rank {
    /// At this place among the group versions; resources and subresources are sorted by name together.
    /// In Kubernetes: the priorities of an APIService.
    At(usize),
    /// After all others, by name; subresources follow their resource, and a kind is told with its group and version.
    /// In Kubernetes: what `crdRegistrationController` and the `DiscoveryController` of definitions make of it.
    Last,
}

impl Offers {
    /// Those of a built-in kind whose group version has this place in discovery.
    pub fn built_in(place: usize) -> Self {
        Self {
            formats: &[Format::Json, Format::Yaml, Format::Protobuf],
            patches: &[PatchKind::Json, PatchKind::Merge, PatchKind::Strategic, PatchKind::Apply { force: false }],
            form: Form::Structs,
            refusals: Refusals::Routes,
            rank: Rank::At(place),
        }
    }

    /// Those of a custom kind: without protobuf, and without the strategic merge patch, which needs merge keys.
    pub const CUSTOM: Self = Self {
        formats: &[Format::Json, Format::Yaml],
        patches: &[PatchKind::Json, PatchKind::Merge, PatchKind::Apply { force: false }],
        form: Form::Maps,
        refusals: Refusals::Handler,
        rank: Rank::Last,
    };
}
