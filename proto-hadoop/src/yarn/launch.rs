//! What a container is started with.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use credentials::Credentials;
use thiserror::Error;

use crate::wire::yarn;

/// How to start a container.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ContainerLaunch {
    /// Files to put into the working folder, by the name they get there.
    pub resources: BTreeMap<String, LocalResource>,
    /// Environment. Values stand inside double quotes of a generated bash script: `$`, backquote,
    /// backslash and `"` act there. The NodeManager's own variables cannot be overridden.
    pub environment: BTreeMap<String, String>,
    /// Joined by blanks and run by `bash -c`, inside double quotes too. `<LOG_DIR>` stands for the
    /// container's log folder.
    pub commands: Vec<String>,
    /// Tokens and secrets that the container finds in the file that
    /// `HADOOP_TOKEN_FILE_LOCATION` names.
    pub tokens: Credentials,
}

impl From<&ContainerLaunch> for yarn::ContainerLaunchContextProto {
    fn from(launch: &ContainerLaunch) -> Self {
        let tokens = &launch.tokens;
        let with_tokens = !tokens.tokens.is_empty() || !tokens.secrets.is_empty();
        Self {
            local_resources: launch
                .resources
                .iter()
                .map(|(key, resource)| yarn::StringLocalResourceMapProto {
                    key: Some(key.clone()),
                    value: Some(resource.into()),
                })
                .collect(),
            tokens: with_tokens.then(|| tokens.write().into()),
            environment: launch
                .environment
                .iter()
                .map(|(key, value)| yarn::StringStringMapProto {
                    key: Some(key.clone()),
                    value: Some(value.clone()),
                })
                .collect(),
            command: launch.commands.clone(),
            ..Self::default()
        }
    }
}

/// One file that the NodeManager brings to the container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalResource {
    /// Where it lies.
    pub url: ResourceUrl,
    /// Size in bytes, for the NodeManager's accounts; it is not compared.
    pub size: u64,
    /// Modification time in milliseconds since 1970, compared **exactly**: another one fails the
    /// container.
    pub timestamp_ms: i64,
    /// File or archive.
    pub kind: LocalResourceKind,
    /// Who shares the copy on the node.
    pub visibility: Visibility,
}

impl From<&LocalResource> for yarn::LocalResourceProto {
    fn from(resource: &LocalResource) -> Self {
        use yarn::{LocalResourceTypeProto as Kind, LocalResourceVisibilityProto as Sight};
        let kind = match resource.kind {
            LocalResourceKind::File => Kind::File,
            LocalResourceKind::Archive => Kind::Archive,
        };
        let visibility = match resource.visibility {
            Visibility::Public => Sight::Public,
            Visibility::Private => Sight::Private,
            Visibility::Application => Sight::Application,
        };
        Self {
            resource: Some((&resource.url).into()),
            size: Some(i64::try_from(resource.size).unwrap_or(i64::MAX)),
            timestamp: Some(resource.timestamp_ms),
            r#type: Some(kind.into()),
            visibility: Some(visibility.into()),
            ..Self::default()
        }
    }
}

/// What the NodeManager does with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LocalResourceKind {
    /// Linked as it is, read-only and executable.
    File,
    /// Unpacked (zip, jar, tar, tar.gz, tgz) into a folder of the given name.
    Archive,
}

/// Who shares a file on a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Visibility {
    /// Every user; the file must be readable and its folders searchable by all. Stays cached.
    Public,
    /// All applications of the same user. Stays cached.
    Private,
    /// The application; deleted with it.
    Application,
}

/// Where a file lies: `scheme://host:port/path`, host and port optional.
///
/// A high-availability name service stands in `host`, without a port.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceUrl {
    /// Such as `hdfs` or `file`.
    pub scheme: String,
    /// Host or name service.
    pub host: Option<String>,
    /// TCP port.
    pub port: Option<u16>,
    /// Absolute path.
    pub path: String,
}

impl From<&ResourceUrl> for yarn::UrlProto {
    fn from(url: &ResourceUrl) -> Self {
        Self {
            scheme: Some(url.scheme.clone()),
            host: url.host.clone(),
            // Left out, it would be read as 0 and become part of the address.
            port: Some(url.port.map_or(-1, i32::from)),
            file: Some(url.path.clone()),
            user_info: None,
        }
    }
}

impl fmt::Display for ResourceUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}://{}",
            self.scheme,
            self.host.as_deref().unwrap_or("")
        )?;
        if let Some(port) = self.port {
            write!(f, ":{port}")?;
        }
        f.write_str(&self.path)
    }
}

/// A text that is not `scheme://host:port/path`.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("\"{text}\" is not an address such as hdfs://namenode:8020/path or file:///path")]
pub struct UrlError {
    /// The text.
    pub text: String,
}

impl FromStr for ResourceUrl {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        let parse = || {
            let (scheme, rest) = text.split_once(':')?;
            let (authority, path) = match rest.strip_prefix("//") {
                Some(rest) => rest.split_at_checked(rest.find('/')?)?,
                None => ("", rest),
            };
            let named = |host: &str| Some(host.to_owned()).filter(|host| !host.is_empty());
            let (host, port) = match authority.rsplit_once(':') {
                // The colons of a bracketed IPv6 address do not announce a port.
                Some((host, port)) if !port.ends_with(']') => {
                    (Some(named(host)?), Some(port.parse().ok()?))
                }
                _ => (named(authority), None),
            };
            let scheme_holds = !scheme.is_empty()
                && scheme
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
            (scheme_holds && path.starts_with('/')).then(|| Self {
                scheme: scheme.to_owned(),
                host,
                port,
                path: path.to_owned(),
            })
        };
        parse().ok_or_else(|| UrlError {
            text: text.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_round_trip() {
        for text in [
            "hdfs://nn1:8020/a/b",
            "hdfs://service/a",
            "file:///tmp/x",
            "hdfs://[::1]:1/x",
        ] {
            assert_eq!(text.parse::<ResourceUrl>().unwrap().to_string(), text);
        }
        let plain: ResourceUrl = "file:/tmp/x".parse().unwrap();
        assert_eq!(plain.to_string(), "file:///tmp/x");
        for text in [
            "",
            "/tmp/x",
            "hdfs://nn",
            "hdfs://nn:x/a",
            "hdfs://:1/a",
            "hdfs:a",
        ] {
            assert!(text.parse::<ResourceUrl>().is_err(), "{text}");
        }
    }

    #[test]
    fn no_port_travels_as_minus_one() {
        let url: ResourceUrl = "hdfs://service/a".parse().unwrap();
        assert_eq!(yarn::UrlProto::from(&url).port, Some(-1));
    }
}
