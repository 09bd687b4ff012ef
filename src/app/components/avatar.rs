//! A face for every persona: drawn from its name until it has a picture.

use leptos::prelude::*;

/// What is drawn: two colours and up to two letters, always the same for the same name.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Face {
    hue: u32,
    turn: u32,
    letters: String,
}

impl Face {
    fn of(name: &str) -> Self {
        // FNV-1a: short, and the same everywhere.
        let hash = name
            .trim()
            .bytes()
            .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
        let words: Vec<&str> = name
            .split(|letter: char| !letter.is_alphanumeric())
            .filter(|word| !word.is_empty() && !["the", "a", "of"].contains(word))
            .collect();
        let initial = |word: &&str| word.chars().next().into_iter().flat_map(char::to_uppercase);
        let letters = match words.as_slice() {
            [] => "?".into(),
            [only] => initial(only).collect(),
            [first, .., last] => initial(first).chain(initial(last)).collect(),
        };
        Self { hue: hash % 360, turn: (hash >> 9) % 360, letters }
    }
}

/// The face of a persona.
#[component]
pub fn Avatar(
    /// The persona's name.
    #[prop(into)]
    name: Signal<String>,
    /// The picture that is its face; empty when it has none.
    #[prop(into)]
    face: String,
) -> impl IntoView {
    // The drawn face stands below: it is seen where the picture cannot be loaded.
    let face = (!face.is_empty())
        .then(|| view! { <img src=format!("/api/pictures/{face}/file") alt="" decoding="async"/> });
    view! {
        <span class="face">
        {move || {
            let Face { hue, turn, letters } = Face::of(&name.get());
            let light = format!("hsl({hue} 46% 46%)");
            let dark = format!("hsl({} 52% 34%)", (hue + 40) % 360);
            let lean = format!("rotate({turn} 20 20)");
            view! {
                <svg class="avatar" viewBox="0 0 40 40" aria-hidden="true">
                    <rect width="40" height="40" fill=light/>
                    <path d="M-12 24c14-12 22 8 34-3s18-6 32 2v40h-66z" fill=dark transform=lean/>
                    <text x="20" y="20" dominant-baseline="central" text-anchor="middle" fill="#fff">
                        {letters}
                    </text>
                </svg>
            }
        }}
        {face}
        </span>
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_face_has_the_initials_of_the_first_and_last_name() {
        assert_eq!(Face::of("Marta the Innkeeper").letters, "MI");
        assert_eq!(Face::of("optimist").letters, "O");
        assert_eq!(Face::of("  ").letters, "?");
        assert_eq!(Face::of("Ann").hue, Face::of(" Ann ").hue);
    }
}
