//! Attributes as the library reads them.

use std::ffi::{CString, NulError};

use crate::abi::{Data, DataArray, Info, Proc, Value as CValue, kind};
use crate::attribute::{Attribute, Value};
use crate::library::proc_of;

/// An array of `pmix_info_t`, with all that it points to.
#[expect(
    clippy::vec_box,
    reason = "the arrays are pointed to, and stay where they are while their list grows"
)]
pub(crate) struct Information {
    infos: Vec<Info>,
    // They are pointed to and stay where they are: a `CString` and a box have memory of their own.
    _texts: Vec<CString>,
    _procs: Vec<Box<Proc>>,
    _arrays: Vec<Box<DataArray>>,
    _inner: Vec<Self>,
}

impl Information {
    /// # Errors
    ///
    /// A text has a null within.
    pub(crate) fn new(attributes: &[Attribute]) -> Result<Self, NulError> {
        let mut own = Self {
            infos: Vec::with_capacity(attributes.len()),
            _texts: Vec::new(),
            _procs: Vec::new(),
            _arrays: Vec::new(),
            _inner: Vec::new(),
        };
        for attribute in attributes {
            let (kind, data) = own.data(&attribute.value)?;
            let mut info = Info {
                key: [0; _],
                flags: 0,
                value: CValue { kind, data },
            };
            // The null at the end stays.
            let last = info.key.len().saturating_sub(1);
            for (to, &from) in info.key.iter_mut().take(last).zip(attribute.key.as_bytes()) {
                *to = from;
            }
            own.infos.push(info);
        }
        Ok(own)
    }

    fn data(&mut self, value: &Value) -> Result<(u16, Data), NulError> {
        let mut data = Data { words: [0; 3] };
        let kind = match value {
            Value::Flag(flag) => {
                data.flag = *flag;
                kind::BOOL
            }
            Value::Short(short) => {
                data.short = *short;
                kind::UINT16
            }
            Value::Number(number) => {
                data.number = *number;
                kind::UINT32
            }
            Value::Rank(rank) => {
                data.number = *rank;
                kind::RANK
            }
            Value::Text(text) => {
                let text = CString::new(text.as_str())?;
                data.text = text.as_ptr();
                self._texts.push(text);
                kind::STRING
            }
            Value::Proc(namespace, rank) => {
                let proc = Box::new(proc_of(namespace, *rank));
                data.proc = &raw const *proc;
                self._procs.push(proc);
                kind::PROC
            }
            Value::Array(attributes) => {
                let inner = Self::new(attributes)?;
                let array = Box::new(DataArray {
                    kind: kind::INFO,
                    size: inner.infos.len(),
                    array: inner.infos.as_ptr(),
                });
                data.array = &raw const *array;
                self._arrays.push(array);
                self._inner.push(inner);
                kind::DATA_ARRAY
            }
        };
        Ok((kind, data))
    }

    /// Where it begins, as long as this is there.
    pub(crate) fn as_mut_ptr(&mut self) -> *mut Info {
        self.infos.as_mut_ptr()
    }

    #[cfg(test)]
    pub(crate) fn infos(&self) -> &[Info] {
        &self.infos
    }

    pub(crate) fn len(&self) -> usize {
        self.infos.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(unsafe_code, reason = "what the library would read")]
    fn the_library_reads_what_was_meant() {
        let inner = vec![Attribute::new("pmix.lrank", Value::Short(7))];
        let attributes = [
            Attribute::text("pmix.hname", "node"),
            Attribute::new("pmix.pdata", Value::Array(inner)),
            Attribute::new("pmix.parent", Value::Proc("job".to_owned(), 3)),
        ];
        let own = Information::new(&attributes).unwrap();
        assert!(own.infos[0].key.starts_with(b"pmix.hname\0"));
        assert_eq!(own.infos[0].value.kind, kind::STRING);
        // SAFETY: all point into what `own` has, and are of the kinds that are asserted.
        let (text, short) = unsafe {
            let text = std::ffi::CStr::from_ptr(own.infos[0].value.data.text);
            let array = &*own.infos[1].value.data.array;
            assert_eq!((array.kind, array.size), (kind::INFO, 1));
            assert_eq!(own.infos[2].value.kind, kind::PROC);
            let proc = &*own.infos[2].value.data.proc;
            assert!(proc.namespace.starts_with(b"job\0") && proc.rank == 3);
            (text, (*array.array).value.data.short)
        };
        assert_eq!((text.to_str().unwrap(), short), ("node", 7));
        assert!(Information::new(&[Attribute::text("pmix.hname", "a\0b")]).is_err());
    }
}
