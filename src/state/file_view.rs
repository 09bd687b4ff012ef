//! How a file of a session is looked at before anybody edits it.

use crate::{
    app::server_fns::playground::FileView,
    domain::{
        field::unix_lines,
        virtual_file::{PictureKind, VirtualFile},
        visible::visible,
    },
    markdown,
};

/// The most rows and columns that are drawn as a table; larger ones are shown as they are written.
const MAX_ROWS: usize = 500;
const MAX_COLUMNS: usize = 40;

/// What of a file is shown. A Markdown file or a table is shown as it is written when that is asked for.
pub fn file_view(file: &VirtualFile, as_written: bool) -> FileView {
    let Some(text) = file.text() else {
        return match PictureKind::of(&file.content) {
            Some(_) => FileView::Picture,
            None => FileView::Bytes,
        };
    };
    // How lines end is no part of what they say.
    let text = &unix_lines(text);
    let ending = file.info.path.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    let drawn = match ending.as_str() {
        "md" | "markdown" => Some(FileView::Prose(markdown::to_html(text))),
        "csv" => table(text, ',').map(FileView::Table),
        "tsv" => table(text, '\t').map(FileView::Table),
        _ => None,
    };
    let text = || visible(text.clone());
    match drawn {
        Some(_) if as_written => FileView::Lines { text: text(), drawn: true },
        Some(drawn) => drawn,
        None => FileView::Lines { text: text(), drawn: false },
    }
}

/// The rows of a table; nothing when it is none, or too large to be drawn.
fn table(text: &str, between: char) -> Option<Vec<Vec<String>>> {
    let (mut rows, mut row, mut cell) = (Vec::new(), Vec::new(), String::new());
    let mut quoted = false;
    let mut letters = text.strip_prefix('\u{feff}').unwrap_or(text).chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if quoted && letters.next_if_eq(&'"').is_some() => cell.push('"'),
            '"' if quoted => quoted = false,
            _ if quoted => cell.push(letter),
            '"' if cell.is_empty() => quoted = true,
            '\n' => {
                row.push(visible(std::mem::take(&mut cell)));
                rows.push(std::mem::take(&mut row));
            }
            letter if letter == between => row.push(visible(std::mem::take(&mut cell))),
            letter => cell.push(letter),
        }
        if rows.len() > MAX_ROWS || row.len() > MAX_COLUMNS {
            return None;
        }
    }
    if !cell.is_empty() || !row.is_empty() {
        row.push(visible(cell));
        rows.push(row);
    }
    let is_table = !quoted && rows.iter().any(|row| row.len() > 1);
    is_table.then_some(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{timestamp::Timestamp, virtual_file::FileInfo};

    fn view(path: &str, content: &[u8], as_written: bool) -> FileView {
        let info = FileInfo {
            path: path.into(),
            size: content.len() as u64,
            revision: 1,
            message_id: None,
            call_id: None,
            updated_at: Timestamp(0),
        };
        file_view(&VirtualFile { info, content: content.into() }, as_written)
    }

    #[test]
    fn markdown_is_drawn_and_nothing_in_it_comes_to_life() {
        let text = b"# Plan\n\n<script>alert(1)</script>";

        let FileView::Prose(html) = view("notes/Plan.MD", text, false) else { panic!() };
        assert!(html.contains("<h1>Plan</h1>") && !html.contains("<script"), "{html}");
        let written = String::from_utf8(text.to_vec()).unwrap();
        assert_eq!(view("a.md", text, true), FileView::Lines { text: written, drawn: true });
        let lines = view("a.csv", b"a,1\r\nb\x1b,2\r\n", true);
        let text = "a,1\nb⟦U+001B⟧,2\n".into();
        assert_eq!(lines, FileView::Lines { text, drawn: true });
        let page = view("page.html", b"<h1>Hi</h1>", false);
        assert_eq!(page, FileView::Lines { text: "<h1>Hi</h1>".into(), drawn: false });
    }

    #[test]
    fn a_table_is_drawn_unless_it_is_none_or_too_large() {
        let rows = |text: &str| match view("a.csv", text.as_bytes(), false) {
            FileView::Table(rows) => Some(rows),
            _ => None,
        };
        let cells = |row: &[&str]| row.iter().map(|cell| (*cell).to_owned()).collect::<Vec<_>>();

        assert_eq!(
            rows("name,says\r\nAnn,\"one, \"\"two\"\"\nthree\"\n,\n"),
            Some(vec![
                cells(&["name", "says"]),
                cells(&["Ann", "one, \"two\"\nthree"]),
                cells(&["", ""])
            ])
        );
        assert_eq!(rows("only words\nand more"), None);
        assert_eq!(rows("a,\"never closed"), None);
        assert_eq!(rows(&"a,b\n".repeat(501)), None);
        assert_eq!(rows(&",".repeat(41)), None);
    }

    #[test]
    fn a_picture_is_known_by_its_first_bytes_and_not_by_its_name() {
        assert_eq!(view("a.txt", b"\x89PNG\r\n\x1a\n\0\0", false), FileView::Picture);
        assert_eq!(view("a.png", b"\0\x01\x02", false), FileView::Bytes);
        let drawing = view("a.svg", b"<svg onload=\"alert(1)\"/>", false);
        assert!(matches!(drawing, FileView::Lines { .. }));
    }
}
