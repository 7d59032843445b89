//! What moves between the cluster's file system and the nodes.

use clap::Args;

/// The options on data.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Data")]
pub(crate) struct DataArguments {
    /// A file or folder of hdfs:// (or of a file: folder that all nodes have) to bring into the
    /// folder of every container before the processes start, under its own name or another; may be
    /// given again. It cannot be written to there, and YARN keeps it for the next job
    #[arg(long, value_name = "URL[=NAME]", value_parser = stage_in)]
    pub stage_in: Vec<Incoming>,
}

/// Something to be brought to every container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Incoming {
    /// A path, with scheme and host or without.
    pub url: String,
    /// Name in the container's working directory, in parts.
    pub name: String,
}

fn stage_in(text: &str) -> Result<Incoming, String> {
    let (url, name) = match text.rsplit_once('=') {
        Some((url, name)) => (url, name),
        None => {
            let trimmed = text.trim_end_matches('/');
            (text, trimmed.rsplit('/').next().unwrap_or_default())
        }
    };
    Ok(Incoming {
        url: url.to_owned(),
        name: inside(name)
            .ok_or_else(|| format!("{name:?} is no name inside the container's folder"))?,
    })
}

/// A path that stays in its folder, without empty parts.
pub(super) fn inside(path: &str) -> Option<String> {
    let path = path.trim_end_matches('/');
    let parts: Vec<&str> = path.split('/').filter(|part| *part != ".").collect();
    let leaves = |part: &&str| part.is_empty() || *part == "..";
    (!parts.is_empty() && !parts.iter().any(leaves)).then(|| parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_in_has_its_own_name_or_another() {
        let read = |text: &str| {
            let Incoming { url, name } = stage_in(text).ok()?;
            Some((url, name))
        };
        let pair = |url: &str, name: &str| Some((url.to_owned(), name.to_owned()));
        assert_eq!(read("hdfs:///d/x.txt"), pair("hdfs:///d/x.txt", "x.txt"));
        assert_eq!(read("/d/x/"), pair("/d/x/", "x"));
        assert_eq!(read("hdfs://h:1/d=in/x"), pair("hdfs://h:1/d", "in/x"));
        assert_eq!(read("/d/day=3=day"), pair("/d/day=3", "day"));
        for bad in ["/", "/d=/x", "/d=../x", "/d=", "/d=."] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }
}
