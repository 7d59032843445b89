//! Which folder of which file system things are staged in.

use storage::Address;

use super::error::StageError;
use super::mount_table;

/// Port of a NameNode whose address has none.
const NAMENODE_PORT: u16 = 8020;
/// Rounds over all NameNodes before the answer is that none can be reached; with hdfs-native's waits
/// between them (about 1 and 2 s) a NameNode that is gone is told within 4 s.
const ROUNDS: usize = 2;

/// Where things are staged, or lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    /// The file system. Its settings have their variables replaced; they win over what hdfs-native reads
    /// itself.
    pub address: Address,
    /// Absolute path of the folder.
    pub path: String,
    /// The user's home folder, on HDFS.
    pub home: Option<String>,
}

/// A name on a file system, as it was given: whatever may stand in it is still there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenPath {
    /// The file system.
    pub address: Address,
    /// What follows scheme and host.
    pub path: String,
    /// The user's home folder, on HDFS.
    pub home: Option<String>,
}

/// Finds the file system of `name`, an address or a path of the default file system. `hadoop` looks up one
/// Hadoop setting; `conf_dir` is named in errors.
///
/// # Errors
///
/// [`StageError::NoSharedFileSystem`], [`StageError::BadRoot`].
pub fn named(
    name: &str,
    user: &str,
    hadoop: &dyn Fn(&str) -> Option<String>,
    conf_dir: Option<&str>,
) -> Result<GivenPath, StageError> {
    let on_hdfs = |authority: &str, path: &str| GivenPath {
        address: hdfs(authority, user, hadoop),
        path: path.to_owned(),
        home: Some(home(user, hadoop)),
    };
    let behind = behind_mounts(name, user, hadoop)?;
    match split(behind.as_deref().unwrap_or(name)) {
        (Some("file"), None | Some("" | "localhost"), path) => Ok(GivenPath {
            address: Address::Shared,
            path: path.to_owned(),
            home: None,
        }),
        (Some("file"), Some(host), _) => Err(bad(
            name,
            &format!("a file: path has no host ({host}); write file:/FOLDER"),
        )),
        (Some("hdfs"), Some(authority), path) if !authority.is_empty() => {
            Ok(on_hdfs(authority, path))
        }
        (Some("hdfs") | None, _, path) => Ok(on_hdfs(&default_authority(hadoop, conf_dir)?, path)),
        (Some(scheme), ..) => Err(bad(
            name,
            &format!("{scheme}: is not spoken here, only hdfs://, viewfs:// and file:"),
        )),
    }
}

/// The address behind a name of viewfs, or a path of it where it is the default file system; `None`: it is no such name.
fn behind_mounts(
    name: &str,
    user: &str,
    hadoop: &dyn Fn(&str) -> Option<String>,
) -> Result<Option<String>, StageError> {
    let default = hadoop("fs.defaultFS").unwrap_or_default();
    let default = match split(default.trim()) {
        (Some("viewfs"), table, _) => Some(table.unwrap_or_default()),
        _ => None,
    };
    let (table, path) = match (split(name), default) {
        ((Some("viewfs"), Some(table), path), _) if !table.is_empty() => (table, path),
        ((Some("viewfs"), _, path), default) => (default.unwrap_or_default(), path),
        ((None, _, path), Some(default)) => (default, path),
        _ => return Ok(None),
    };
    let path = match path.starts_with('/') {
        true => path.to_owned(),
        false => format!("{}/{path}", mounted_home(table, user, hadoop)),
    };
    match mount_table::behind(table, &path, hadoop) {
        Some(behind) => Ok(Some(behind)),
        None => Err(bad(
            name,
            &format!(
                "the mount table of viewfs://{table} leads nowhere for {path}; give a folder below one of its mounts, \
                 or an address that begins with hdfs://"
            ),
        )),
    }
}

