//! What Hadoop's settings say of files and folders that are made: `fs.permissions.umask-mode`, `dfs.replication` and
//! `dfs.blocksize`, as Hadoop's own client reads them (`FsPermission.getUMask`,
//! `StringUtils.TraditionalBinaryPrefix.string2long`). What they leave open the NameNode decides.

use hdfs_native::WriteOptions;

use crate::create::{CreateOptions, Readers};

/// The settings.
const MASK: &str = "fs.permissions.umask-mode";
const REPLICATION: &str = "dfs.replication";
const BLOCK_SIZE: &str = "dfs.blocksize";
/// What is taken from the modes of new files where nothing is said of it.
const USUAL_MASK: u32 = 0o022;
/// All of a file's permissions, and of a folder's.
const FILE_MODE: u32 = 0o666;
const FOLDER_MODE: u32 = 0o777;
/// Of what is the user's alone.
const CLOSED_MASK: u32 = 0o077;
/// Files up to this length, bytes, get one block that just holds them: that of HDFS's default.
const SMALL: u64 = 128 << 20;
/// Smallest block that NameNodes take by default (`dfs.namenode.fs-limits.min-block-size`), bytes.
const BLOCK_STEP: u64 = 1 << 20;
/// What may stand behind a number of bytes: 2 to the power of 10, 20, and so on.
const PREFIXES: &str = "kmgtpe";

/// How what is made is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WriteSettings {
    mask: u32,
    replication: Option<u32>,
    /// Bytes.
    block_size: Option<u64>,
}

impl WriteSettings {
    /// By the settings of an address.
    ///
    /// # Errors
    ///
    /// Which of them makes no sense, half a sentence.
    pub(super) fn of(settings: &[(String, String)]) -> Result<Self, String> {
        fn read<T>(
            settings: &[(String, String)],
            name: &str,
            wanted: &str,
            parse: impl Fn(&str) -> Option<T>,
        ) -> Result<Option<T>, String> {
            let set = settings.iter().find(|(key, _)| key == name);
            let Some(value) = set
                .map(|(_, value)| value.trim())
                .filter(|value| !value.is_empty())
            else {
                return Ok(None);
            };
            let parsed = parse(value);
            parsed
                .map(Some)
                .ok_or_else(|| format!("{name} is {value}, which is no {wanted}"))
        }
        let count = |text: &str| text.parse().ok().filter(|count: &u32| *count > 0);
        Ok(Self {
            mask: read(settings, MASK, "mask such as 022 or u=rwx,g=rx,o=", mask)?
                .unwrap_or(USUAL_MASK),
            replication: read(settings, REPLICATION, "number of copies", count)?,
            block_size: read(settings, BLOCK_SIZE, "number of bytes such as 128m", bytes)?,
        })
    }

    /// The mode of a folder.
    pub(super) const fn folder_mode(self, readers: Readers) -> u32 {
        FOLDER_MODE & !self.mask_of(readers)
    }

    /// What readers do not get.
    const fn mask_of(self, readers: Readers) -> u32 {
        match readers {
            Readers::ByMask => self.mask,
            Readers::Everybody => USUAL_MASK,
            // Nodes read HDFS in the user's name.
            Readers::Nodes | Readers::Own | Readers::OwnWith(_) => CLOSED_MASK,
        }
    }

    /// How hdfs-native is to make a file.
    pub(super) fn options(self, options: CreateOptions) -> WriteOptions {
        let block_size = match options.size {
            Some(size) if size <= SMALL => Some(size.div_ceil(BLOCK_STEP).max(1) * BLOCK_STEP),
            _ => self.block_size,
        };
        let permission = FILE_MODE & !self.mask_of(options.readers);
        WriteOptions {
            block_size,
            replication: self.replication,
            permission: match options.readers {
                Readers::OwnWith(mode) => permission & mode,
                _ => permission,
            },
            overwrite: options.overwrite,
            create_parent: false,
        }
    }
}

/// A mask: octal digits, or what is *not* masked, in letters.
fn mask(text: &str) -> Option<u32> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        let mask = u32::from_str_radix(text, 8).ok()?;
        return (mask <= 0o1777).then_some(mask & 0o777);
    }
    let mut mode = 0;
    for clause in text.split(',') {
        let at = clause.find(['=', '+', '-'])?;
        let (who, rest) = clause.split_at(at);
        let (what, letters) = rest.split_at(1);
        let mut of_whom = 0;
        for letter in who.chars() {
            of_whom |= match letter {
                'u' => 0o700,
                'g' => 0o070,
                'o' => 0o007,
                'a' => 0o777,
                _ => return None,
            };
        }
        if who.is_empty() {
            of_whom = 0o777;
        }
        let mut may = 0;
        for letter in letters.chars() {
            may |= match letter {
                'r' => 0o444,
                'w' => 0o222,
                'x' | 'X' => 0o111,
                _ => return None,
            };
        }
        let may = may & of_whom;
        mode = match what {
            "+" => mode | may,
            "-" => mode & !may,
            _ => (mode & !of_whom) | may,
        };
    }
    Some(!mode & 0o777)
}

