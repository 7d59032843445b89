//! Names of files, as people write them, on the file systems that all nodes see.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use gerbil_task::inputs::InputError;
use proto_hadoop::NameNodeClient;
use staging::StageError;
use staging::root::named;
use storage::{Address, Storage};

use crate::blocks;
use crate::cluster::Cluster;
use crate::error::MapReduceError;

/// A file, folder or pattern on a file system.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Location {
    /// The file system.
    pub address: Address,
    /// Absolute, without empty parts.
    pub path: String,
}

impl Location {
    /// Its whole name.
    #[must_use]
    pub fn url(&self) -> String {
        self.address.url(&self.path)
    }
}

/// Where names lead, with a client of each file system.
#[derive(Debug)]
pub struct FileSystems {
    cluster: Arc<Cluster>,
    open: Mutex<BTreeMap<Address, Arc<Storage>>>,
    /// Whom one asks where files lie.
    name_nodes: Mutex<BTreeMap<Address, Arc<NameNodeClient>>>,
}

impl FileSystems {
    /// Of a cluster.
    #[must_use]
    pub fn new(cluster: Arc<Cluster>) -> Self {
        Self {
            cluster,
            open: Mutex::default(),
            name_nodes: Mutex::default(),
        }
    }

    /// Where `name` leads: to the file system that it names, or the default one, where what does not begin with /
    /// lies in the user's home folder. Without a default file system it is a folder that is mounted everywhere.
    ///
    /// # Errors
    /// It is a file system that is not spoken here, or no path of Hadoop's.
    pub fn find(&self, name: &str) -> Result<Location, MapReduceError> {
        let refused = |why: &str| MapReduceError::Place {
            name: name.to_owned(),
            why: why.to_owned(),
        };
        if name.is_empty() {
            return Err(InputError::Empty(String::new()).into());
        }
        let hadoop = |key: &str| self.cluster.hadoop(key);
        let found = match named(name, &self.cluster.user, &hadoop, None) {
            Ok(found) => found,
            // Hadoop's own default.
            Err(StageError::NoSharedFileSystem { .. }) => staging::root::GivenPath {
                address: Address::Shared,
                path: name.to_owned(),
                home: None,
            },
            Err(StageError::BadRoot { why, .. }) => return Err(refused(&why)),
            Err(error) => return Err(refused(&error.to_string())),
        };
        let (address, path) = (found.address, found.path);
        let path = match (path.starts_with('/'), &found.home) {
            (true, _) => path,
            (false, Some(home)) => format!("{home}/{path}"),
            (false, None) => {
                let here = std::path::absolute(&path);
                let here = here.map_err(|error| refused(&error.to_string()))?;
                let here = here.to_str();
                here.ok_or_else(|| refused("the working folder's name is no text"))?
                    .to_owned()
            }
        };
        let mut clean = String::new();
        for part in path
            .split('/')
            .filter(|part| !part.is_empty() && *part != ".")
        {
            if part == ".." {
                return Err(refused("a path of Hadoop has no .."));
            }
            clean.push('/');
            clean.push_str(part);
        }
        if clean.is_empty() {
            clean.push('/');
        }
        Ok(Location {
            address,
            path: clean,
        })
    }

    /// The user's home folder on a file system, if he has one there.
    #[must_use]
    pub fn home(&self, address: &Address) -> Option<String> {
        if *address == Address::Shared {
            let home = std::env::var("HOME").ok()?;
            return home.starts_with('/').then_some(home);
        }
        let hadoop = |key: &str| self.cluster.hadoop(key);
        let top = named(&address.url("/"), &self.cluster.user, &hadoop, None);
        top.ok()?.home
    }

    /// What Hadoop's settings here say.
    pub(crate) fn hadoop(&self, key: &str) -> Option<String> {
        self.cluster.hadoop(key)
    }

    /// A client of this file system.
    ///
    /// # Errors
    /// The settings make no sense.
    pub fn storage(&self, address: &Address) -> Result<Arc<Storage>, MapReduceError> {
        // Whoever panicked while he held it has left it whole.
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(storage) = open.get(address) {
            return Ok(Arc::clone(storage));
        }
        let storage = Arc::new(Storage::open(address)?);
        open.insert(address.clone(), Arc::clone(&storage));
        Ok(storage)
    }

