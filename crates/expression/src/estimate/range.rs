/// The minimum and maximum of a size or a cost; saturating. In Kubernetes: `checker.SizeEstimate` and
/// `checker.CostEstimate`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) least: u64,
    pub(crate) most: u64,
}

impl Range {
    pub(super) const NOTHING: Self = Self::fixed(0);
    pub(super) const ONE: Self = Self::fixed(1);
    /// Unknown.
    pub(super) const ANY: Self = Self { least: 0, most: u64::MAX };
    /// The neutral element of unions.
    pub(super) const NONE_YET: Self = Self { least: u64::MAX, most: 0 };

    pub(super) const fn fixed(of: u64) -> Self {
        Self { least: of, most: of }
    }

    pub(super) const fn up_to(most: u64) -> Self {
        Self { least: 0, most }
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self { least: self.least.saturating_add(other.least), most: self.most.saturating_add(other.most) }
    }

    pub(super) fn times(self, other: Self) -> Self {
        Self { least: self.least.saturating_mul(other.least), most: self.most.saturating_mul(other.most) }
    }

    /// Multiplied and rounded up.
    pub(super) fn scaled(self, factor: f64) -> Self {
        let scaled = |of: u64| (of as f64 * factor).ceil() as u64;
        Self { least: scaled(self.least), most: scaled(self.most) }
    }

    pub(super) fn union(self, other: Self) -> Self {
        Self { least: self.least.min(other.least), most: self.most.max(other.most) }
    }
}
