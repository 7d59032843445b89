//! A piece of a split, open for reading: its file, or a pipe out of which it comes.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt as _;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use gerbil_task::Piece;

use super::Compression;
use super::bzip2_blocks::Owned;
use crate::error::{Context as _, Error, Result};

/// What is handed over for reading.
pub(crate) enum Opened {
    /// The file itself, which is read by position.
    File(File),
    /// A pipe: the file from the byte that was asked for.
    Stream(File),
}

/// Opens one file, to be read from some byte on.
pub(crate) type Open = Rc<dyn Fn(u64) -> Result<Opened>>;

/// Bytes that were read of a piece's file, for progress and for the place of what is broken.
pub(crate) type Consumed = Arc<AtomicU64>;

/// A piece of a split, open for reading.
pub struct Source {
    /// What is in it, from [`offset`](Self::offset) on, and beyond its end as far as the file goes.
    pub reader: Box<dyn Read>,
    /// The file's name.
    pub name: String,
    /// Where the piece begins in the file, bytes.
    pub offset: u64,
    /// Where it ends; `u64::MAX` in a compressed file, which is one piece, or several that end where their blocks do.
    pub end: u64,
    /// How many bytes the blocks of such a piece hold, as soon as that is known.
    pub(super) owned: Option<Owned>,
    size: u64,
    beginning: Beginning,
    consumed: Consumed,
}

/// A source's file from one of its places on, for any thread: the file itself, or a pipe out of which it comes.
pub struct Stretch(Raw);

impl std::fmt::Debug for Stretch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a file from {} to {}", self.0.at, self.0.size)
    }
}

impl Stretch {
    /// The file itself, open for reading, for who reads it by its places. `None`: it comes through a pipe.
    #[must_use]
    pub const fn file(&self) -> Option<&File> {
        match &self.0.opened {
            Opened::File(file) => Some(file),
            Opened::Stream(_) => None,
        }
    }

    /// So many bytes were read of the file itself: they count as the task's input, and as its progress.
    pub fn count(&self, bytes: u64) {
        self.0.consumed.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// One byte after the other to the file's end; what is read so counts by itself.
impl Read for Stretch {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.read(into)
    }
}

/// A source's file by its places, wherever it is: each stretch is opened by itself, and no byte beyond it is read.
pub struct Places {
    open: Open,
    name: String,
    size: u64,
    consumed: Consumed,
}

impl std::fmt::Debug for Places {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "places of {}", self.name)
    }
}

impl Places {
    /// How long the file is, bytes.
    #[must_use]
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// The file from the byte `from` on, opened by itself.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn stretch(&self, from: u64) -> Result<Stretch> {
        Ok(Stretch(Raw {
            opened: (self.open)(from)?,
            at: from,
            size: self.size,
            consumed: Arc::clone(&self.consumed),
        }))
    }

    /// The bytes `from..from + length`, which count as the task's input, and as its progress.
    ///
    /// # Errors
    /// The file is not that long, or cannot be read.
    pub fn read(&self, from: u64, length: u64) -> Result<Vec<u8>> {
        let end = from.checked_add(length).filter(|end| *end <= self.size);
        let end = end.ok_or_else(|| {
            Error::new(format!(
                "{}: {length} bytes from byte {from} on are asked for, and it has {}",
                self.name, self.size
            ))
        })?;
        let mut raw = Raw {
            opened: (self.open)(from)?,
            at: from,
            size: end,
            consumed: Arc::clone(&self.consumed),
        };
        let mut bytes = Vec::new();
        let room = bytes.try_reserve_exact(crate::width::size(length));
        room.context(|| format!("{}: {length} bytes at a time", self.name))?;
        raw.read_to_end(&mut bytes)
            .context(|| format!("reading {}", self.name))?;
        Ok(bytes)
    }
}

/// Opens its file where the first byte is asked for.
struct Late {
    open: Open,
    piece: Piece,
    consumed: Consumed,
    raw: Option<Raw>,
}

impl Read for Late {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let raw = match &mut self.raw {
            Some(raw) => raw,
            None => {
                let opened = (self.open)(self.piece.offset);
                self.raw.insert(Raw {
                    opened: opened.map_err(|error| io::Error::other(error.to_string()))?,
                    at: self.piece.offset,
                    size: self.piece.size,
                    consumed: Arc::clone(&self.consumed),
                })
            }
        };
        raw.read(into)
    }
}

/// Where the first bytes of a file come from.
enum Beginning {
    Nowhere,
    File(File),
    Asked(Open),
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} from {} to {}", self.name, self.offset, self.end)
    }
}

