//! What is tried with whatever bytes: it must not panic, and what it promises must hold.

use std::convert::Infallible;

use bytes::Bytes;
use futures_util::{FutureExt, StreamExt, stream};
use greenroom::{
    cards,
    domain::{
        patch::{Edit, MAX_EDITS, patched},
        test_input::TestInputFields,
        virtual_file::{FilePath, MAX_PATH_BYTES, MAX_PATH_DEPTH},
    },
    markdown::{to_html, to_html_linked},
    providers::{Ask, Dialect, ModelEvent, ProviderError, Quirks, Thoughts},
};
use serde::Deserialize;
use serde_json::Value;
use sse_stream::SseByteStream;

/// What came of a stream.
#[derive(Debug, PartialEq)]
struct Answer {
    events: Vec<ModelEvent>,
    error: Option<ProviderError>,
}

impl Answer {
    /// The calls that would be made.
    fn calls(&self) -> Vec<(&str, &Value)> {
        let calls = self.events.iter().filter_map(|event| match event {
            ModelEvent::ToolCall { name, input: Ok(input), .. } => Some((name.as_str(), input)),
            _ => None,
        });
        calls.collect()
    }
}

fn ask() -> Ask<'static> {
    Ask {
        service: "fuzz",
        model: "fuzz",
        system: "",
        turns: &[],
        tools: &[],
        max_tokens: 0,
        thoughts: Thoughts::AsIs,
        quirks: Quirks::default(),
    }
}

/// Reads a stream that comes in these pieces, as the connection does.
fn answer(dialect: Dialect, pieces: Vec<Bytes>) -> Answer {
    let bytes = stream::iter(pieces.into_iter().map(Ok::<_, Infallible>));
    let frames = SseByteStream::new(bytes).collect::<Vec<_>>().now_or_never().unwrap_or_default();
    let mut decoder = dialect.decoder(&ask());
    let mut events = Vec::new();
    for data in frames.into_iter().map_while(Result::ok).filter_map(|frame| frame.data) {
        match decoder.feed(&data) {
            Ok(more) => events.extend(more),
            Err(error) => return Answer { events, error: Some(error) },
        }
    }
    match decoder.finish() {
        Ok(more) => {
            events.extend(more);
            Answer { events, error: None }
        }
        Err(error) => Answer { events, error: Some(error) },
    }
}

/// Every decoder reads the lines as the data of events, as a service could send them. However the stream is cut
/// into pieces, the same comes of it; and where it breaks off, no tool is called that the whole would not call.
pub fn decoders(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let body: String = text.lines().map(|line| format!("data: {line}\n\n")).collect();
    let body = Bytes::from(body);
    for dialect in Dialect::ALL {
        let whole = answer(dialect, vec![body.clone()]);
        let stops = whole.events.iter().filter(|event| matches!(event, ModelEvent::Stop(_)));
        assert_eq!(stops.count(), usize::from(whole.error.is_none()), "{whole:?}");
        if whole.error.is_none() {
            assert!(matches!(whole.events.last(), Some(ModelEvent::Stop(_))), "{whole:?}");
        }
        assert!(whole.calls().iter().all(|(_, input)| input.is_object()), "{whole:?}");
        for size in [1, 7, 61] {
            let starts = (0..body.len()).step_by(size);
            let pieces = starts.map(|at| body.slice(at..body.len().min(at + size))).collect();
            assert_eq!(answer(dialect, pieces), whole, "{size} bytes at a time");
        }
        for part in 1..8 {
            let broken = answer(dialect, vec![body.slice(..body.len() * part / 8)]);
            // What has its end before the cut is whole by itself.
            let (calls, all) = (broken.calls(), whole.calls());
            assert!(broken.error.is_none() || all.starts_with(&calls), "{calls:?} of {all:?}");
        }
    }
}

/// How many tags are open at once, at the most.
fn depth(html: &str) -> usize {
    let (mut open, mut deepest) = (0_usize, 0);
    for tag in html.split('<').skip(1) {
        match tag.strip_prefix('/') {
            Some(_) => open = open.checked_sub(1).expect("what is closed was opened"),
            None if ["br", "hr", "input"].iter().any(|void| tag.starts_with(void)) => {}
            None => open += 1,
        }
        deepest = deepest.max(open);
    }
    assert_eq!(open, 0, "what is opened is closed");
    deepest
}

