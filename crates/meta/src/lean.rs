//! Structs that keep what they do not know and spend little on what is absent.
//!
//! [`lean_struct!`](crate::lean_struct) writes a struct with its (de)serialization: `null` and absence are the same,
//! empty lists and maps are not written, and fields without a name in the struct stay in `unknown`.

use std::collections::BTreeMap;

/// Whether a field's value means that the field is not there, so that it is not written.
pub trait Absent {
    /// True if the field need not be written.
    fn is_absent(&self) -> bool;
}

impl<T> Absent for Option<T> {
    fn is_absent(&self) -> bool {
        self.is_none()
    }
}

impl<T> Absent for Vec<T> {
    fn is_absent(&self) -> bool {
        self.is_empty()
    }
}

impl<K, V> Absent for BTreeMap<K, V> {
    fn is_absent(&self) -> bool {
        self.is_empty()
    }
}

macro_rules! always_written {
    ($($type:ty),*) => { $(impl Absent for $type { fn is_absent(&self) -> bool { false } })* };
}
always_written!(String, bool, i32, i64, f64, serde_json::Value);

/// Writes a struct whose JSON form is an object: fields by their JSON names, the rest in `unknown`.
///
/// A field that is neither `Option`, `Vec`, map, string, number nor bool needs [`Absent`](crate::lean::Absent) for its
/// type; structs written by this macro have it (always written).
#[macro_export]
macro_rules! lean_struct {
    ($(#[$meta:meta])* pub struct $Name:ident {
        $($(#[$field_meta:meta])* $field:ident : $type:ty = $json:literal,)*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $Name {
            $($(#[$field_meta])* pub $field: $type,)*
            /// Fields that this type does not know.
            pub unknown: $crate::Unknown,
        }

        impl $crate::lean::Absent for $Name {
            fn is_absent(&self) -> bool {
                false
            }
        }

        impl ::serde::Serialize for $Name {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> ::std::result::Result<S::Ok, S::Error> {
                #[allow(unused_imports, clippy::allow_attributes, reason = "a struct may have no fields")]
                use ::serde::ser::SerializeMap as _;
                let mut map = serializer.serialize_map(None)?;
                $(if !$crate::lean::Absent::is_absent(&self.$field) {
                    map.serialize_entry($json, &self.$field)?;
                })*
                for (name, value) in self.unknown.iter().flat_map(|unknown| unknown.iter()) {
                    map.serialize_entry(name, value)?;
                }
                map.end()
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $Name {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> ::std::result::Result<Self, D::Error> {
                struct Fields;
                impl<'de> ::serde::de::Visitor<'de> for Fields {
                    type Value = $Name;
                    fn expecting(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                        f.write_str(concat!("a ", stringify!($Name)))
                    }
                    fn visit_map<A: ::serde::de::MapAccess<'de>>(
                        self,
                        mut map: A,
                    ) -> ::std::result::Result<$Name, A::Error> {
                        #[allow(unused_mut, clippy::allow_attributes, reason = "a struct may have no fields")]
                        let mut out = $Name::default();
                        while let Some(name) = map.next_key::<$crate::lean::FieldName<'de>>()? {
                            match name.as_str() {
                                $($json => out.$field = map.next_value::<Option<$type>>()?.unwrap_or_default(),)*
                                other => {
                                    let other = other.to_owned();
                                    let value = map.next_value::<$crate::lean::Tree>()?;
                                    out.unknown.get_or_insert_with(Box::default).insert(other, value);
                                }
                            }
                        }
                        Ok(out)
                    }
                }
                deserializer.deserialize_map(Fields)
            }
        }
    };
}

pub use serde_json::Value as Tree;

/// A field's name while it is read: borrowed from the input where possible.
#[derive(Debug)]
pub struct FieldName<'de>(std::borrow::Cow<'de, str>);

impl FieldName<'_> {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'de> serde::Deserialize<'de> for FieldName<'de> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl<'de> serde::de::Visitor<'de> for Text {
            type Value = FieldName<'de>;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a field name")
            }
            fn visit_borrowed_str<E>(self, name: &'de str) -> Result<FieldName<'de>, E> {
                Ok(FieldName(name.into()))
            }
            fn visit_str<E>(self, name: &str) -> Result<FieldName<'de>, E> {
                Ok(FieldName(name.to_owned().into()))
            }
            fn visit_string<E>(self, name: String) -> Result<FieldName<'de>, E> {
                Ok(FieldName(name.into()))
            }
        }
        deserializer.deserialize_str(Text)
    }
}