impl Source {
    /// The piece of the file that `open` opens.
    pub(crate) fn new(open: &Open, piece: &Piece, consumed: &Consumed) -> Result<Self> {
        let opened = open(piece.offset)?;
        let beginning = match &opened {
            Opened::File(file) => Beginning::File(file.try_clone()?),
            Opened::Stream(_) => Beginning::Asked(Rc::clone(open)),
        };
        let raw = Raw {
            opened,
            at: piece.offset,
            size: piece.size,
            consumed: Arc::clone(consumed),
        };
        let is_part = piece.offset > 0 || piece.length < piece.size;
        let mut owned = None;
        let (reader, end): (Box<dyn Read>, u64) = match Compression::of_name(&piece.name) {
            None => (Box::new(raw), piece.offset.saturating_add(piece.length)),
            Some(compression) if is_part && compression.has_blocks() => {
                let owned = owned.insert(Owned::default());
                let reader = Compression::blocks(raw, piece, consumed, owned);
                (reader, u64::MAX)
            }
            Some(compression) => (compression.reader(raw, &piece.name, consumed)?, u64::MAX),
        };
        Ok(Self {
            reader,
            name: piece.name.clone(),
            offset: piece.offset,
            end,
            owned,
            size: piece.size,
            beginning,
            consumed: Arc::clone(consumed),
        })
    }

    /// The same for a format that reads its files [by places](super::InputFormat::PLACES): nothing is opened yet.
    pub(crate) fn by_places(open: &Open, piece: &Piece, consumed: &Consumed) -> Self {
        let late = Late {
            open: Rc::clone(open),
            piece: piece.clone(),
            consumed: Arc::clone(consumed),
            raw: None,
        };
        Self {
            reader: Box::new(late),
            name: piece.name.clone(),
            offset: piece.offset,
            end: piece.offset.saturating_add(piece.length),
            owned: None,
            size: piece.size,
            beginning: Beginning::Asked(Rc::clone(open)),
            consumed: Arc::clone(consumed),
        }
    }

    /// The file by its places, for a format whose files have a directory, such as a footer: of an
    /// [`InputFormat`](super::InputFormat) that has [`PLACES`](super::InputFormat::PLACES).
    ///
    /// # Errors
    /// It is compressed as a whole, as its name says; or it is no file, or read from its beginning.
    pub fn places(&self) -> Result<Places> {
        has_places(&self.name)?;
        let open: Open = match &self.beginning {
            Beginning::Asked(open) => Rc::clone(open),
            Beginning::File(file) => at_hand(file.try_clone()?),
            Beginning::Nowhere => {
                return Err(Error::new(format!("{} is no file with places", self.name)));
            }
        };
        Ok(Places {
            open,
            name: self.name.clone(),
            size: self.size,
            consumed: Arc::clone(&self.consumed),
        })
    }

    /// The first bytes of the file, at most `most`: formats with a header need it in every split. Where files
    /// come through pipes, this is a pipe of its own.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn beginning(&self, most: usize) -> Result<Vec<u8>> {
        let opened = match &self.beginning {
            Beginning::Nowhere => return Ok(Vec::new()),
            Beginning::File(file) => Opened::File(file.try_clone()?),
            Beginning::Asked(open) => open(0)?,
        };
        let raw = Raw {
            opened,
            at: 0,
            size: self.size,
            consumed: Consumed::default(),
        };
        let mut bytes = Vec::new();
        raw.take(most as u64)
            .read_to_end(&mut bytes)
            .context(|| format!("reading {}", self.name))?;
        Ok(bytes)
    }

    /// A piece of what is no file.
    pub(crate) fn without_file(piece: &Piece) -> Self {
        let end = piece.offset.saturating_add(piece.length);
        Self {
            reader: Box::new(io::empty()),
            name: piece.name.clone(),
            offset: piece.offset,
            end,
            owned: None,
            size: piece.size,
            beginning: Beginning::Nowhere,
            consumed: Consumed::default(),
        }
    }

    #[cfg(test)]
    pub(crate) fn in_memory(name: &str, bytes: Vec<u8>) -> Self {
        let end = bytes.len() as u64;
        Self {
            reader: Box::new(io::Cursor::new(bytes)),
            name: name.to_owned(),
            offset: 0,
            end,
            owned: None,
            size: end,
            beginning: Beginning::Nowhere,
            consumed: Consumed::default(),
        }
    }
}

/// Whether a file of this name is read by its places: what is compressed as a whole is not.
pub(super) fn has_places(name: &str) -> Result<()> {
    match Compression::of_name(name) {
        None => Ok(()),
        Some(compression) => Err(Error::new(format!(
            "{name}: {compression:?} files have no places to go to: decompress it first"
        ))),
    }
}

/// Opens a file that is at hand.
pub(crate) fn at_hand(file: File) -> Open {
    Rc::new(move |_| Ok(Opened::File(file.try_clone()?)))
}

/// A file as it is stored, up to the length that it had when the splits were made.
pub(crate) struct Raw {
    opened: Opened,
    at: u64,
    pub(super) size: u64,
    consumed: Consumed,
}

