//! Objects as Hadoop Streaming writes them for commands: by their class, and by what the command reads.

use gerbil_mapreduce::{Bytes, Error, Result, Text, VInt, VLong, Value};

use crate::form::Form;
use crate::typed;

/// A class of Hadoop's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Text,
    Bytes,
    /// `TypedBytesWritable`.
    Typed,
    Byte,
    Short,
    Int,
    Long,
    VInt,
    VLong,
    Float,
    Double,
    Bool,
    Null,
}

const CLASSES: [(&str, Class); 13] = [
    ("org.apache.hadoop.io.Text", Class::Text),
    ("org.apache.hadoop.io.BytesWritable", Class::Bytes),
    (
        "org.apache.hadoop.typedbytes.TypedBytesWritable",
        Class::Typed,
    ),
    ("org.apache.hadoop.io.ByteWritable", Class::Byte),
    ("org.apache.hadoop.io.ShortWritable", Class::Short),
    ("org.apache.hadoop.io.IntWritable", Class::Int),
    ("org.apache.hadoop.io.LongWritable", Class::Long),
    ("org.apache.hadoop.io.VIntWritable", Class::VInt),
    ("org.apache.hadoop.io.VLongWritable", Class::VLong),
    ("org.apache.hadoop.io.FloatWritable", Class::Float),
    ("org.apache.hadoop.io.DoubleWritable", Class::Double),
    ("org.apache.hadoop.io.BooleanWritable", Class::Bool),
    ("org.apache.hadoop.io.NullWritable", Class::Null),
];

impl Class {
    /// By its full name.
    pub(crate) fn of_name(name: &str) -> Result<Self> {
        let found = CLASSES.iter().find(|(known, _)| *known == name);
        found.map(|(_, class)| *class).ok_or_else(|| {
            let short = |(name, _): &(&'static str, Self)| name.rsplit('.').next().unwrap_or(name);
            let names: Vec<&str> = CLASSES.iter().map(short).collect();
            Error::new(format!(
                "it holds {name}, and gerbil runs no Java: of a SequenceFile commands are given {}",
                names.join(", ")
            ))
        })
    }

    /// What a map's output consists of that its command printed so.
    pub(crate) const fn of_output(form: Form) -> Self {
        match form {
            Form::Text => Self::Text,
            Form::Raw => Self::Bytes,
            Form::Typed => Self::Typed,
        }
    }

    fn name(self) -> &'static str {
        let found = CLASSES.iter().find(|(_, class)| *class == self);
        found.map_or("", |(name, _)| name)
    }

    /// Whether objects are bytes of any number, which a length goes before where they are written.
    const fn is_bytes(self) -> bool {
        matches!(self, Self::Text | Self::Bytes | Self::Typed)
    }

    /// The bytes of an object that has written `wire`, without the length where they are of any number.
    pub(crate) fn content(self, wire: &[u8], into: &mut Vec<u8>) -> Result<()> {
        match self {
            Self::Text => Text::from_writable(wire, into),
            Self::Bytes | Self::Typed => Bytes::from_writable(wire, into),
            _ => {
                into.extend_from_slice(wire);
                Ok(())
            }
        }
    }

    /// Appends an object with this `content` in the `form` that a command reads.
    pub(crate) fn write(self, content: &[u8], form: Form, out: &mut Vec<u8>) -> Result<()> {
        match form {
            Form::Text if self.is_bytes() => out.extend_from_slice(content),
            Form::Text => self.said(content, out)?,
            Form::Raw if self == Self::Text => {
                let from = out.len();
                out.extend_from_slice(&[0; 4]);
                Text::to_writable(content, out)?;
                let length = u32::try_from(out.len() - from - 4)?;
                if let Some(place) = out.get_mut(from..from + 4) {
                    place.copy_from_slice(&length.to_be_bytes());
                }
            }
            Form::Raw => counted(content, out)?,
            Form::Typed => self.typed(content, out)?,
        }
        Ok(())
    }

    /// What its `toString` says.
    fn said(self, wire: &[u8], out: &mut Vec<u8>) -> Result<()> {
        match self {
            Self::Byte => said::<i8>(wire, out),
            Self::Short => said::<i16>(wire, out),
            Self::Int => said::<i32>(wire, out),
            Self::Long => said::<i64>(wire, out),
            Self::VInt => said::<VInt>(wire, out),
            Self::VLong => said::<VLong>(wire, out),
            Self::Float => said::<f32>(wire, out),
            Self::Double => said::<f64>(wire, out),
            Self::Bool => said::<bool>(wire, out),
            Self::Null => {
                out.extend_from_slice(b"(null)");
                Ok(())
            }
            Self::Text | Self::Bytes | Self::Typed => Ok(()),
        }
    }