/// The user's home folder in the mount table.
fn mounted_home(table: &str, user: &str, hadoop: &dyn Fn(&str) -> Option<String>) -> String {
    match mount_table::homes(table, hadoop) {
        Some(homes) => format!("{}/{user}", homes.trim().trim_end_matches('/')),
        None => home(user, hadoop),
    }
}

/// The user's home folder on HDFS.
fn home(user: &str, hadoop: &dyn Fn(&str) -> Option<String>) -> String {
    let prefix = hadoop("dfs.user.home.dir.prefix");
    let prefix = prefix.as_deref().map_or("/user", str::trim);
    let prefix = prefix.trim_end_matches('/');
    format!("{prefix}/{user}")
}

/// The host, or nameservice, of the default file system.
fn default_authority(
    hadoop: &dyn Fn(&str) -> Option<String>,
    conf_dir: Option<&str>,
) -> Result<String, StageError> {
    let default = hadoop("fs.defaultFS");
    let text = default.as_deref().map_or("not set", str::trim);
    match split(text) {
        (Some("hdfs"), Some(authority), _) if !authority.is_empty() => Ok(authority.to_owned()),
        (Some("file"), ..) | (None, ..) => Err(StageError::NoSharedFileSystem {
            value: text.into(),
            conf: conf_dir.unwrap_or("HADOOP_CONF_DIR").into(),
        }),
        _ => Err(bad(
            text,
            "gerbil-run can write to hdfs://, viewfs:// and file: alone; \
                                give --staging one of those",
        )),
    }
}

/// Finds the root: `staging` as the user gave it, or `.gerbil` in the home folder of the default
/// file system. `hadoop` looks up one Hadoop setting; `conf_dir` is named in errors.
///
/// # Errors
///
/// [`StageError::NoSharedFileSystem`], [`StageError::BadRoot`].
pub fn resolve(
    staging: Option<&str>,
    user: &str,
    hadoop: &dyn Fn(&str) -> Option<String>,
    conf_dir: Option<&str>,
) -> Result<Root, StageError> {
    let default = hadoop("fs.defaultFS").unwrap_or_default();
    let Some(given) = staging else {
        if let (Some("viewfs"), table, _) = split(default.trim()) {
            let home = mounted_home(table.unwrap_or_default(), user, hadoop);
            let found = named(&home, user, hadoop, conf_dir)?;
            return Ok(Root {
                address: found.address,
                path: format!("{}/.gerbil", found.path),
                home: Some(found.path),
            });
        }
        let authority = default_authority(hadoop, conf_dir)?;
        let home = home(user, hadoop);
        return Ok(Root {
            address: hdfs(&authority, user, hadoop),
            path: format!("{home}/.gerbil"),
            home: Some(home),
        });
    };
    folder(given, split(given).2)?;
    let named = named(given, user, hadoop, conf_dir)?;
    Ok(Root {
        address: named.address,
        path: folder(given, &named.path)?,
        home: named.home,
    })
}

fn bad(root: &str, why: &str) -> StageError {
    StageError::BadRoot {
        root: root.into(),
        why: why.into(),
    }
}

/// Scheme, authority and path of a URL, or of a path alone.
fn split(url: &str) -> (Option<&str>, Option<&str>, &str) {
    let (scheme, rest) = match url.split_once(':') {
        Some((scheme, rest)) if !scheme.contains('/') => (Some(scheme), rest),
        _ => (None, url),
    };
    match rest.strip_prefix("//") {
        Some(rest) if scheme.is_some() => {
            let end = rest.find('/').unwrap_or(rest.len());
            (scheme, Some(&rest[..end]), &rest[end..])
        }
        _ => (scheme, None, rest),
    }
}

