//! A small picture drawn here, because no image service is set: a sky, a light and hills, always the same
//! for the same words and seed, with the word DEMO in its corner.

use png::{BitDepth, ColorType, Encoder};

use crate::{
    domain::picture::{PictureFacts, Shape, Wish},
    providers::{Fault, ProviderError, images::Drawn},
};

/// What the model is called that draws it.
pub const SKETCH_MODEL: &str = "demo-sketch";
/// How many rows of hills there are.
const HILLS: u32 = 4;
/// The letters of the stamp, five bits a row, seven rows each.
const STAMP: [[u8; 7]; 4] = [
    [0b11110, 0b10001, 0b10001, 0b10001, 0b10001, 0b10001, 0b11110],
    [0b11111, 0b10000, 0b10000, 0b11110, 0b10000, 0b10000, 0b11111],
    [0b10001, 0b11011, 0b10101, 0b10101, 0b10001, 0b10001, 0b10001],
    [0b01110, 0b10001, 0b10001, 0b10001, 0b10001, 0b10001, 0b01110],
];
/// How many pixels wide and high a dot of a letter is.
const DOT: u32 = 2;

type Colour = [f32; 3];

/// Chance that is the same everywhere: xorshift over a hash of the words.
struct Chance(u32);

impl Chance {
    fn of(prompt: &str, seed: u32) -> Self {
        let words = prompt.bytes().chain(seed.to_le_bytes());
        // FNV-1a: short, and the same everywhere.
        let hash = words
            .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
        Self(hash | 1)
    }

    /// A number from 0 to 1.
    fn next(&mut self) -> f32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        f32::from(u16::try_from(self.0 >> 16).unwrap_or(0)) / 65_535.0
    }
}

/// Draws what was wished for, as well as can be.
pub fn sketch(wish: &Wish) -> Result<Drawn, ProviderError> {
    let (width, height) = match wish.size {
        Shape::Square => (384, 384),
        Shape::Portrait => (288, 384),
        Shape::Landscape => (384, 288),
    };
    let seed = wish.seed.unwrap_or(0);
    let pixels = paint(&mut Chance::of(&wish.prompt, seed), width, height);
    let file = encode(&pixels, width, height)
        .map_err(|error| ProviderError::new(Fault::Garbled, error.to_string()))?;
    let facts = PictureFacts {
        service: "Demo".into(),
        model: SKETCH_MODEL.into(),
        demo: true,
        content_type: "image/png".into(),
        bytes: file.len() as u64,
        width,
        height,
        seed: Some(u64::from(seed)),
    };
    Ok(Drawn { file, facts })
}

fn encode(pixels: &[u8], width: u32, height: u32) -> Result<Vec<u8>, png::EncodingError> {
    let mut file = Vec::new();
    let mut encoder = Encoder::new(&mut file, width, height);
    encoder.set_color(ColorType::Rgb);
    encoder.set_depth(BitDepth::Eight);
    let text = "Drawn by the demo of Greenroom: no image service is set.";
    encoder.add_text_chunk("Comment".into(), text.into())?;
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels)?;
    writer.finish()?;
    Ok(file)
}

#[expect(clippy::cast_precision_loss, reason = "a picture has few pixels")]
fn paint(chance: &mut Chance, width: u32, height: u32) -> Vec<u8> {
    let hue = chance.next();
    let (above, below) = (colour(hue, 0.45, 0.30), colour(hue + 0.12, 0.55, 0.78));
    let glow = colour(hue + 0.16, 0.75, 0.90);
    let sun = (0.2 + 0.6 * chance.next(), 0.16 + 0.2 * chance.next(), 0.07 + 0.06 * chance.next());
    let hills: Vec<[f32; 5]> = (0..HILLS).map(|_| [(); 5].map(|()| chance.next())).collect();
    let mut pixels = Vec::with_capacity((width * height * 3) as usize);
    for row in 0..height {
        for column in 0..width {
            let (x, y) = (column as f32 / width as f32, row as f32 / height as f32);
            let mut shade = mix(above, below, (y * 1.3).min(1.0));
            let across = (x - sun.0) * width as f32 / height as f32;
            let far = across.hypot(y - sun.1);
            shade = mix(glow, shade, ((far - sun.2) / 0.012).clamp(0.0, 1.0).max(halo(far, sun.2)));
            for (at, hill) in hills.iter().enumerate() {
                let depth = (at as f32 + 1.0) / HILLS as f32;
                if y > ridge(hill, depth, x) {
                    shade = mix(below, colour(hue + 0.05 * depth, 0.40, 0.12), depth.powf(0.7));
                }
            }
            if stamped(column, row, width, height) {
                shade = [1.0; 3];
            }
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a shade is 0 to 1"
            )]
            pixels.extend(shade.map(|part| (part.clamp(0.0, 1.0) * 255.0).round() as u8));
        }
    }
    pixels
}