    fn typed(self, content: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let code = match self {
            Self::Typed => {
                out.extend_from_slice(content);
                return Ok(());
            }
            Self::Text => {
                out.push(typed::STRING);
                return match std::str::from_utf8(content) {
                    Ok(text) => counted(text.as_bytes(), out),
                    Err(_broken) => counted(String::from_utf8_lossy(content).as_bytes(), out),
                };
            }
            Self::Bytes => {
                out.push(typed::BYTES);
                return counted(content, out);
            }
            Self::Byte => typed::BYTE,
            Self::Bool => typed::BOOL,
            Self::Int => typed::INT,
            Self::Long => typed::LONG,
            Self::Float => typed::FLOAT,
            Self::Double => typed::DOUBLE,
            Self::VInt | Self::VLong => return self.variable(content, out),
            // The class by its name, and what an object of it writes.
            Self::Short | Self::Null => {
                let mut object = Vec::new();
                counted(self.name().as_bytes(), &mut object)?;
                object.extend_from_slice(content);
                out.push(typed::WRITABLE);
                return counted(&object, out);
            }
        };
        out.push(code);
        out.extend_from_slice(content);
        Ok(())
    }

    /// A number whose bytes are few where it is small, as one of fixed length.
    fn variable(self, wire: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let mut said = Vec::new();
        self.said(wire, &mut said)?;
        let said = String::from_utf8_lossy(&said);
        match self {
            Self::VInt => {
                out.push(typed::INT);
                out.extend_from_slice(&said.parse::<i32>()?.to_be_bytes());
            }
            _ => {
                out.push(typed::LONG);
                out.extend_from_slice(&said.parse::<i64>()?.to_be_bytes());
            }
        }
        Ok(())
    }
}

/// What `toString` says of a Writable that holds the same as `T`.
fn said<T: Value>(wire: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let mut value = Vec::new();
    T::from_writable(wire, &mut value)?;
    T::text(&value, out)
}

fn counted(bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
    out.extend_from_slice(&u32::try_from(bytes.len())?.to_be_bytes());
    out.extend_from_slice(bytes);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Class, Form};

    fn written(class: Class, content: &[u8], form: Form) -> Vec<u8> {
        let mut out = Vec::new();
        class.write(content, form, &mut out).unwrap();
        out
    }

    #[test]
    fn each_class_has_its_type_code() {
        let cases: [(Class, &[u8], &[u8]); 9] = [
            (Class::Text, b"hi", b"\x07\0\0\0\x02hi"),
            (Class::Text, b"\xFF", b"\x07\0\0\0\x03\xEF\xBF\xBD"),
            (Class::Bytes, b"hi", b"\0\0\0\0\x02hi"),
            (Class::Typed, b"\x02\x01", b"\x02\x01"),
            (Class::Byte, b"\x05", b"\x01\x05"),
            (Class::Int, b"\0\0\0\x05", b"\x03\0\0\0\x05"),
            (Class::VInt, b"\x8F\xC8", b"\x03\0\0\0\xC8"),
            (
                Class::VLong,
                b"\x87\xC8",
                b"\x04\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x37",
            ),
            (
                Class::Null,
                b"",
                b"\x32\0\0\0\x25\0\0\0\x21org.apache.hadoop.io.NullWritable",
            ),
        ];
        for (class, content, typed) in cases {
            assert_eq!(written(class, content, Form::Typed), typed, "{class:?}");
        }
    }

    #[test]
    fn raw_bytes_are_those_that_an_object_writes_of_itself() {
        assert_eq!(written(Class::Text, b"hi", Form::Raw), b"\0\0\0\x03\x02hi");
        assert_eq!(written(Class::Bytes, b"hi", Form::Raw), b"\0\0\0\x02hi");
        assert_eq!(
            written(Class::Long, &7_u64.to_be_bytes(), Form::Raw),
            b"\0\0\0\x08\0\0\0\0\0\0\0\x07"
        );
        assert_eq!(written(Class::Text, b"\xFF", Form::Text), b"\xFF");
        assert_eq!(written(Class::Int, b"\0\0\0\x05", Form::Text), b"5");
    }
}
