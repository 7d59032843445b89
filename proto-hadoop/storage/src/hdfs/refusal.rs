//! What a NameNode's refusal is, by the class of its exception.

use hdfs_native::HdfsError;

use crate::StorageError;

/// What a server said is cut to this many characters.
const SAID_MAX: usize = 300;

/// Of an error of a call that does something to `url` in the name of `user`.
pub(super) fn of(error: &HdfsError, doing: &'static str, url: String, user: &str) -> StorageError {
    let user = user.to_owned();
    let (class, said) = match error {
        HdfsError::AlreadyExists(_) => return StorageError::Exists { url },
        HdfsError::FileNotFound(_) => return StorageError::Absent { url },
        HdfsError::RPCError(class, said) | HdfsError::FatalRPCError(class, said) => (
            class.rsplit(['.', '$']).next().unwrap_or(class),
            first_line(said),
        ),
        HdfsError::IOError(error) => ("", first_line(&error.to_string())),
        other => ("", first_line(&other.to_string())),
    };
    // Without the keys its bytes are of no use, and hdfs-native speaks of how it was built.
    if matches!(error, HdfsError::UnsupportedFeature(_)) && said.contains("encryption zone") {
        let said = "it lies in an encryption zone, whose keys gerbil does not ask for; name a folder outside of it";
        let said = said.to_owned();
        return StorageError::Refused { doing, url, said };
    }
    // Retriable exceptions carry the true one in their words.
    if class == "SafeModeException" || said.contains("in safe mode") {
        return StorageError::SafeMode { doing, url, said };
    }
    if said.contains("could only be") && said.contains("minReplication") {
        return StorageError::Full { doing, url, said };
    }
    let authentication = said.contains("authentication is not enabled")
        || matches!(
            error,
            HdfsError::SASLError(_) | HdfsError::GSSAPIError(..) | HdfsError::NoSASLMechanism
        )
        || matches!(class, "SaslException" | "GSSException" | "InvalidToken");
    if authentication {
        return StorageError::Authentication {
            doing,
            url,
            user,
            said,
        };
    }
    let down = |said| StorageError::Down {
        doing,
        url: url.clone(),
        said,
    };
    match class {
        // It looks at the kinds of both before it says that the new name is taken.
        "IOException" if said.ends_with("must both be directories") => StorageError::Exists { url },
        // As a NameNode 3.4 says of some calls, and "ParentNotDirectoryException" of the others.
        "AccessControlException" if said.ends_with("(is not a directory)") => {
            StorageError::Absent { url }
        }
        "AccessControlException" | "AuthorizationException" => StorageError::Permission {
            doing,
            url,
            user,
            said,
        },
        // NSQuotaExceededException, DSQuotaExceededException, QuotaByStorageTypeExceeded…
        class if class.contains("Quota") => {
            let said = format!("{class}: {said}");
            StorageError::Quota { doing, url, said }
        }
        "FileAlreadyExistsException" | "PathIsNotEmptyDirectoryException" => {
            StorageError::Exists { url }
        }
        // The second: the folder above is a file.
        "FileNotFoundException" | "ParentNotDirectoryException" => StorageError::Absent { url },
        "StandbyException" => down(format!("none of its NameNodes is active: {said}")),
        _ if class == "RpcNoSuchProtocolException"
            || matches!(error, HdfsError::InvalidRPCResponse(_)) =>
        {
            down(format!("what answers there is not a NameNode: {said}"))
        }
        _ if matches!(error, HdfsError::IOError(_)) => down(said),
        "" | "IOException" => StorageError::Refused { doing, url, said },
        class => {
            let said = format!("{class}: {said}");
            StorageError::Refused { doing, url, said }
        }
    }
}

/// What hdfs-native says of a block that no DataNode gives, with its table of them made readable.
pub(super) fn replicas(said: &str) -> String {
    let Some(table) = said.strip_prefix("All DataNodes failed: ") else {
        return said.to_owned();
    };
    let quoted = |text: &str| text.split('"').nth(1).map(str::to_owned);
    let number = |text: &str| -> String { text.chars().take_while(char::is_ascii_digit).collect() };
    let named = table.split("ip_addr: ").skip(1).filter_map(|one| {
        let port = one.split("xfer_port: ").nth(1).map(number)?;
        Some(format!("{}:{port}", quoted(one)?))
    });
    let named: Vec<String> = named.collect();
    match named.is_empty() {
        true => "none that lives has a copy".to_owned(),
        false => format!("none of those with a copy gives it, {}", named.join(", ")),
    }
}

