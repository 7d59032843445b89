//! Where a name of viewfs leads, by the mount table in Hadoop's settings.
//!
//! The table is the client's own: nodes are told the file system behind a mount, and never see viewfs. The deepest mount
//! above a name is its own (`link.`); a name below none goes to `linkFallback`, and with `linkMergeSlash` the whole table
//! is one file system.

/// Names of the settings of the mount table TABLE begin so: `fs.viewfs.mounttable.TABLE.link./user`.
const TABLES: &str = "fs.viewfs.mounttable.";
/// Of `viewfs:///`.
const DEFAULT: &str = "default";

/// The address behind `path`, an absolute path of the file system `viewfs://TABLE`; `hadoop` looks up one setting.
/// `None`: the table mounts nothing above it.
pub(crate) fn behind(
    table: &str,
    path: &str,
    hadoop: &dyn Fn(&str) -> Option<String>,
) -> Option<String> {
    let table = if table.is_empty() { DEFAULT } else { table };
    let set = |what: &str| {
        let target = hadoop(&format!("{TABLES}{table}.{what}"));
        let target = target.map(|target| target.trim().to_owned());
        target.filter(|target| !target.is_empty())
    };
    let parts = path.split('/').filter(|part| !part.is_empty());
    let parts: Vec<&str> = parts.collect();
    let below = |target: String, rest: &[&str]| {
        let rest: String = rest.iter().map(|part| format!("/{part}")).collect();
        format!("{}{rest}", target.trim_end_matches('/'))
    };
    let mounted = (1..=parts.len()).rev().find_map(|depth| {
        let (above, rest) = parts.split_at_checked(depth)?;
        Some(below(set(&format!("link./{}", above.join("/")))?, rest))
    });
    mounted.or_else(|| {
        let whole = set("linkMergeSlash").or_else(|| set("linkFallback"));
        Some(below(whole?, &parts))
    })
}

/// The folder in which the table's users have their homes, where it says so.
pub(crate) fn homes(table: &str, hadoop: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let table = if table.is_empty() { DEFAULT } else { table };
    hadoop(&format!("{TABLES}{table}.homedir"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn led(settings: &[(&str, &str)], path: &str) -> Option<String> {
        let lookup = |key: &str| {
            let found = settings.iter().find(|(name, _)| *name == key);
            found.map(|(_, value)| (*value).to_owned())
        };
        behind("site", path, &lookup)
    }

    const TABLE: [(&str, &str); 3] = [
        ("fs.viewfs.mounttable.site.link./user", "hdfs://nn1/user"),
        ("fs.viewfs.mounttable.site.link./data", " hdfs://nn2/a/ "),
        ("fs.viewfs.mounttable.site.link./data/raw", "hdfs://nn3"),
    ];

    #[test]
    fn the_deepest_mount_above_a_name_is_its_own() {
        for (path, behind) in [
            ("/user/ann/x", "hdfs://nn1/user/ann/x"),
            ("/user", "hdfs://nn1/user"),
            ("/data//y/", "hdfs://nn2/a/y"),
            ("/data/raw/z", "hdfs://nn3/z"),
            ("/data/rawer", "hdfs://nn2/a/rawer"),
        ] {
            assert_eq!(led(&TABLE, path).as_deref(), Some(behind), "{path}");
        }
        assert_eq!(led(&TABLE, "/tmp/x"), None);
        assert_eq!(led(&TABLE, "/"), None);
    }

    #[test]
    fn a_name_below_no_mount_goes_to_the_rest_of_the_table() {
        let fallback = ("fs.viewfs.mounttable.site.linkFallback", "hdfs://nn4/rest");
        let all = [&TABLE[..], &[fallback]].concat();
        assert_eq!(
            led(&all, "/tmp/x").as_deref(),
            Some("hdfs://nn4/rest/tmp/x")
        );
        assert_eq!(led(&all, "/user/a").as_deref(), Some("hdfs://nn1/user/a"));
        let merged = [("fs.viewfs.mounttable.site.linkMergeSlash", "hdfs://nn5/")];
        assert_eq!(led(&merged, "/tmp/x").as_deref(), Some("hdfs://nn5/tmp/x"));
    }
}