/// How much of the sky is left around the light.
fn halo(far: f32, radius: f32) -> f32 {
    (0.55 + (far - radius) * 1.8).clamp(0.0, 1.0)
}

/// Where a row of hills ends against the sky.
fn ridge(hill: &[f32; 5], depth: f32, x: f32) -> f32 {
    let [height, first, second, wide, narrow] = *hill;
    let slow = ((x * (1.5 + 2.0 * wide) + first) * std::f32::consts::TAU).sin();
    let fast = ((x * (4.0 + 3.0 * narrow) + second) * std::f32::consts::TAU).sin();
    0.42 + 0.42 * depth + 0.06 * (height - 0.5) + 0.05 * slow + 0.018 * fast
}

/// Whether a letter of the stamp is here.
fn stamped(column: u32, row: u32, width: u32, height: u32) -> bool {
    let letters = u32::try_from(STAMP.len()).unwrap_or(0);
    let (left, top) = (width - 10 - letters * 6 * DOT, height - 10 - 7 * DOT);
    let (Some(x), Some(y)) = (column.checked_sub(left), row.checked_sub(top)) else {
        return false;
    };
    let (letter, bit, line) = (x / (6 * DOT), x / DOT % 6, y / DOT);
    let rows = STAMP.get(letter as usize);
    bit < 5
        && rows
            .and_then(|rows| rows.get(line as usize))
            .is_some_and(|bits| bits >> (4 - bit) & 1 == 1)
}

/// A colour by hue, saturation and lightness, each from 0 to 1.
fn colour(hue: f32, saturation: f32, lightness: f32) -> Colour {
    let chroma = (1.0 - (2.0 * lightness - 1.0).abs()) * saturation;
    let part = |shift: f32| {
        let at = ((hue + shift).rem_euclid(1.0)) * 6.0;
        let ramp = (2.0 - (at - 3.0).abs()).clamp(0.0, 1.0);
        lightness + chroma * (ramp - 0.5)
    };
    [part(0.5), part(1.0 / 6.0), part(5.0 / 6.0)]
}

fn mix(from: Colour, to: Colour, share: f32) -> Colour {
    [0, 1, 2].map(|part: usize| from[part] + (to[part] - from[part]) * share)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(prompt: &str, seed: u32, size: Shape) -> Drawn {
        sketch(&Wish { prompt: prompt.into(), seed: Some(seed), size, ..Wish::default() }).unwrap()
    }

    #[test]
    fn a_sketch_is_a_real_picture_that_says_it_is_a_demo() {
        let Drawn { file, facts } = drawn("A lamp", 1, Shape::Portrait);

        let mut reader = png::Decoder::new(std::io::Cursor::new(&file)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut pixels).unwrap();
        assert_eq!((reader.info().width, reader.info().height), (288, 384));
        assert_eq!((facts.demo, facts.width, facts.bytes), (true, 288, file.len() as u64));
        assert!(file.len() < 200_000, "{} bytes", file.len());
    }

    #[test]
    fn the_same_words_and_seed_give_the_same_picture_and_others_another() {
        let first = drawn("A lamp", 1, Shape::Square).file;

        assert!(first == drawn("A lamp", 1, Shape::Square).file);
        assert!(first != drawn("A lamp", 2, Shape::Square).file);
        assert!(first != drawn("A lake", 1, Shape::Square).file);
    }
}