/// `134217728`, `128m`, `1G`.
fn bytes(text: &str) -> Option<u64> {
    let last = text.chars().last()?.to_ascii_lowercase();
    let (number, shift) = match PREFIXES.find(last) {
        Some(at) => (
            text.get(..text.len() - 1)?,
            10 * (u32::try_from(at).ok()? + 1),
        ),
        None => (text, 0),
    };
    let number: u64 = number.trim().parse().ok()?;
    number.checked_mul(1 << shift).filter(|bytes| *bytes > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(settings: &[(&str, &str)]) -> Result<WriteSettings, String> {
        let settings = settings.iter();
        let settings: Vec<_> = settings
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        WriteSettings::of(&settings)
    }

    #[test]
    fn a_file_is_made_as_the_settings_say() {
        let set = with(&[(MASK, "077"), (REPLICATION, " 2 "), (BLOCK_SIZE, "1m")]).unwrap();
        let made = set.options(CreateOptions::default());
        assert_eq!((made.permission, made.replication), (0o600, Some(2)));
        assert_eq!(made.block_size, Some(1 << 20));
        assert_eq!(set.folder_mode(Readers::ByMask), 0o700);
        let small = CreateOptions {
            size: Some(3 << 20),
            ..CreateOptions::default()
        };
        assert_eq!(set.options(small).block_size, Some(3 << 20));
        let unset = with(&[(REPLICATION, "")]).unwrap();
        let made = unset.options(CreateOptions::default());
        assert_eq!((made.permission, made.replication), (0o644, None));
        assert!(made.block_size.is_none() && !made.create_parent);
        assert_eq!(unset.folder_mode(Readers::ByMask), 0o755);
    }

    #[test]
    fn whom_a_file_is_for_no_mask_decides() {
        for value in ["000", "022", "777"] {
            let set = with(&[(MASK, value)]).unwrap();
            for readers in [Readers::Nodes, Readers::Own] {
                let made = set.options(CreateOptions {
                    readers,
                    ..CreateOptions::default()
                });
                assert_eq!(made.permission, 0o600);
                assert_eq!(set.folder_mode(readers), 0o700);
            }
            for (mode, kept) in [(0o755, 0o600), (0o444, 0o400)] {
                let made = set.options(CreateOptions {
                    readers: Readers::OwnWith(mode),
                    ..CreateOptions::default()
                });
                assert_eq!(made.permission, kept);
            }
            assert_eq!(set.folder_mode(Readers::Everybody), 0o755);
        }
    }

    #[test]
    fn a_mask_is_read_as_hadoop_reads_it() {
        for (text, wanted) in [
            ("022", 0o022),
            ("0", 0),
            ("1077", 0o077),
            ("u=rwx,g=rx,o=", 0o027),
            ("u=rwx,g=r-x,o=", u32::MAX),
            ("a=rwx", 0),
            ("u=rw,g+r", 0o137),
            ("a=rwx,o-w", 0o002),
            ("888", u32::MAX),
            ("none", u32::MAX),
        ] {
            assert_eq!(mask(text).unwrap_or(u32::MAX), wanted, "{text}");
        }
    }

    #[test]
    fn a_number_of_bytes_is_read_as_hadoop_reads_it() {
        for (text, wanted) in [
            ("1048576", 1 << 20),
            ("64K", 64 << 10),
            ("1m", 1 << 20),
            ("2G", 2 << 30),
        ] {
            assert_eq!(bytes(text), Some(wanted), "{text}");
        }
        for text in ["", "m", "0", "-1", "1.5m", "16e", "many"] {
            assert_eq!(bytes(text), None, "{text}");
        }
    }

    #[test]
    fn a_setting_without_sense_is_named() {
        for (name, value, words) in [
            (
                MASK,
                "rwx",
                "fs.permissions.umask-mode is rwx, which is no mask",
            ),
            (
                REPLICATION,
                "0",
                "dfs.replication is 0, which is no number of copies",
            ),
            (
                BLOCK_SIZE,
                "big",
                "dfs.blocksize is big, which is no number of bytes",
            ),
        ] {
            let refused = with(&[(name, value)]).unwrap_err();
            assert!(refused.starts_with(words), "{refused}");
        }
    }
}
