/// Implements [`coracle_meta::Resource`] for a generated kind.
macro_rules! resource {
    ($Name:ident, $group:literal, $version:literal, $kind:literal, $plural:literal, $scope:ident) => {
        impl coracle_meta::Resource for $Name {
            const GROUP: &'static str = $group;
            const VERSION: &'static str = $version;
            const KIND: &'static str = $kind;
            const PLURAL: &'static str = $plural;
            const SCOPE: coracle_meta::Scope = coracle_meta::Scope::$scope;

            fn from_json(text: &[u8]) -> Result<Self, serde_json::Error> {
                coracle_meta::json::from_slice(text)
            }

            fn to_json(&self) -> Result<Vec<u8>, serde_json::Error> {
                serde_json::to_vec(self)
            }

            fn meta(&self) -> &coracle_meta::ObjectMeta {
                &self.metadata
            }

            fn meta_mut(&mut self) -> &mut coracle_meta::ObjectMeta {
                &mut self.metadata
            }
        }
    };
}

pub(crate) use resource;
