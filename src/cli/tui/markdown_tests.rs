//! How answers look in a terminal.

use super::*;

fn told(text: &str, columns: usize) -> String {
    let lines = lines(text, columns, Theme::Plain);
    lines.iter().map(|line| line.to_string().trim_end().to_owned() + "\n").collect()
}

#[test]
fn an_answer_reads_like_a_page() {
    let text = "# Plan\n\nFirst *this*, then **that**:\n\n1. Save\n2. Wait a very long time\n   - or not\n\n\
                > Quoted words\n> go on\n\n```rust\nfn main() {}\n```\n\nEnd with `code`.";

    assert_eq!(
        told(text, 20),
        "\
Plan

First this, then
that:

1. Save
2. Wait a very long
   time
   • or not

│ Quoted words go on

rust
▏ fn main() {}

End with code.
"
    );
}

#[test]
fn styles_follow_the_words() {
    let lines = lines("a **b** `c` [d](https://e.example)", 60, Theme::Coloured);

    let spans: Vec<(String, Style)> =
        lines[0].spans.iter().map(|span| (span.content.to_string(), span.style)).collect();
    let (plain, theme) = (Style::new(), Theme::Coloured);
    assert_eq!(
        spans,
        [
            ("a ".to_owned(), plain),
            ("b".to_owned(), plain.add_modifier(Modifier::BOLD)),
            (" ".to_owned(), plain),
            ("c".to_owned(), theme.code()),
            (" ".to_owned(), plain),
            ("d".to_owned(), theme.link()),
            (" (https://e.example)".to_owned(), theme.quiet()),
        ]
    );
}

#[test]
fn a_table_stands_in_columns_or_row_by_row() {
    let text = "| Year | Sum |\n|---|--:|\n| 2030 | 1 |\n| 2040 | 200 |";

    assert_eq!(told(text, 40), "Year  Sum\n────  ───\n2030    1\n2040  200\n");
    assert_eq!(told(text, 8), "Year:\n2030\nSum: 1\n──\nYear:\n2040\nSum: 200\n");
}

#[test]
fn pictures_and_html_are_words() {
    assert_eq!(
        told("![A lamp](https://x.example/a.png) <b>bold</b>", 80),
        "[picture: A lamp] (https://x.example/a.png) <b>bold</b>\n"
    );
}

#[test]
fn references_do_not_bring_commands_back() {
    let text = "&#27;[31mred&#x9b;2J and [a](https://b.example/&#27;]0;c&#7;) \u{1b}[2J";
    for line in lines(text, 80, Theme::Coloured) {
        assert!(!line.to_string().chars().any(char::is_control), "{line:?}");
    }
}

#[test]
fn nothing_is_nested_so_deep_that_no_words_fit() {
    let deep = format!("{} word", "> - ".repeat(200));
    for columns in [1, 2, 10, 40] {
        for line in lines(&deep, columns, Theme::Plain) {
            assert!(super::super::clean::width(&line.to_string()) <= columns.max(2), "{line:?}");
        }
    }
}

#[test]
fn points_that_stand_apart_are_read_apart() {
    assert_eq!(told("- a\n\n  b\n- c\n\nd", 20), "• a\n\n  b\n• c\n\nd\n");
    assert_eq!(told("- [x] done\n- [ ] open", 20), "• [x] done\n• [ ] open\n");
}
