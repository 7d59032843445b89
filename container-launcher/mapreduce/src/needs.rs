//! What stages need of their slots, readable in the executable without running it.

/// Says that stage `$stage` (`map`, `combine` or `reduce`) of a job needs `$need` of its slots, such as `"gpu"`: one
/// line of JSON, `{"stage":…,"type":…,"need":…}`, in the executable's section `gerbil_needs`, and an associated
/// constant `NEEDS` of the type.
///
/// ```
/// struct Words;
/// gerbil_mapreduce::needs!(Words, map, "gpu");
/// assert_eq!(Words::NEEDS, "{\"stage\":\"map\",\"type\":\"Words\",\"need\":\"gpu\"}\n");
/// ```
#[macro_export]
macro_rules! needs {
    ($type:ident, $stage:ident, $need:literal) => {
        impl $type {
            /// What this type needs of its slots, as a line of JSON.
            pub const NEEDS: &'static str = concat!(
                "{\"stage\":\"",
                stringify!($stage),
                "\",\"type\":\"",
                stringify!($type),
                "\",\"need\":\"",
                $need,
                "\"}\n"
            );
        }

        const _: () = {
            const LENGTH: usize = $type::NEEDS.len();
            const fn bytes() -> [u8; LENGTH] {
                let text = $type::NEEDS.as_bytes();
                let mut bytes = [0; LENGTH];
                let mut at = 0;
                while at < LENGTH {
                    bytes[at] = text[at];
                    at += 1;
                }
                bytes
            }
            #[used]
            #[allow(
                unsafe_code,
                reason = "a section of its own; nothing is read through it"
            )]
            #[unsafe(link_section = "gerbil_needs")]
            static LINE: [u8; LENGTH] = bytes();
        };
    };
}