    /// Whom to ask where the files of this file system lie; `None`: nobody knows.
    pub(crate) fn name_node(&self, address: &Address) -> Option<Arc<NameNodeClient>> {
        // As above.
        let mut known = self
            .name_nodes
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = known.get(address) {
            return Some(Arc::clone(client));
        }
        let client = Arc::new(blocks::name_node(address)?);
        known.insert(address.clone(), Arc::clone(&client));
        Some(client)
    }
}

/// Magic numbers of file systems that are a network's, and so may be mounted elsewhere too (statfs(2)): NFS, SMB in
/// two versions, CIFS, Lustre, CephFS, AFS, 9P, FUSE (GlusterFS, SSHFS and many more), BeeGFS, GPFS, OCFS2, GFS2,
/// OrangeFS, autofs.
const OF_A_NETWORK: [u64; 15] = [
    0x6969,
    0x517b,
    0xfe53_4d42,
    0xff53_4d42,
    0x0bd0_0bd0,
    0x00c3_6400,
    0x5346_414f,
    0x0102_1997,
    0x6573_5546,
    0x1983_0326,
    0x4750_4653,
    0x7461_636f,
    0x0116_1970,
    0x2003_0528,
    0x0187,
];

/// What should be known of a folder that nodes are to find under the same path, if it lies on a disk of this
/// machine.
#[must_use]
pub fn of_a_disk(place: &Location) -> Option<String> {
    if place.address != Address::Shared {
        return None;
    }
    // Of one that is not there yet the one above.
    let there = Path::new(&place.path)
        .ancestors()
        .find(|path| path.exists())?;
    let about = rustix::fs::statfs(there).ok()?;
    let kind = u64::try_from(about.f_type).ok()?;
    (!OF_A_NETWORK.contains(&kind)).then(|| {
        format!(
            "{} lies on a disk of this machine: nodes that have not mounted it under the same path will not find it",
            place.url()
        )
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proto_hadoop::conf::Configuration;

    use super::FileSystems;
    use crate::Cluster;

    fn places(settings: &[(&str, &str)]) -> FileSystems {
        let text: String = settings
            .iter()
            .map(|(key, value)| {
                format!("<property><name>{key}</name><value>{value}</value></property>")
            })
            .collect();
        let text = format!("<configuration>{text}</configuration>");
        let cluster = Cluster {
            configuration: Configuration::from_xml(&text, &|_| None).unwrap(),
            user: "alice".into(),
        };
        FileSystems::new(Arc::new(cluster))
    }

    #[test]
    fn a_name_leads_where_hadoop_takes_it() {
        let hdfs = places(&[("fs.defaultFS", "hdfs://head:9000")]);
        for (name, url) in [
            ("in", "hdfs://head:9000/user/alice/in"),
            ("/in//x/", "hdfs://head:9000/in/x"),
            ("hdfs:///in/*", "hdfs://head:9000/in/*"),
            ("hdfs://other:8020/in/{a,b}", "hdfs://other:8020/in/{a,b}"),
            ("file:/data/in", "file:/data/in"),
            ("file:///data/in", "file:/data/in"),
            ("a/./b", "hdfs://head:9000/user/alice/a/b"),
        ] {
            assert_eq!(hdfs.find(name).unwrap().url(), url, "{name}");
        }
        for (name, why) in [
            ("s3a://bucket/x", "s3a:"),
            ("../x", "no .."),
            (
                "viewfs://c/x",
                "the mount table of viewfs://c leads nowhere for /x",
            ),
        ] {
            let refused = hdfs.find(name).unwrap_err().to_string();
            assert!(
                refused.starts_with(name) && refused.contains(why),
                "{refused}"
            );
        }
        let mounted = places(&[
            ("fs.defaultFS", "viewfs://site"),
            ("fs.viewfs.mounttable.site.link./user", "hdfs://head/home"),
            ("fs.viewfs.mounttable.site.link./data", "hdfs://far:9000/"),
        ]);
        for (name, url) in [
            ("in", "hdfs://head:8020/home/alice/in"),
            ("/data/x/*", "hdfs://far:9000/x/*"),
            ("viewfs://site/data/x", "hdfs://far:9000/x"),
            ("viewfs:///data/x", "hdfs://far:9000/x"),
        ] {
            assert_eq!(mounted.find(name).unwrap().url(), url, "{name}");
        }
        let none = places(&[]);
        let here = std::env::current_dir().unwrap();
        let here = format!("file:{}/in", here.display());
        assert_eq!(none.find("in").unwrap().url(), here);
    }
}
