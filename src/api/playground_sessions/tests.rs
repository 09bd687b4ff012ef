//! How files of a session are packed.

use std::io::{Cursor, Read};

use super::*;
use crate::domain::timestamp::Timestamp;

#[test]
fn an_archive_holds_every_file() {
    let files = [("a.txt", b"one".to_vec()), ("b/é.bin", vec![0, 255])].map(|(path, content)| {
        let info = FileInfo {
            path: path.into(),
            size: content.len() as u64,
            revision: 1,
            message_id: None,
            call_id: None,
            updated_at: Timestamp(0),
        };
        VirtualFile { info, content }
    });

    let bytes = zipped(&files).unwrap();

    let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).unwrap();
    for file in &files {
        let mut content = Vec::new();
        archive.by_name(&file.info.path).unwrap().read_to_end(&mut content).unwrap();
        assert_eq!(content, file.content);
    }
    assert_eq!(archive.len(), 2);
}