/// The others are the server's stack trace.
pub(super) fn first_line(said: &str) -> String {
    let line = said.lines().next().unwrap_or("nothing").trim();
    line.trim_end_matches('.').chars().take(SAID_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(class: &str, said: &str) -> StorageError {
        let error = HdfsError::RPCError(class.into(), said.into());
        of(&error, "writing", "hdfs://head:8020/x".into(), "alice")
    }

    #[test]
    fn a_file_of_an_encryption_zone_is_named_as_such() {
        let said = "file is in an HDFS encryption zone; reading or writing it requires building hdfs-native";
        let error = HdfsError::UnsupportedFeature(said.into());
        let told = of(&error, "writing", "hdfs://head:8020/enc/x".into(), "alice").to_string();
        assert!(
            told.contains("hdfs://head:8020/enc/x: it lies in an encryption zone"),
            "{told}"
        );
        assert!(!told.contains("hdfs-native"), "{told}");
    }

    /// Classes and words as NameNodes 2.10 and 3.4 send them.
    #[test]
    fn each_refusal_has_its_own_kind() {
        let hadoop = "org.apache.hadoop";
        let told = refusal(
            &format!("{hadoop}.hdfs.server.namenode.SafeModeException"),
            "Cannot create file /x. Name node is in safe mode.\nThe reported blocks 0\n\tat a.b.C",
        );
        assert!(matches!(told, StorageError::SafeMode { .. }), "{told}");
        assert!(!told.to_string().contains("reported blocks"), "{told}");
        let told = refusal(
            &format!("{hadoop}.ipc.RetriableException"),
            "org.apache.hadoop.hdfs.server.namenode.SafeModeException: Name node is in safe mode.",
        );
        assert!(matches!(told, StorageError::SafeMode { .. }), "{told}");
        for said in [
            "File /x could only be replicated to 0 nodes instead of minReplication (=1).",
            "File /x could only be written to 0 of the 1 minReplication nodes.",
        ] {
            let told = refusal("java.io.IOException", said);
            assert!(matches!(told, StorageError::Full { .. }), "{told}");
        }
        for class in ["DSQuotaExceededException", "NSQuotaExceededException"] {
            let told = refusal(&format!("{hadoop}.hdfs.protocol.{class}"), "The quota");
            assert!(matches!(told, StorageError::Quota { .. }), "{told}");
        }
        let unlike = "Source /a/b and destination /a must both be directories";
        let told = refusal("java.io.IOException", unlike);
        assert!(matches!(told, StorageError::Exists { .. }), "{told}");
        let denied = format!("{hadoop}.security.AccessControlException");
        let told = refusal(&denied, "/x (is not a directory)");
        assert!(matches!(told, StorageError::Absent { .. }), "{told}");
        let told = refusal(&denied, "Permission denied: user=alice, access=WRITE");
        assert!(matches!(told, StorageError::Permission { .. }), "{told}");
        let told = refusal(
            &denied,
            "SIMPLE authentication is not enabled.  Available:[TOKEN, KERBEROS]",
        );
        assert!(
            matches!(told, StorageError::Authentication { .. }),
            "{told}"
        );
        assert!(told.to_string().contains("no Kerberos"), "{told}");
        let told = refusal(
            &format!("{hadoop}.ipc.RpcNoSuchProtocolException"),
            "Unknown protocol",
        );
        assert!(matches!(told, StorageError::Down { .. }), "{told}");
    }

    /// As hdfs-native 0.14.8 says it.
    #[test]
    fn who_does_not_give_a_block_is_named() {
        use hdfs_native::HdfsError::DataTransferError;
        let none = replicas("All DataNodes failed: []");
        assert_eq!(none, "none that lives has a copy");
        let id = |host: &str, port| {
            format!(
                "DatanodeInfoProto {{ id: DatanodeIdProto {{ ip_addr: \"{host}\", host_name: \"localhost\", \
                 datanode_uuid: \"81c3\", xfer_port: {port}, info_port: 4, ipc_port: 5 }}, capacity: Some(6) }}"
            )
        };
        let two = format!(
            "All DataNodes failed: [{}, {}]",
            id("10.0.0.7", 9866),
            id("10.0.0.8", 50010)
        );
        assert_eq!(
            replicas(&two),
            "none of those with a copy gives it, 10.0.0.7:9866, 10.0.0.8:50010"
        );
        let other = DataTransferError("Not enough data".to_owned());
        assert_eq!(replicas(&other.to_string()), other.to_string());
    }

    #[test]
    fn of_a_servers_words_the_first_line_is_told() {
        let words = "The DiskSpace quota of /q is exceeded: quota = 1 MB.\n\tat a.b.C";
        let told = refusal(
            "org.apache.hadoop.hdfs.protocol.DSQuotaExceededException",
            words,
        );
        let first =
            "DSQuotaExceededException: The DiskSpace quota of /q is exceeded: quota = 1 MB;";
        assert!(told.to_string().contains(first), "{told}");
        let plain = refusal("java.io.IOException", "no");
        assert_eq!(plain.to_string(), "writing hdfs://head:8020/x: no");
    }
}
