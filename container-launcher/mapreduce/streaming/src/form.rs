//! How records are written for commands, and how commands print them: Hadoop's identifiers of `-io`.

use gerbil_mapreduce::{Error, Result, Settings};

/// What a mapper's command reads.
pub(crate) const MAP_INPUT: &str = "stream.map.input";
/// What it prints.
pub(crate) const MAP_OUTPUT: &str = "stream.map.output";
/// What a reducer's command reads, and a combiner's.
pub(crate) const REDUCE_INPUT: &str = "stream.reduce.input";
/// What they print.
pub(crate) const REDUCE_OUTPUT: &str = "stream.reduce.output";
/// All of them.
pub(crate) const ALL: [&str; 4] = [MAP_INPUT, MAP_OUTPUT, REDUCE_INPUT, REDUCE_OUTPUT];

/// How a key and a value are laid out in a pipe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Form {
    /// A line, with a separator between both.
    #[default]
    Text,
    /// Four bytes of length and that many bytes, of each.
    Raw,
    /// A code for its type and what follows from that, of each.
    Typed,
}

impl Form {
    /// By its identifier, in letters of whatever case.
    pub(crate) fn of_name(name: &str) -> Result<Self, String> {
        match name.trim().to_ascii_lowercase().as_str() {
            "text" => Ok(Self::Text),
            "rawbytes" => Ok(Self::Raw),
            "typedbytes" => Ok(Self::Typed),
            "keyonlytext" => {
                Err("lines without values are not read or written here, give text".to_owned())
            }
            _ => Err("records go through pipes as text, rawbytes or typedbytes".to_owned()),
        }
    }

    /// As a setting has it; without one it is text.
    pub(crate) fn of(settings: &Settings, name: &str) -> Result<Self> {
        let Some(given) = settings.get(name) else {
            return Ok(Self::Text);
        };
        Self::of_name(given).map_err(|why| Error::new(format!("{name}={given}: {why}")))
    }

    /// Its identifier.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Raw => "rawbytes",
            Self::Typed => "typedbytes",
        }
    }
}