/// Whatever is rendered is harmless, not deep, and not much longer than it was.
pub fn markdown(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for html in [to_html(&text), to_html_linked(&text, &Default::default())] {
        let low = html.to_lowercase();
        for (at, _) in low.match_indices('<') {
            let name = low[at + 1..].trim_start_matches('/');
            let name = name.split(|letter: char| !letter.is_ascii_alphanumeric()).next();
            let name = name.unwrap_or_default();
            assert!(TAGS.contains(&name), "<{name} in {html}");
        }
        // A lone `<` stands in a tag only: in text it is written out.
        for (at, tag) in low.match_indices("<a href=\"") {
            let address = &low[at + tag.len()..];
            let known = ["http://", "https://", "mailto:"];
            let leads = known.iter().any(|scheme| address.starts_with(scheme));
            assert!(
                leads || address.starts_with('"'),
                "{}",
                address.chars().take(60).collect::<String>()
            );
        }
        assert!(depth(&html) <= 64, "{html}");
        assert!(html.len() <= 4096 + 20 * text.len(), "{} of {}", html.len(), text.len());
    }
}

/// All that a text can become.
const TAGS: [&str; 27] = [
    "a",
    "blockquote",
    "br",
    "code",
    "del",
    "em",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "input",
    "li",
    "ol",
    "p",
    "pre",
    "span",
    "strong",
    "table",
    "tbody",
    "td",
    "th",
    "thead",
    "tr",
    "ul",
];

#[derive(Deserialize)]
struct Patch {
    edits: Vec<Edit>,
}

/// A patch replaces what it says and leaves the rest, or nothing at all. The prompt and the patch are parted
/// by a line of three dashes.
pub fn patch(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let Some((prompt, input)) = text.split_once("\n---\n") else { return };
    let Ok(Patch { edits }) = serde_json::from_str(input) else { return };
    let mut expected = (1..=MAX_EDITS).contains(&edits.len()).then(|| prompt.to_owned());
    for Edit { find, replace } in &edits {
        // Every place is tried by itself: the slow way, which cannot be wrong.
        expected = expected.and_then(|text| {
            let places: Vec<usize> = text
                .char_indices()
                .map(|(at, _)| at)
                .filter(|at| text[*at..].starts_with(find.as_str()))
                .collect();
            let [at] = places[..] else { return None };
            let (before, after) = (&text[..at], &text[at + find.len()..]);
            (!find.is_empty()).then(|| format!("{before}{replace}{after}"))
        });
    }
    assert_eq!(patched(prompt, &edits).ok(), expected);
}

/// A path is refused or stays within its folder, and is read as what it was written as.
pub fn paths(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let check = |kept: &str| {
        assert!(kept.len() <= MAX_PATH_BYTES && !kept.starts_with('/'), "{kept:?}");
        let bad = |letter: char| letter.is_control() || letter == '\\';
        assert!(!kept.contains(bad), "{kept:?}");
        let steps: Vec<&str> = kept.split('/').collect();
        assert!(steps.len() <= MAX_PATH_DEPTH, "{kept:?}");
        assert!(steps.iter().all(|step| !matches!(step.trim(), "" | "." | "..")), "{kept:?}");
    };
    for line in text.split('\n') {
        if let Ok(path) = FilePath::parse(line) {
            let kept = path.as_str();
            check(kept);
            let again = FilePath::parse(kept).map(|again| again.as_str().to_owned());
            assert_eq!(again.as_deref().ok(), Some(kept));
        }
        if let Ok(folder) = FilePath::parse_folder(line) {
            assert_eq!(FilePath::parse_folder(&folder).as_deref().ok(), Some(folder.as_str()));
            if let Some(kept) = folder.strip_suffix('/') {
                check(kept);
            } else {
                assert_eq!(folder, "");
            }
        }
    }
}

/// A card is refused with a sentence, or is a persona that the gate takes, whatever the file is.
pub fn cards(bytes: &[u8]) {
    match cards::read(bytes) {
        Ok(card) => {
            assert_eq!(card.persona.check(), Ok(()));
            assert!(card.persona.tools.is_empty() && card.persona.model.is_empty());
            for greeting in card.greetings {
                let before = serde_json::json!([{"role": "assistant", "content": greeting}]);
                let input = serde_json::json!({"content": "Hello.", "history": before});
                let input: TestInputFields = serde_json::from_value(input).expect("a test input");
                assert_eq!(input.check(), Ok(()));
            }
        }
        Err(error) => assert!(error.to_string().ends_with('.')),
    }
}
