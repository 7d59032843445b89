//! The words that client, ApplicationMaster and launcher share.