/// An absolute path without empty parts. What Hadoop's own paths cannot say is refused.
fn folder(root: &str, path: &str) -> Result<String, StageError> {
    if !path.starts_with('/') {
        return Err(bad(root, "its path must be absolute and begin with /"));
    }
    let mut clean = String::new();
    for part in path.split('/').filter(|part| !part.is_empty()) {
        if part == "." || part == ".." || part.contains([':', '\\']) {
            return Err(bad(
                root,
                &format!("folder name {part:?} cannot stand in a Hadoop path"),
            ));
        }
        clean.push('/');
        clean.push_str(part);
    }
    if clean.is_empty() {
        return Err(bad(
            root,
            "the top folder itself is not for staging; name one below it",
        ));
    }
    Ok(clean)
}

fn hdfs(authority: &str, user: &str, hadoop: &dyn Fn(&str) -> Option<String>) -> Address {
    let mut settings: Vec<(String, String)> = Vec::new();
    // Hadoop trims all of them; hdfs-native takes them as they come.
    let read = |key: &str| {
        let value = hadoop(key).map(|value| value.trim().to_owned());
        value.filter(|value| !value.is_empty())
    };
    let mut copy = |key: String| {
        if let Some(value) = read(&key) {
            settings.push((key, value));
        }
    };
    for key in [
        "dfs.block.access.token.enable",
        "dfs.blocksize",
        "dfs.client.block.write.replace-datanode-on-failure.best-effort",
        "dfs.client.block.write.replace-datanode-on-failure.enable",
        "dfs.client.block.write.replace-datanode-on-failure.policy",
        "dfs.client.use.datanode.hostname",
        "dfs.data.transfer.protection",
        "dfs.encrypt.data.transfer",
        "dfs.replication",
        "fs.permissions.umask-mode",
        "hadoop.security.authentication",
    ] {
        copy(key.into());
    }
    let mut connect = format!("hdfs://{authority}");
    let mut origin = connect.clone();
    let mut namenodes = 1;
    if !authority.contains(':') {
        let ids_key = format!("dfs.ha.namenodes.{authority}");
        if let Some(ids) = read(&ids_key) {
            let ids = ids.split(',').map(str::trim).filter(|id| !id.is_empty());
            let ids: Vec<&str> = ids.collect();
            namenodes = ids.len();
            for id in &ids {
                copy(format!("dfs.namenode.rpc-address.{authority}.{id}"));
            }
            for key in ["failover.resolve-needed", "failover.resolver.useFQDN"] {
                copy(format!("dfs.client.{key}.{authority}"));
            }
            copy(format!("dfs.client.failover.random.order.{authority}"));
            copy(format!("dfs.client.failover.proxy.provider.{authority}"));
            settings.push((ids_key, ids.join(",")));
        } else if let Some(address) = read(&format!("dfs.namenode.rpc-address.{authority}")) {
            connect = format!("hdfs://{address}");
        } else {
            origin = format!("hdfs://{authority}:{NAMENODE_PORT}");
            connect.clone_from(&origin);
        }
    }
    let attempts = (namenodes * ROUNDS).to_string();
    settings.push(("dfs.client.failover.max.attempts".into(), attempts));
    settings.push(("dfs.client.failover.sleep.base.millis".into(), "500".into()));
    // A DataNode that does not answer is left out sooner than a piece of an upload may last.
    settings.push(("dfs.client.socket-timeout".into(), "10000".into()));
    Address::Hdfs {
        connect,
        origin,
        user: user.into(),
        settings,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(settings: &[(&str, &str)], staging: Option<&str>) -> Result<Root, StageError> {
        let lookup = |key: &str| {
            let found = settings.iter().find(|(name, _)| *name == key);
            found.map(|(_, value)| (*value).to_owned())
        };
        resolve(staging, "alice", &lookup, Some("/etc/hadoop"))
    }

    /// A root on HDFS, its address taken apart.
    struct OnHdfs {
        path: String,
        home: String,
        origin: String,
        connect: String,
        settings: Vec<(String, String)>,
    }

    fn on_hdfs(settings: &[(&str, &str)], staging: Option<&str>) -> OnHdfs {
        let Root {
            address,
            path,
            home,
        } = with(settings, staging).unwrap();
        match address {
            Address::Hdfs {
                connect,
                origin,
                user,
                settings,
            } => {
                assert_eq!(user, "alice");
                OnHdfs {
                    path,
                    home: home.unwrap(),
                    origin,
                    connect,
                    settings,
                }
            }
            Address::Shared => panic!("{path}"),
        }
    }

    const HEAD: (&str, &str) = ("fs.defaultFS", "hdfs://head:9000/");

    #[test]
    fn the_default_is_the_home_folder_of_the_default_file_system() {
        let root = on_hdfs(&[HEAD], None);
        assert_eq!(root.path, "/user/alice/.gerbil");
        assert_eq!(
            (root.origin.as_str(), root.connect.as_str()),
            ("hdfs://head:9000", "hdfs://head:9000")
        );
        let root = on_hdfs(&[HEAD, ("dfs.user.home.dir.prefix", "/home/")], None);
        assert_eq!(
            (root.path.as_str(), root.home.as_str()),
            ("/home/alice/.gerbil", "/home/alice")
        );
        let root = on_hdfs(&[("fs.defaultFS", "hdfs://head")], None);
        assert_eq!(root.origin, "hdfs://head:8020");
    }

    #[test]
    fn a_nameservice_keeps_its_name_in_urls() {
        let settings = [
            ("fs.defaultFS", "hdfs://ns"),
            ("dfs.ha.namenodes.ns", "a, b"),
            ("dfs.namenode.rpc-address.ns.a", "h1:8020"),
            ("dfs.namenode.rpc-address.ns.b", "h2:8020"),
        ];
        let root = on_hdfs(&settings, None);
        assert_eq!(
            (root.origin.as_str(), root.connect.as_str()),
            ("hdfs://ns", "hdfs://ns")
        );
        for (key, value) in &settings[2..] {
            assert!(
                root.settings.contains(&((*key).into(), (*value).into())),
                "{key}"
            );
        }
        let ids = ("dfs.ha.namenodes.ns".into(), "a,b".into());
        assert!(root.settings.contains(&ids), "{:?}", root.settings);
        let attempts = ("dfs.client.failover.max.attempts".into(), "4".into());
        assert!(root.settings.contains(&attempts));
        let one = [settings[0], ("dfs.namenode.rpc-address.ns", "h3:8020")];
        let root = on_hdfs(&one, None);
        assert_eq!(
            (root.origin.as_str(), root.connect.as_str()),
            ("hdfs://ns", "hdfs://h3:8020")
        );
    }

    #[test]
    fn blanks_and_line_breaks_around_settings_are_nothing() {
        let settings = [
            ("fs.defaultFS", "\n  hdfs://ns\n "),
            ("dfs.user.home.dir.prefix", " /home "),
            ("dfs.ha.namenodes.ns", " a ,\n b, "),
            ("dfs.namenode.rpc-address.ns.a", " h1:8020 "),
            ("dfs.namenode.rpc-address.ns.b", "h2:8020\n"),
            ("dfs.replication", " 2 "),
            ("fs.permissions.umask-mode", ""),
        ];
        let root = on_hdfs(&settings, None);
        assert_eq!(
            (root.origin.as_str(), root.path.as_str()),
            ("hdfs://ns", "/home/alice/.gerbil")
        );
        for (key, value) in [
            ("dfs.ha.namenodes.ns", "a,b"),
            ("dfs.namenode.rpc-address.ns.a", "h1:8020"),
            ("dfs.namenode.rpc-address.ns.b", "h2:8020"),
            ("dfs.replication", "2"),
            ("dfs.client.failover.max.attempts", "4"),
        ] {
            let wanted = (key.to_owned(), value.to_owned());
            assert!(
                root.settings.contains(&wanted),
                "{key}: {:?}",
                root.settings
            );
        }
        let mask = |(key, _): &(String, String)| key == "fs.permissions.umask-mode";
        assert!(!root.settings.iter().any(mask));
        let one = [settings[0], ("dfs.namenode.rpc-address.ns", " h3:8020 ")];
        assert_eq!(on_hdfs(&one, None).connect, "hdfs://h3:8020");
    }

    #[test]
    fn a_mount_table_is_resolved_here() {
        let table = [
            ("fs.defaultFS", "viewfs://site"),
            ("fs.viewfs.mounttable.site.link./home", "hdfs://ns/users"),
            ("fs.viewfs.mounttable.site.link./shared", "file:///mnt"),
            ("fs.viewfs.mounttable.site.homedir", "/home"),
            ("dfs.ha.namenodes.ns", "a,b"),
            ("dfs.namenode.rpc-address.ns.a", "h1:8020"),
            ("dfs.namenode.rpc-address.ns.b", "h2:8020"),
        ];
        let root = on_hdfs(&table, None);
        assert_eq!(
            (root.origin.as_str(), root.path.as_str()),
            ("hdfs://ns", "/users/alice/.gerbil")
        );
        let address = ("dfs.namenode.rpc-address.ns.b".into(), "h2:8020".into());
        assert!(root.settings.contains(&address));
        assert_eq!(on_hdfs(&table, Some("/home/x")).path, "/users/x");
        let mounted = with(&table, Some("viewfs:///shared/s")).unwrap();
        assert_eq!(
            (mounted.address, mounted.path.as_str()),
            (Address::Shared, "/mnt/s")
        );
    }

    #[test]
    fn staging_wins_in_all_its_forms() {
        for text in [
            "file:/shared//g/",
            "file:///shared/g",
            "file://localhost/shared/g",
        ] {
            let root = with(&[], Some(text)).unwrap();
            let address = Address::Shared;
            let (path, home) = ("/shared/g".into(), None);
            assert_eq!(
                root,
                Root {
                    address,
                    path,
                    home
                }
            );
        }
        let root = on_hdfs(&[HEAD], Some("hdfs://other:8020/s"));
        assert_eq!(
            (root.path.as_str(), root.origin.as_str()),
            ("/s", "hdfs://other:8020")
        );
        for text in ["/s", "hdfs:///s", "hdfs:/s"] {
            let root = on_hdfs(&[HEAD], Some(text));
            assert_eq!(
                (root.path.as_str(), root.origin.as_str()),
                ("/s", "hdfs://head:9000")
            );
        }
    }

    #[test]
    fn what_cannot_be_used_is_refused_with_its_reason() {
        let words = |settings: &[(&str, &str)], staging| {
            let refused = with(settings, staging).unwrap_err();
            assert_eq!(refused.exit(), job::exit::Exit::Config);
            refused.to_string()
        };
        assert!(words(&[], None).contains("not set"));
        assert!(words(&[], None).contains("/etc/hadoop"));
        assert!(words(&[("fs.defaultFS", "file:///")], None).contains("file:///"));
        assert!(words(&[("fs.defaultFS", "s3a://bucket")], None).contains("s3a://bucket"));
        assert!(words(&[HEAD], Some("s3a://bucket/x")).contains("s3a:"));
        assert!(words(&[("fs.defaultFS", "viewfs://site")], None).contains("leads nowhere"));
        assert!(words(&[HEAD], Some("shared")).contains("absolute"));
        assert!(words(&[HEAD], Some("file:shared")).contains("absolute"));
        assert!(words(&[HEAD], Some("file:/a/../b")).contains(".."));
        assert!(words(&[HEAD], Some("file:/a:b/c")).contains("a:b"));
        // As HDFS has them.
        let odd = "/a b/ts=00%3A00/i#j/k?l";
        assert_eq!(with(&[HEAD], Some(odd)).unwrap().path, odd);
        assert!(words(&[HEAD], Some("file:/")).contains("top folder"));
        assert!(words(&[HEAD], Some("file://host/b")).contains("no host"));
    }
}