impl Read for Raw {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let left = crate::width::size(self.size.saturating_sub(self.at));
        let most = into.len().min(left);
        if most == 0 {
            return Ok(0);
        }
        let into = &mut into[..most];
        let read = match &mut self.opened {
            Opened::File(file) => file.read_at(into, self.at)?,
            Opened::Stream(pipe) => pipe.read(into)?,
        };
        if read == 0 {
            let words = match &self.opened {
                Opened::File(_) => format!(
                    "it had {} bytes and ends at {} now: it was changed while it was read",
                    self.size, self.at
                ),
                Opened::Stream(_) => format!("it ended at byte {} of {}", self.at, self.size),
            };
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, words));
        }
        self.at += read as u64;
        self.consumed.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{Read as _, Write as _};
    use std::rc::Rc;
    use std::sync::atomic::Ordering;

    use gerbil_task::Piece;

    use super::{Consumed, Open, Opened, Source};

    /// Gives `text` through pipes, from the byte that is asked for to `end`.
    fn piped(text: &'static [u8], end: usize) -> Open {
        Rc::new(move |from| {
            let (read, mut write) = std::io::pipe().unwrap();
            let from = usize::try_from(from).unwrap();
            write.write_all(&text[from..end]).unwrap();
            Ok(Opened::Stream(File::from(std::os::fd::OwnedFd::from(read))))
        })
    }

    fn piece(offset: u64, size: u64) -> Piece {
        Piece {
            name: "p".to_owned(),
            offset,
            length: 2,
            size,
        }
    }

    #[test]
    fn a_pipe_is_read_from_where_it_begins_and_the_beginning_is_another() {
        let consumed = Consumed::default();
        let mut source = Source::new(&piped(b"0123456789", 10), &piece(4, 10), &consumed).unwrap();
        assert_eq!(source.beginning(3).unwrap(), b"012");
        let mut rest = String::new();
        source.reader.read_to_string(&mut rest).unwrap();
        assert_eq!((rest.as_str(), source.end), ("456789", 6));
        assert_eq!(source.beginning(100).unwrap(), b"0123456789");
        assert_eq!(consumed.load(Ordering::Relaxed), 6);
    }

    #[test]
    fn places_are_read_through_pipes_of_their_own_and_nothing_beyond_them() {
        let consumed = Consumed::default();
        let source = Source::by_places(&piped(b"0123456789", 10), &piece(4, 10), &consumed);
        let places = source.places().unwrap();
        assert_eq!(places.read(2, 3).unwrap(), b"234");
        assert_eq!(places.read(8, 2).unwrap(), b"89");
        assert_eq!(places.read(10, 0).unwrap(), b"");
        assert_eq!(consumed.load(Ordering::Relaxed), 5);
        for (from, length) in [(8, 3), (11, 0), (1, u64::MAX)] {
            let error = places.read(from, length).unwrap_err().to_string();
            let words =
                format!("p: {length} bytes from byte {from} on are asked for, and it has 10");
            assert_eq!(error, words);
        }
        let cut = Source::by_places(&piped(b"0123456789", 7), &piece(4, 10), &consumed);
        let error = cut.places().unwrap().read(5, 4).unwrap_err().to_string();
        assert_eq!(error, "reading p: it ended at byte 7 of 9");
    }

    #[test]
    fn stretches_of_a_file_go_to_other_threads_and_count_what_is_read() {
        fn sent<T: Send>(it: T) -> T {
            it
        }
        let consumed = Consumed::default();
        let source = Source::by_places(&piped(b"0123456789", 10), &piece(4, 10), &consumed);
        let places = source.places().unwrap();
        let mut two = [4, 7].map(|from| sent(places.stretch(from).unwrap()));
        let mut found = [0; 3];
        for (stretch, wanted) in two.iter_mut().zip([b"456", b"789"]) {
            assert!(stretch.file().is_none());
            stretch.read_exact(&mut found).unwrap();
            assert_eq!(&found, wanted);
        }
        assert_eq!(consumed.load(Ordering::Relaxed), 6);
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"0123456789").unwrap();
        let source = Source::by_places(&super::at_hand(file), &piece(4, 10), &consumed);
        let stretch = source.places().unwrap().stretch(4).unwrap();
        assert!(stretch.file().is_some());
        stretch.count(2);
        assert_eq!(consumed.load(Ordering::Relaxed), 8);
    }

    #[test]
    fn a_pipe_that_gives_too_much_or_too_little() {
        let open = piped(b"0123456789", 7);
        let mut source = Source::new(&open, &piece(4, 10), &Consumed::default()).unwrap();
        let error = source.reader.read_to_end(&mut Vec::new()).unwrap_err();
        assert_eq!(error.to_string(), "it ended at byte 7 of 10");
        let error = source.beginning(8).unwrap_err().to_string();
        assert_eq!(error, "reading p: it ended at byte 7 of 10");
        let mut source = Source::new(&open, &piece(4, 5), &Consumed::default()).unwrap();
        let mut rest = String::new();
        source.reader.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "4");
    }
}
